/** `GET /docs/yaml`: the OpenAPI document as YAML. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply, documentExample, type PagesOf } from "../page-reply.ts";

export function getYaml(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.yaml",
      path: "/docs/yaml",
      summary: "OpenAPI document as YAML",
      description: "The same object as `/docs/json`.",
      crossOrigin: true,
      replies: { 200: { description: "The document.", content: ["application/yaml"], example: documentExample } },
    },
    async ({ publicUrl }) => docsReply(pages(publicUrl).yaml),
  );
}
