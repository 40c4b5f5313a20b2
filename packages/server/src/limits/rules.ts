/** Decisions about rates and bans; they ask nobody. */

import { policies } from "../declarations.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { maxRate, type PolicyName, type Rate } from "../kernel/limits/policies.ts";
import { type Language, Problem } from "../kernel/problems.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** A rate as people write it. */
export interface WrittenRate {
  readonly limit: number;
  readonly window_s: number;
  readonly burst?: number;
}

/** The rate that was meant; a bucket without a burst holds twice its limit, as the price list's widest does. */
export function rateOf(policy: PolicyName, { limit, window_s: seconds, burst }: WrittenRate, language: Language): Rate {
  const isBucket = policies[policy].kind === "bucket";
  if (!isBucket && burst !== undefined) {
    throw new Problem("validation_failed", { errors: [invalidField("/burst", "not_allowed", language)] });
  }
  const usual = isBucket ? Math.min(limit * 2, maxRate.burst) : limit;
  return { limit, windowMs: seconds * 1000, burst: burst ?? usual };
}

/** Packages are sold by the minute. */
const minuteMs = 60_000;

export function packageRate(requestsPerMinute: number, burst: number): Rate {
  return { limit: requestsPerMinute, windowMs: minuteMs, burst };
}

/** Rates as the database keeps them: by policy, requests, seconds, burst. Names that are no policy are left out. */
export function ratesOf(
  rows: Readonly<Record<string, readonly [number, number, number]>> | null,
): Partial<Record<PolicyName, Rate>> {
  const entries = Object.entries(rows ?? {}).filter(([name]) => Object.hasOwn(policies, name));
  return Object.fromEntries(
    entries.map(([name, [limit, seconds, burst]]) => [name, { limit, windowMs: seconds * 1000, burst }]),
  );
}

/** Bans of an address are forgotten after this when the next one's length is decided: addresses change hands. */
export const addressMemoryMs = 30 * dayMs;

/** How long a ban by machine lasts: an hour, a day, then until staff lift it; an address never longer than a day. */
export function banMs(kind: "client" | "session" | "address", earlier: number): number | null {
  if (earlier === 0) return hourMs;
  return kind === "address" || earlier === 1 ? dayMs : null;
}
