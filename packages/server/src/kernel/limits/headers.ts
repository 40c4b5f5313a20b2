/** Limits in an answer: the rate headers, and the problem of a refused request. */

import { Problem } from "../problems.ts";
import type { LimitOutcome, LimitStatus } from "./limiter.ts";

/** Seconds after which the store is likely to answer again. */
const retryStoreSeconds = 5;

/**
 * Adds the rate headers. `X-RateLimit-…` is about the policy with the least left, `RateLimit…` (IETF) about all. Policies in
 * mode `shadow` are shown only where no enforced one applies.
 */
export function addRateHeaders(head: Record<string, unknown>, statuses: readonly LimitStatus[]): void {
  const [first] = statuses;
  if (first === undefined) return;
  // Most requests have one, and sorting one costs as much as writing it.
  const enforced = statuses.length === 1 ? statuses : statuses.filter((status) => status.mode === "enforce");
  const shown = enforced.length > 0 ? enforced : statuses;
  const tightest = shown.reduce(tighter, shown[0] ?? first);
  head["x-ratelimit-limit"] = String(tightest.limit);
  head["x-ratelimit-remaining"] = String(tightest.remaining);
  head["x-ratelimit-reset"] = String(tightest.resetAt);
  let [policies, remainders] = ["", ""];
  for (const { policy, limit, windowSeconds, remaining, resetAfterSeconds } of shown) {
    const comma = policies === "" ? "" : ", ";
    policies += `${comma}"${policy}";q=${limit};w=${windowSeconds}`;
    remainders += `${comma}"${policy}";r=${remaining};t=${resetAfterSeconds}`;
  }
  head["ratelimit-policy"] = policies;
  head.ratelimit = remainders;
}

/** Of two with the same left, the one that is whole again later. */
function tighter(one: LimitStatus, other: LimitStatus): LimitStatus {
  const isTighter = other.remaining - one.remaining || one.resetAt - other.resetAt;
  return isTighter < 0 ? other : one;
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
