/**
 * How often. A *policy* is a named limit; a request is checked against every policy that applies to it at once, and
 * spends from all of them or, when one refuses, from none. Exact within one process: a sliding window keeps the moments
 * of the requests it let through, a bucket keeps one theoretical arrival time (GCRA). Both count in whole numbers only:
 * sums of fractions would drift, and a customer would be refused what is theirs.
 */

import type { Rate } from "../config.ts";
import type { Clock } from "./clock.ts";

interface Policy {
  readonly kind: "window" | "bucket";
  /** Requests in the window, or the bucket's capacity. */
  readonly count: number;
  /** Length of the window, or the time in which an empty bucket fills up. */
  readonly seconds: number;
}

export const policies = {
  /** In force: 5 per hour per client address. */
  applications: { kind: "window", count: 5, seconds: 3600 },
  /** In force: 5 sign-ins a minute per e-mail address and client address. */
  login: { kind: "window", count: 5, seconds: 60 },
  /** Beside it, so that one address cannot try many e-mails: 60 a minute per client address. */
  login_ip: { kind: "window", count: 60, seconds: 60 },
  /** In force: codes by SMS, once a minute and five times an hour per e-mail address and client address. */
  sms_minute: { kind: "window", count: 1, seconds: 60 },
  sms_hour: { kind: "window", count: 5, seconds: 3600 },
  /** Tokens: 60 a minute per client and client address. */
  token: { kind: "window", count: 60, seconds: 60 },
  /** In force: all reads under /v1/admin, 60 a minute per staff member. */
  admin: { kind: "window", count: 60, seconds: 60 },
  /** 300 per minute with bursts of 600, for requests without a valid token, per client address. */
  anonymous: { kind: "bucket", count: 600, seconds: 120 },
  /** The widest package, 1500 per minute with bursts of 3000, for requests with a valid token, per account. */
  package: { kind: "bucket", count: 3000, seconds: 120 },
} as const satisfies Record<string, Policy>;

export type PolicyName = keyof typeof policies;

/** Keys kept at most, whatever an attacker sends: about 50 MB. The keys unused for longest are forgotten first. */
const maxKeys = 200_000;

/** Forgotten at a time: finding the oldest key of a large map is slow, so it is not done for every new one. */
const forgottenAtOnce = 2_000;

/** What a policy says after a request was counted or refused. */
export interface Verdict {
  readonly policy: PolicyName;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  /** When the limit is whole again, in Unix seconds. */
  readonly resetAt: number;
  /** Zero when allowed; else the seconds after which it will be. */
  readonly retryAfterSeconds: number;
}

export interface Limiter {
  /** Spends one from each policy, or from none of them when any refuses. */
  spend(wanted: readonly { policy: PolicyName; key: string }[]): readonly Verdict[];
}

export function createLimiter(
  clock: Clock,
  overrides: Readonly<Partial<Record<PolicyName, Rate | null>>> = {},
): Limiter {
  /** In order of last use. A window's moments, or a bucket's theoretical arrival time (see {@link arrivalOf}). */
  const states = new Map<string, readonly number[]>();
  const policyOf = (name: PolicyName): Policy => ({ ...policies[name], ...overrides[name] });
  return {
    spend(wanted) {
      const now = clock.now().getTime();
      const looks = wanted.map(({ policy, key }) => {
        const id = `${policy}\n${key}`;
        return { id, name: policy, policy: policyOf(policy), state: states.get(id) ?? [] };
      });
      const refusals = looks.map((look) => refusedForMs(look.policy, look.state, now));
      const spent = refusals.every((ms) => ms === 0);
      return looks.map((look, index) => {
        const state = spent ? afterSpending(look.policy, look.state, now) : look.state;
        if (spent) remember(states, look.id, state);
        return verdict(look.name, look.policy, state, now, refusals[index] ?? 0);
      });
    },
  };
}

function refusedForMs(policy: Policy, state: readonly number[], now: number): number {
  if (policy.kind === "bucket") {
    const [ms, parts] = arrivalOf(policy, state, now, 1);
    return Math.max(0, (parts > 0 ? ms + 1 : ms) - policy.seconds * 1000 - now);
  }
  const live = liveMoments(policy, state, now);
  const oldestThatCounts = live.at(-policy.count);
  return oldestThatCounts === undefined ? 0 : oldestThatCounts + policy.seconds * 1000 - now;
}

function afterSpending(policy: Policy, state: readonly number[], now: number): readonly number[] {
  if (policy.kind === "bucket") return arrivalOf(policy, state, now, 1);
  return [...liveMoments(policy, state, now), now];
}

function verdict(name: PolicyName, policy: Policy, state: readonly number[], now: number, refusedMs: number): Verdict {
  const common = { policy: name, limit: policy.count, windowSeconds: policy.seconds };
  const retryAfterSeconds = Math.ceil(refusedMs / 1000);
  if (policy.kind === "bucket") {
    const [ms, parts] = arrivalOf(policy, state, now, 0);
    const missing = ((ms - now) * policy.count + parts) / (policy.seconds * 1000);
    const resetAt = Math.ceil((parts > 0 ? ms + 1 : ms) / 1000);
    return { ...common, remaining: Math.max(0, policy.count - Math.ceil(missing)), resetAt, retryAfterSeconds };
  }
  const live = liveMoments(policy, state, now);
  const wholeAgain = (live.at(-1) ?? now - policy.seconds * 1000) + policy.seconds * 1000;
  const remaining = Math.max(0, policy.count - live.length);
  return { ...common, remaining, resetAt: Math.ceil(wholeAgain / 1000), retryAfterSeconds };
}

/**
 * When the bucket is full again after `spent` more requests: whole milliseconds, and parts of one in `1 / count`.
 * A request puts it off by `seconds * 1000` such parts.
 */
function arrivalOf(policy: Policy, state: readonly number[], now: number, spent: 0 | 1): readonly [number, number] {
  const [ms = now, parts = 0] = state;
  const isFull = ms < now;
  const sum = (isFull ? 0 : parts) + spent * policy.seconds * 1000;
  return [(isFull ? now : ms) + Math.floor(sum / policy.count), sum % policy.count];
}

function liveMoments(policy: Policy, state: readonly number[], now: number): readonly number[] {
  const horizon = now - policy.seconds * 1000;
  return state.filter((moment) => moment > horizon);
}

function remember(states: Map<string, readonly number[]>, id: string, state: readonly number[]): void {
  states.delete(id);
  states.set(id, state);
  if (states.size <= maxKeys) return;
  for (const oldest of states.keys().take(forgottenAtOnce)) states.delete(oldest);
}
