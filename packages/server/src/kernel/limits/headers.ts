/** Limits in an answer: the rate headers, and the problem of a refused request. */

import { Problem } from "../problems.ts";
import type { LimitOutcome, LimitStatus } from "./limiter.ts";

/** Seconds after which the store is likely to answer again. */
const retryStoreSeconds = 5;

/**
 * The rate headers. `X-RateLimit-…` is about the policy with the least left, `RateLimit…` (IETF) about all. Policies in mode
 * `shadow` are shown only where no enforced one applies.
 */
export function rateHeaders(statuses: readonly LimitStatus[]): Record<string, string> {
  const enforced = statuses.filter((status) => status.mode === "enforce");
  const shown = enforced.length > 0 ? enforced : statuses;
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

/** The problem of a refused request; null when it is allowed. */
export function refusalOf({ statuses, refused }: LimitOutcome): Problem | null {
  if (refused === "store_down")
    return new Problem("unavailable", { headers: { "Retry-After": String(retryStoreSeconds) } });
  if (refused === null) return null;
  // After the longest wait all of them allow the request.
  const [slowest] = statuses
    .filter((status) => status.mode === "enforce")
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
