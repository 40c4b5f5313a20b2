/**
 * Pages for people with a browser: what they share, whichever domain they belong to. Owns no table.
 *
 * Nouns: a *page* is HTML that the server wrote, with plain forms; a *word* is an entry of the one dictionary; a *link
 * landing page* is the page that a link of a mail leads to. It moves the link's secret from the address to a cookie.
 *
 * Invariants
 * - Pages run no script and load nothing but the style sheet. Only the link landing page runs one, pinned by its hash.
 * - Looking spends nothing: a GET changes no state, so programs that open links ahead of their reader do no harm.
 * - The secret of a link is in no address that a server sees, in no `Referer`, and after the link landing page in no history.
 * - Forms are refused from other origins, and carry a token of the browser that they were made for.
 * - What others chose (names, addresses) is shown as text.
 */

export { fieldFailure, fieldsOf, formToken, type Mend, mending, requireFormToken } from "./forms.ts";
export { escapeHtml, type Field, failureHtml, fieldHtml, frame, hidden, noticeHtml, type Say, sayIn } from "./html.ts";
export { droppedLink, type LinkPage, linkOf, openLinkPage, showLinkPage } from "./link-page.ts";
export {
  explaining,
  failedPageSpec,
  limitedPageSpec,
  mendSpecs,
  type PageOptions,
  type PageReply,
  pageReply,
  pageSpec,
  redirectReply,
  redirectSpec,
  unauthorizedPageSpec,
} from "./replies.ts";
export { stylePath, styleSheet } from "./style.ts";
export { scopeWords, type Word, words } from "./words.ts";
