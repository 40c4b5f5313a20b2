/** `GET /docs`: the interactive documentation. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply, type PagesOf, pageQuery } from "../page-reply.ts";

export function getPage(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.page",
      path: "/docs",
      summary: "Interactive documentation",
      description: "This document as a page, with a form to try every operation.",
      query: pageQuery,
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async ({ publicUrl }, { query, language }) => docsReply(pages(publicUrl).reference[query.lang ?? language]),
  );
}
