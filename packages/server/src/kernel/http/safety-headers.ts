/** Headers of every answer, also of answers that the transport sends without the application. */

import type { Profile } from "../../config.ts";

/** A year, as browsers and their preload lists ask for at least; they renew it with every answer. */
const strictTransportSeconds = 365 * 24 * 60 * 60;

/** Nothing of ours is to be sniffed, framed, or sent on as a referrer. */
const everywhere = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

/**
 * Without `includeSubDomains`: what else an operator serves under the name is not ours to decide.
 */
const elsewhere = { ...everywhere, "strict-transport-security": `max-age=${strictTransportSeconds}` } as const;

/** Profile `local` has a certificate that browsers do not know: they must be able to go on in spite of it. */
export function safetyHeaders(profile: Profile): Readonly<Record<string, string>> {
  return profile === "local" ? everywhere : elsewhere;
}
