/**
 * How often. A request is checked against every policy that applies to it at once, and spends from all of them or, when
 * one refuses, from none. With a shared store it is exact over all processes; while that store is away, what guards
 * sign-in, messages, applications and tokens refuses, and the rest is counted by each process.
 */

import type { Rate as RateSetting } from "../../config.ts";
import type { Metrics } from "../metrics.ts";
import type { AccountLimits } from "../principal.ts";
import type { Look } from "./arithmetic.ts";
import type { LimitMode, Policies, Policy, PolicyName, Rate } from "./policies.ts";
import { type BusySubject, type Decision, type LimitStore, StoreDown, type Want } from "./store.ts";

/** What a policy says after a request was counted or refused. */
export interface Verdict {
  readonly policy: PolicyName;
  readonly mode: LimitMode;
  /** Requests in the window, or the bucket's capacity. */
  readonly limit: number;
  /** Length of the window, or the time in which an empty bucket fills up. */
  readonly windowSeconds: number;
  readonly remaining: number;
  /** When the limit is whole again, in Unix seconds. */
  readonly resetAt: number;
  /** Seconds until then. */
  readonly resetAfterSeconds: number;
  /** Zero when allowed; else the seconds after which it will be. */
  readonly retryAfterSeconds: number;
}

export interface LimitOutcome {
  readonly verdicts: readonly Verdict[];
  /** Why the request must not go on: an enforced policy refuses, or cannot be asked. */
  readonly refused: "limited" | "store_down" | null;
}

/** Whose limits: an account's own rates and early access matter; null for everybody else. */
export type LimitedAccount = { readonly limits: AccountLimits; readonly earlyAccess: boolean } | null;

/** By what a limit counts that is known only from the body: something in it, an account, or the address alone. */
export type LaterSubject =
  | string
  | { readonly accountId: string; readonly account: LimitedAccount }
  | { readonly address: true };

export interface Limiter {
  /** A policy for a subject, at the rate and in the mode that hold for it now. */
  want(policy: PolicyName, key: string, account: LimitedAccount): Want;
  /** Spends one from each, or from none of them when any refuses. */
  spend(wants: readonly Want[]): Promise<LimitOutcome>;
  /**
   * What spending would say, when the spending itself comes later, together with these policies: a refusal counts as
   * one, and so does a store that will not be there for them.
   */
  check(wants: readonly Want[], later: readonly PolicyName[]): Promise<LimitOutcome>;
  /** For showing alone. */
  peek(wants: readonly Want[]): Promise<LimitOutcome>;
  /** Accounts that were counted lately, with the policy; some may be far from their limits. */
  busiest(count: number): Promise<readonly BusySubject[]>;
}

export interface LimiterOptions {
  readonly policies: Policies;
  /** Counts in this process; the only store, or the one to fall back to. */
  readonly local: LimitStore;
  /** Counts for all processes. */
  readonly shared?: LimitStore;
  readonly plannedMode: LimitMode;
  /** What an operator set in place of the stated rates (profile `sandbox`). */
  readonly overrides?: Readonly<Partial<Record<PolicyName, RateSetting | null>>>;
  readonly metrics: Pick<Metrics, "limitDecided" | "limitFellBack">;
}

export function createLimiter(options: LimiterOptions): Limiter {
  const { policies, local, shared = local, plannedMode, metrics } = options;
  const modeOf = (policy: PolicyName, account: LimitedAccount) => modeFor(policies[policy], account, plannedMode);
  const decide = async (
    wants: readonly Want[],
    act: "spend" | "peek",
    later: readonly PolicyName[] = [],
  ): Promise<LimitOutcome> => {
    try {
      return outcome(policies, wants, await shared.decide(wants, act));
    } catch (error) {
      if (!(error instanceof StoreDown)) throw error;
      const all = [...wants, ...later.map((policy) => ({ policy, mode: modeOf(policy, null) }))];
      const closes = all.some(({ policy, mode }) => mode === "enforce" && policies[policy].storeDown === "refuse");
      metrics.limitFellBack(closes ? "refused" : "process");
      const { verdicts, refused } = outcome(policies, wants, await local.decide(wants, closes ? "peek" : act));
      return { verdicts, refused: closes ? "store_down" : refused };
    }
  };
  return {
    want: (policy, key, account) => ({
      policy,
      key,
      rate: rateOf(policy, account, options),
      mode: modeOf(policy, account),
    }),
    async spend(wants) {
      const result = await decide(wants, "spend");
      count(metrics, result);
      return result;
    },
    async check(wants, later) {
      const result = await decide(wants, "peek", later);
      if (result.refused !== null) count(metrics, result);
      return result;
    },
    peek: (wants) => decide(wants, "peek"),
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

function outcome(policies: Policies, wants: readonly Want[], { nowMs, looks }: Decision): LimitOutcome {
  const verdicts = wants.map((want, index) => verdictOf(policies[want.policy], want, looks[index] ?? never(), nowMs));
  const refuses = verdicts.some((verdict) => verdict.mode === "enforce" && verdict.retryAfterSeconds > 0);
  return { verdicts, refused: refuses ? "limited" : null };
}

function never(): never {
  throw new Error("a store of limits left a want out");
}

function verdictOf(
  { kind }: Policy,
  { policy, mode, rate }: Want,
  { retryAfterMs, remaining, resetAtMs }: Look,
  nowMs: number,
): Verdict {
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

/** A refused request was refused by those that refuse; the others let it through and were not asked for anything. */
function count(metrics: LimiterOptions["metrics"], { verdicts, refused }: LimitOutcome): void {
  for (const { policy, mode, retryAfterSeconds } of verdicts) {
    if (mode === "off") continue;
    const denies = retryAfterSeconds > 0;
    if (refused !== null) {
      if (denies && mode === "enforce") metrics.limitDecided(policy, "denied");
    } else metrics.limitDecided(policy, denies ? "shadow_denied" : "allowed");
  }
}
