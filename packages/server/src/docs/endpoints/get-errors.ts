/** `GET /docs/errors`: all error codes. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply, type PagesOf } from "../page-reply.ts";

export function getErrors(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.errors",
      path: "/docs/errors",
      summary: "All error codes",
      description: "A page with every code that a problem can have.",
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async ({ publicUrl }) => docsReply(pages(publicUrl).errorList),
  );
}
