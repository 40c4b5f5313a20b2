/**
 * How often a device may poll (RFC 8628, section 3.5). A device that polls before its interval ends gets `slow_down`, and
 * the interval grows for the rest of the code's life, as the protocol requires of clients. This counts over all processes,
 * and only before the decision: after it a device gets its tokens, also if it polls too early.
 */

import { deviceCodeHash } from "./adapter.ts";
import type { LibraryContext } from "./library-context.ts";
import { countPoll } from "./store.ts";

/** Seconds between two polls; the default of RFC 8628. */
export const pollIntervalSeconds = 5;

/** RFC 8628: each `slow_down` adds five seconds. */
const slowDownSeconds = 5;

/** A code is valid for ten minutes; more than a minute between polls would only make people wait. */
const longestIntervalSeconds = 60;

/** A poll that was sent on time arrives early when the one before was delayed. */
const graceMs = 1_000;

/** Counts a poll before the decision and returns whether it came too early. */
export function isTooSoon(context: LibraryContext, deviceCode: string): Promise<boolean> {
  return countPoll(context.tx, deviceCodeHash(context, deviceCode), {
    firstSeconds: pollIntervalSeconds,
    stepSeconds: slowDownSeconds,
    longestSeconds: longestIntervalSeconds,
    graceMs,
  });
}
