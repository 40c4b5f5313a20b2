/** How long a link lives, and what it answers. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The contract's: a link that is not used within this time is over. */
export const linkLifeMs = 5 * minuteMs;

/** A download that began can be continued for so long: a terabyte at 100 Mbit/s. */
export const resumableMs = 24 * hourMs;

/** Rows of links are kept for so long after that, so that an old link answers `download_expired`. */
export const keptMs = 24 * hourMs;

export interface LinkState {
  readonly expires_at: Date;
  readonly used_at: Date | null;
  readonly cookie_hash: Buffer | null;
}

/** `first`: this request uses the link; `resumed`: it has the cookie of the request that did. */
export type LinkUse = "first" | "resumed" | "expired";

export function useOf(link: LinkState, cookieHash: Buffer | null, now: Date): LinkUse {
  if (link.used_at === null || link.cookie_hash === null) return link.expires_at > now ? "first" : "expired";
  const isContinued = cookieHash?.equals(link.cookie_hash) === true;
  return isContinued && now.getTime() - link.used_at.getTime() < resumableMs ? "resumed" : "expired";
}
