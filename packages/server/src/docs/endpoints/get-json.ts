/** `GET /docs/json`: the OpenAPI document as JSON. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply, documentExample, type PagesOf } from "../page-reply.ts";

export function getJson(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.json",
      path: "/docs/json",
      summary: "OpenAPI document as JSON",
      description: "The machine-readable description of this API, OpenAPI 3.1.",
      crossOrigin: true,
      replies: { 200: { description: "The document.", content: ["application/json"], example: documentExample } },
    },
    async ({ publicUrl }) => docsReply(pages(publicUrl).json),
  );
}
