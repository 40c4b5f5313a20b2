/**
 * Download links: a browser cannot send a token with a download, so the dashboard asks for a link and opens it. Owns the table
 * `download_links`.
 *
 * A link is *made* by a caller with a token, for one content. It is *used* by the first GET, within five minutes; that answer sets a
 * cookie for the link's own path, and only requests with the cookie continue the download. HEAD uses nothing.
 *
 * Invariants: a link shows what its maker may read at this moment and no more: session, scope, role, package and vault are looked up at
 * every request and every ten seconds of an answer; of two first GETs one wins; a download that fails before its first byte leaves the
 * link as it was; token and cookie are stored as keyed hashes.
 */

export { downloadRecurrences } from "./jobs.ts";
export { openDownloads } from "./link-makers.ts";
