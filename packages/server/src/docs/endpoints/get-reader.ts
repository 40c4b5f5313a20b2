/** `GET /docs/reader`: the frame of the interactive documentation. It has an origin of its own. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { docsOperation, docsReply, type PagesOf, pageQuery } from "../page-reply.ts";

/** 128 bits, as the specification of the policy asks for. */
const nonceBytes = 16;

export function getReader(pages: PagesOf): Endpoint {
  return endpoint(
    {
      ...docsOperation,
      id: "docs.reader",
      path: "/docs/reader",
      summary: "The frame of the interactive documentation",
      description:
        "What `/docs` shows, in a document without access to cookies and storage. `/docs` sends its requests.",
      query: pageQuery,
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async ({ publicUrl, random }, { query, language }) =>
      docsReply(pages(publicUrl).reader[query.lang ?? language](random.bytes(nonceBytes).toString("base64"))),
  );
}
