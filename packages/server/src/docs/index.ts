/**
 * The documentation that the service serves about itself: the reference `/docs`, guides beside it, the OpenAPI document as
 * JSON and YAML, and a page for every error code, which a problem's `type` points to.
 *
 * All pages exist in Turkish and English. They are made once, from the document, the guides and the error catalogue, and are
 * the same for everybody; only the reference gets a nonce for each request. No page loads anything from another origin or
 * sends anything to it. The Content-Security-Policy has no `unsafe-inline`.
 */

export { type ByLanguage, type DocsPage, type DocsPages, docsPages } from "./pages.ts";
