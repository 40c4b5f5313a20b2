/**
 * The documentation that the service serves about itself: the interactive page `/docs`, the OpenAPI document as JSON
 * and YAML, and a page for every error code, which a problem's `type` points to.
 *
 * Everything is made once, at the start, from the document and the error catalogue, and is the same for everyone. No
 * page loads, links a script from or sends anything to another origin; what the browser may do is said in a
 * Content-Security-Policy without `unsafe-inline`.
 */

export { type DocsPage, type DocsPages, docsPages } from "./pages.ts";
