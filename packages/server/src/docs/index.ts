/**
 * The documentation that the service serves about itself: the interactive page `/docs`, the OpenAPI document as JSON
 * and YAML, and a page for every error code, which a problem's `type` points to.
 *
 * All pages are made once, at the start, from the document and the error catalogue, and are the same for everybody. No page
 * loads a script from another origin or sends anything to it. The Content-Security-Policy has no `unsafe-inline`.
 */

export { type DocsPage, type DocsPages, docsPages } from "./pages.ts";
