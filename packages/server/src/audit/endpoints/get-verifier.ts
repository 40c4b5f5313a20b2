/** `GET /docs/verify-audit.mjs`: the program that checks exports without the service. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { endpoint } from "../../kernel/http/endpoint.ts";

const file = path.resolve(import.meta.dirname, "../../../../../docs/audit/verify-audit.mjs");

/** The same for everybody. A new release may bring a new one. */
const caching = "public, max-age=300";

let text: Promise<Buffer> | null = null;

export const getVerifier = endpoint(
  {
    id: "audit.get_verifier",
    method: "GET",
    path: "/docs/verify-audit.mjs",
    tag: "audit",
    summary: "The verifier of exports",
    description:
      "A program for Node 20 or newer, one file without dependencies: `node verify-audit.mjs FILE --keys KEYS.json`.",
    access: { kind: "public" },
    crossOrigin: true,
    replies: { 200: { description: "The program.", content: ["text/javascript"] } },
  },
  async () => {
    text ??= readFile(file);
    return { status: 200, headers: { "cache-control": caching }, body: await text };
  },
);
