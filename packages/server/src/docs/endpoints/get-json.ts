/** `GET /docs/json`: the OpenAPI document as JSON. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply } from "../page-reply.ts";
import type { DocsPages } from "../pages.ts";

export function getJson(pages: () => DocsPages): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.json",
      path: "/docs/json",
      summary: "OpenAPI document as JSON",
      description: "The machine-readable description of this API, OpenAPI 3.1.",
      crossOrigin: true,
      replies: { 200: { description: "The document.", content: ["application/json"] } },
    },
    async () => docsReply(pages().json),
  );
}
