/** `GET /docs/assets/{name}`: scripts, styles and icons of the pages. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { docsOperation, docsReply } from "../page-reply.ts";
import type { DocsPages } from "../pages.ts";

export function getAsset(pages: () => DocsPages): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.asset",
      path: "/docs/assets/{name}",
      summary: "A file of the documentation pages",
      description: "Scripts, styles and icons; their names change with their content.",
      params: closed({
        name: Type.String({ minLength: 1, maxLength: 100, pattern: "^[a-zA-Z0-9.-]+$", description: "The file." }),
      }),
      replies: { 200: { description: "The file.", content: ["text/javascript", "text/css", "image/x-icon"] } },
    },
    async (_ctx, { params }) => docsReply(pages().assets.get(params.name)),
  );
}
