/** What the operations of the documentation share: their place in the API document, and how a page is answered. */

import { Problem } from "../kernel/problems.ts";
import type { DocsPage } from "./pages.ts";

export const docsOperation = { method: "GET", tag: "docs", access: { kind: "public" } } as const;

export function docsReply(page: DocsPage | undefined) {
  if (page === undefined) throw new Problem("not_found");
  const headers = { ...page.headers, "content-type": page.contentType, etag: page.etag };
  return { status: 200, headers, body: page.body } as const;
}
