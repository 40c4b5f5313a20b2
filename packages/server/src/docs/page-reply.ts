/** What the operations of the documentation share: their place in the API document, and how a page is answered. */

import { closed, oneOf, Type } from "../kernel/http/schema.ts";
import { Problem } from "../kernel/problems.ts";
import type { DocsPage, DocsPages } from "./pages.ts";

/** The pages of a service, by its origin. */
export type PagesOf = (origin: string) => DocsPages;

/** Far from all of the document, which would contain itself. */
export const documentExample = { openapi: "3.1.1", info: { title: "Emanet API", version: "0.1.0" }, paths: {} };

export const docsOperation = { method: "GET", tag: "docs", access: { kind: "public" } } as const;

/** The language of a page is that of `Accept-Language`, unless its address names one. */
export const pageQuery = closed({ lang: Type.Optional(oneOf(["tr", "en"], "The language of the page.")) });

export function docsReply(page: DocsPage | undefined) {
  if (page === undefined) throw new Problem("not_found");
  const headers = { ...page.headers, "content-type": page.contentType, etag: page.etag };
  return { status: 200, headers, body: page.body } as const;
}
