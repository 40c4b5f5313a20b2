/**
 * Rate limits. A request is checked against all policies that apply to it at once. It is counted in all of them, or in none
 * when one refuses. With a shared store the count is exact over all processes. While that store does not answer, policies
 * with `storeDown: "refuse"` refuse, and each process counts the other policies alone.
 */

import type { Rate as RateSetting } from "../../config.ts";
import type { Metrics } from "../metrics.ts";
import type { AccountLimits } from "../principal.ts";
import type { CounterReading } from "./arithmetic.ts";
import type { LimitMode, Policies, Policy, PolicyName, Rate } from "./policies.ts";
import { type BusySubject, type Decision, type LimitCounter, type LimitStore, StoreDown } from "./store.ts";

/** The state of one policy after a request was counted or refused. */
export interface LimitStatus {
  readonly policy: PolicyName;
  readonly mode: LimitMode;
  /** Requests in the window, or the bucket's capacity. */
  readonly limit: number;
  /** Length of the window, or the time in which an empty bucket fills up. */
  readonly windowSeconds: number;
  readonly remaining: number;
  /** When all requests are available again, in Unix seconds. */
  readonly resetAt: number;
  /** Seconds until then. */
  readonly resetAfterSeconds: number;
  /** Zero when allowed, else the seconds until it is. */
  readonly retryAfterSeconds: number;
}

export interface LimitOutcome {
  readonly statuses: readonly LimitStatus[];
  /** Why the request is refused: an enforced policy is used up, or its store does not answer. */
  readonly refused: "limited" | "store_down" | null;
}

/** The account whose rates apply; null for staff and for requests without an account. */
export type LimitedAccount = { readonly limits: AccountLimits; readonly earlyAccess: boolean } | null;

/** The subject of a limit that is known only after the body was read: text in it, an account, or the address alone. */
export type LaterSubject =
  | string
  | { readonly accountId: string; readonly account: LimitedAccount }
  | { readonly shareId: string }
  | { readonly address: true };

export interface Limiter {
  /** The counter of a policy for a subject, with its present rate and mode. */
  counterFor(policy: PolicyName, key: string, account: LimitedAccount): LimitCounter;
  /** Counts the request in each, or in none when one refuses. Not a promise where the process counts alone. */
  spend(counters: readonly LimitCounter[]): LimitOutcome | Promise<LimitOutcome>;
  /**
   * Says whether `spend` would refuse, for a request that is counted later together with the policies `later`. It also
   * refuses when the store does not answer and one of `later` needs it.
   */
  check(counters: readonly LimitCounter[], later: readonly PolicyName[]): Promise<LimitOutcome>;
  /** Reads the counters and counts nothing. */
  peek(counters: readonly LimitCounter[]): Promise<LimitOutcome>;
  /** Accounts that were counted recently, with the policy; some may be far from their limits. */
  busiest(count: number): Promise<readonly BusySubject[]>;
}

export interface LimiterOptions {
  readonly policies: Policies;
  /** Counts in this process. It is the only store, or the fallback. */
  readonly local: LimitStore;
  /** Counts for all processes. */
  readonly shared?: LimitStore;
  readonly plannedMode: LimitMode;
  /** Rates that an operator set instead of the declared ones (profile `sandbox`). */
  readonly overrides?: Readonly<Partial<Record<PolicyName, RateSetting | null>>>;
  readonly metrics: Pick<Metrics, "limitDecided" | "limitFellBack">;
}

export function createLimiter(options: LimiterOptions): Limiter {
  const { policies, local, shared = local, plannedMode, metrics } = options;
  const modeOf = (policy: PolicyName, account: LimitedAccount) => modeFor(policies[policy], account, plannedMode);
  const fallBack = async (
    error: unknown,
    counters: readonly LimitCounter[],
    act: "spend" | "peek",
    later: readonly PolicyName[],
  ): Promise<LimitOutcome> => {
    if (!(error instanceof StoreDown)) throw error;
    const all = [...counters, ...later.map((policy) => ({ policy, mode: modeOf(policy, null) }))];
    const refuses = all.some(({ policy, mode }) => mode === "enforce" && policies[policy].storeDown === "refuse");
    metrics.limitFellBack(refuses ? "refused" : "process");
    const { statuses, refused } = outcome(policies, counters, await local.decide(counters, refuses ? "peek" : act));
    return { statuses, refused: refuses ? "store_down" : refused };
  };
  const decide = (
    counters: readonly LimitCounter[],
    act: "spend" | "peek",
    later: readonly PolicyName[] = [],
  ): LimitOutcome | Promise<LimitOutcome> => {
    const decided = shared.decide(counters, act);
    if (!(decided instanceof Promise)) return outcome(policies, counters, decided);
    return decided.then(
      (decision) => outcome(policies, counters, decision),
      (error: unknown) => fallBack(error, counters, act, later),
    );
  };
  const counted = (result: LimitOutcome) => {
    count(metrics, result);
    return result;
  };
  return {
    counterFor: (policy, key, account) => ({
      policy,
      key,
      rate: rateOf(policy, account, options),
      mode: modeOf(policy, account),
    }),
    spend(counters) {
      const result = decide(counters, "spend");
      return result instanceof Promise ? result.then(counted) : counted(result);
    },
    async check(counters, later) {
      const result = await decide(counters, "peek", later);
      if (result.refused !== null) count(metrics, result);
      return result;
    },
    peek: async (counters) => decide(counters, "peek"),
    async busiest(wanted) {
      try {
        return await shared.busiest(wanted);
      } catch (error) {
        if (!(error instanceof StoreDown)) throw error;
        return local.busiest(wanted);
      }
    },
  };
}

function rateOf(policy: PolicyName, account: LimitedAccount, { policies, overrides = {} }: LimiterOptions): Rate {
  const own = account?.limits.custom[policy];
  if (own !== undefined) return own;
  const set = overrides[policy];
  if (set) return { limit: set.count, windowMs: set.seconds * 1000, burst: set.count };
  return policy === "package" && account !== null ? account.limits.package : policies[policy].rate;
}

function modeFor({ set }: Policy, account: LimitedAccount, plannedMode: LimitMode): LimitMode {
  if (set === "in_force" || set === "anonymous") return "enforce";
  return account?.earlyAccess === true && plannedMode === "enforce" ? "shadow" : plannedMode;
}

function outcome(policies: Policies, counters: readonly LimitCounter[], { nowMs, readings }: Decision): LimitOutcome {
  const statuses = counters.map((counter, index) =>
    statusOf(policies[counter.policy], counter, readings[index] ?? never(), nowMs),
  );
  const isLimited = statuses.some((status) => status.mode === "enforce" && status.retryAfterSeconds > 0);
  return { statuses, refused: isLimited ? "limited" : null };
}

function never(): never {
  throw new Error("a store of limits did not read every counter");
}

function statusOf(
  { kind }: Policy,
  { policy, mode, rate }: LimitCounter,
  { retryAfterMs, remaining, resetAtMs }: CounterReading,
  nowMs: number,
): LimitStatus {
  const isBucket = kind === "bucket";
  const windowMs = isBucket ? (rate.burst * rate.windowMs) / rate.limit : rate.windowMs;
  const resetAt = Math.ceil(resetAtMs / 1000);
  return {
    policy,
    mode,
    limit: isBucket ? rate.burst : rate.limit,
    windowSeconds: Math.ceil(windowMs / 1000),
    remaining,
    resetAt,
    resetAfterSeconds: Math.max(0, Math.ceil((resetAtMs - nowMs) / 1000)),
    retryAfterSeconds: mode === "off" ? 0 : Math.ceil(retryAfterMs / 1000),
  };
}

/** For a refused request only the policies that refused it are counted: the others counted nothing. */
function count(metrics: LimiterOptions["metrics"], { statuses, refused }: LimitOutcome): void {
  for (const { policy, mode, retryAfterSeconds } of statuses) {
    if (mode === "off") continue;
    const denies = retryAfterSeconds > 0;
    if (refused !== null) {
      if (denies && mode === "enforce") metrics.limitDecided(policy, "denied");
    } else metrics.limitDecided(policy, denies ? "shadow_denied" : "allowed");
  }
}
