/**
 * The parts that the HTML pages of all domains share. Owns no table.
 *
 * Nouns: a *page* is HTML that the server wrote, with plain forms; a *page text* is a text of a page in both languages, found
 * by its key; a *form error* is an error that the person can correct; a *link landing page* is the page that a link in a
 * mail opens. It moves the link's secret from the address to a cookie.
 *
 * Invariants
 * - Pages run no script and load nothing but the style sheet. Only the link landing page runs one, pinned by its hash.
 * - A GET changes no state, so programs that open the links of a mail before its reader do no harm.
 * - The secret of a link is in no address that a server sees, in no `Referer`, and after the link landing page in no history.
 * - Forms are refused from other origins, and carry a token of the browser that they were made for.
 * - Names, addresses and other texts of customers are escaped.
 */

export { catchFormError, type FormError, fieldFailure, fieldsOf, formToken, requireFormToken } from "./forms.ts";
export {
  escapeHtml,
  type Field,
  failureHtml,
  fieldHtml,
  frame,
  hidden,
  noticeHtml,
  type TextIn,
  textIn,
} from "./html.ts";
export { droppedLink, type LinkPage, linkOf, openLinkPage, showLinkPage } from "./link-page.ts";
export { pageTexts, scopeTexts, type TextKey } from "./page-texts.ts";
export {
  explaining,
  failedPageSpec,
  formErrorSpecs,
  limitedPageSpec,
  type PageOptions,
  type PageReply,
  pageReply,
  pageSpec,
  redirectReply,
  redirectSpec,
  unauthorizedPageSpec,
} from "./replies.ts";
export { stylePath, styleSheet } from "./style.ts";
