/** `GET /docs/guides/{name}`: one guide. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import type { GuideName } from "../guides.ts";
import { docsOperation, docsReply, type PagesOf, pageQuery } from "../page-reply.ts";

export function getGuide(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.guide",
      path: "/docs/guides/{name}",
      summary: "A guide",
      description: "How to sign in, what errors and limits look like, how to repeat a request.",
      params: closed({
        name: Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-z-]+$", description: "The guide." }),
      }),
      query: pageQuery,
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async ({ publicUrl }, { params, query, language }) =>
      docsReply(pages(publicUrl).guides.get(params.name as GuideName)?.[query.lang ?? language]),
  );
}
