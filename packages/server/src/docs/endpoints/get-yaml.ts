/** `GET /docs/yaml`: the OpenAPI document as YAML. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply } from "../page-reply.ts";
import type { DocsPages } from "../pages.ts";

export function getYaml(pages: () => DocsPages): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.yaml",
      path: "/docs/yaml",
      summary: "OpenAPI document as YAML",
      description: "The same object as `/docs/json`.",
      crossOrigin: true,
      replies: { 200: { description: "The document.", content: ["application/yaml"] } },
    },
    async () => docsReply(pages().yaml),
  );
}
