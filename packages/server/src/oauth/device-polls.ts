/**
 * How often a device may ask (RFC 8628, section 3.5). Whoever asks sooner than its interval hears `slow_down`, and the
 * interval grows for the rest of the code's life, as the protocol tells clients to do. It counts over all processes, and
 * only while nothing is decided: a device that is late to slow down still gets its tokens.
 */

import { deviceCodeHash } from "./adapter.ts";
import { countPoll } from "./store.ts";
import type { Visit } from "./visit.ts";

/** Seconds between two questions; RFC 8628's own default. */
export const pollIntervalSeconds = 5;

/** RFC 8628: each `slow_down` adds five seconds. */
const slowDownSeconds = 5;

/** A code lives ten minutes; longer than a minute between questions would only make people wait. */
const longestIntervalSeconds = 60;

/** Questions that were sent on time arrive a little early when the one before was held up. */
const graceMs = 1_000;

/** Counts a question that found nothing decided; whether it came too soon. */
export function isTooSoon(visit: Visit, deviceCode: string): Promise<boolean> {
  return countPoll(visit.tx, deviceCodeHash(visit, deviceCode), {
    firstSeconds: pollIntervalSeconds,
    stepSeconds: slowDownSeconds,
    longestSeconds: longestIntervalSeconds,
    graceMs,
  });
}
