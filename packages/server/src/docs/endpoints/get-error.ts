/** `GET /docs/errors/{code}`: one error code. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import type { ProblemCode } from "../../kernel/problems.ts";
import { docsOperation, docsReply, type PagesOf, pageQuery } from "../page-reply.ts";

export function getError(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.error",
      path: "/docs/errors/{code}",
      summary: "One error code",
      description: "The meaning of a code and what to do about it. The `type` of a problem is this URL.",
      params: closed({
        code: Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-z_]+$", description: "The code." }),
      }),
      query: pageQuery,
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async ({ publicUrl }, { params, query, language }) =>
      docsReply(pages(publicUrl).errors.get(params.code as ProblemCode)?.[query.lang ?? language]),
  );
}
