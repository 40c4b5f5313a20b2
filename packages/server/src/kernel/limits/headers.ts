/** What limits say in an answer: the rate headers, and the problem of a request that was refused. */

import { Problem } from "../problems.ts";
import type { LimitOutcome, Verdict } from "./limiter.ts";

/** Seconds after which a store that is away is likely to be back. */
const retryStoreSeconds = 5;

/**
 * The rate headers: in the seed's form of the policy that has least left, and in the IETF's form of all. Policies that
 * only watch are shown where no other applies.
 */
export function rateHeaders(verdicts: readonly Verdict[]): Record<string, string> {
  const enforced = verdicts.filter((verdict) => verdict.mode === "enforce");
  const shown = enforced.length > 0 ? enforced : verdicts;
  const [tightest] = shown.toSorted((a, b) => a.remaining - b.remaining || b.resetAt - a.resetAt);
  if (tightest === undefined) return {};
  return {
    "X-RateLimit-Limit": String(tightest.limit),
    "X-RateLimit-Remaining": String(tightest.remaining),
    "X-RateLimit-Reset": String(tightest.resetAt),
    "RateLimit-Policy": shown
      .map(({ policy, limit, windowSeconds }) => `"${policy}";q=${limit};w=${windowSeconds}`)
      .join(", "),
    RateLimit: shown
      .map(({ policy, remaining, resetAfterSeconds }) => `"${policy}";r=${remaining};t=${resetAfterSeconds}`)
      .join(", "),
  };
}

/** The problem of an outcome that refuses; null when the request goes on. */
export function refusalOf({ verdicts, refused }: LimitOutcome): Problem | null {
  if (refused === "store_down")
    return new Problem("unavailable", { headers: { "Retry-After": String(retryStoreSeconds) } });
  if (refused === null) return null;
  // Obeying the longest wait is enough for all of them.
  const [slowest] = verdicts
    .filter((verdict) => verdict.mode === "enforce")
    .toSorted((a, b) => b.retryAfterSeconds - a.retryAfterSeconds);
  if (slowest === undefined) return null;
  return new Problem("rate_limited", {
    headers: { "Retry-After": String(slowest.retryAfterSeconds) },
    members: {
      policy: slowest.policy,
      limit: slowest.limit,
      window: slowest.windowSeconds,
      retry_after: slowest.retryAfterSeconds,
    },
  });
}
