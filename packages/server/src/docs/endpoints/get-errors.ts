/** `GET /docs/errors`: all error codes. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply, type PagesOf, pageQuery } from "../page-reply.ts";

export function getErrors(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.errors",
      path: "/docs/errors",
      summary: "All error codes",
      description: "A page with every code that a problem can have.",
      query: pageQuery,
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async ({ publicUrl }, { query, language }) => docsReply(pages(publicUrl).errorList[query.lang ?? language]),
  );
}
