/** `GET` of the style sheet, the only file that the pages load. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { stylePath, styleSheet } from "../../pages/index.ts";

const common = { method: "GET", tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;

export const getStyle: Endpoint = {
  spec: {
    ...common,
    id: "oauth.style",
    path: stylePath,
    summary: "Style sheet of the pages",
    description: "The only file that the pages load.",
    replies: { 200: { description: "The style sheet.", content: ["text/css"] } },
  },
  handle: async () => ({
    status: 200,
    headers: { "content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600" },
    body: styleSheet,
  }),
};
