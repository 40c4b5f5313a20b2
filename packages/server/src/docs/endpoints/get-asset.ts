/** `GET /docs/assets/{name}`: scripts, styles and icons of the pages. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { docsOperation, docsReply, type PagesOf } from "../page-reply.ts";

export function getAsset(pages: PagesOf): Endpoint {
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
      replies: {
        200: { description: "The file.", content: ["text/javascript", "text/css", "image/svg+xml", "image/x-icon"] },
      },
    },
    async ({ publicUrl }, { params }) => docsReply(pages(publicUrl).assets.get(params.name)),
  );
}
