/** Pure decisions about rates and bans. They read no database and no clock. */

import { policies } from "../declarations.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { maxRate, type PolicyName, type Rate } from "../kernel/limits/policies.ts";
import { type Language, Problem } from "../kernel/problems.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** A rate in a request body. */
export interface WrittenRate {
  readonly limit: number;
  readonly window_s: number;
  readonly burst?: number;
}

/** The complete rate. A bucket without a burst gets twice its limit, like the widest one of the price list. */
export function rateOf(policy: PolicyName, { limit, window_s: seconds, burst }: WrittenRate, language: Language): Rate {
  const isBucket = policies[policy].kind === "bucket";
  if (!isBucket && burst !== undefined) {
    throw new Problem("validation_failed", { errors: [invalidField("/burst", "not_allowed", language)] });
  }
  const usual = isBucket ? Math.min(limit * 2, maxRate.burst) : limit;
  return { limit, windowMs: seconds * 1000, burst: burst ?? usual };
}

/** The price list has rates per minute. */
const minuteMs = 60_000;

export function packageRate(requestsPerMinute: number, burst: number): Rate {
  return { limit: requestsPerMinute, windowMs: minuteMs, burst };
}

/** Parses the stored rates: per policy requests, seconds, burst. Unknown policies are left out. */
export function ratesOf(
  rows: Readonly<Record<string, readonly [number, number, number]>> | null,
): Partial<Record<PolicyName, Rate>> {
  const entries = Object.entries(rows ?? {}).filter(([name]) => Object.hasOwn(policies, name));
  return Object.fromEntries(
    entries.map(([name, [limit, seconds, burst]]) => [name, { limit, windowMs: seconds * 1000, burst }]),
  );
}

/** Older bans of an address do not make the next one longer, because addresses change their owner. */
export const addressMemoryMs = 30 * dayMs;

/** Length of an automatic ban: an hour, a day, then until staff lift it; for an address at most a day. */
export function banMs(kind: "client" | "session" | "address", earlier: number): number | null {
  if (earlier === 0) return hourMs;
  return kind === "address" || earlier === 1 ? dayMs : null;
}
