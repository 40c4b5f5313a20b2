/**
 * Limits counted in the memory of this process. Exact for one process; several processes need the shared store.
 *
 * Memory is bounded: each policy keeps a limited number of subjects and drops the least recently used first. Each policy
 * has its own map, so that a flood of addresses does not drop the counters of customers.
 */

import type { Clock } from "../clock.ts";
import { isUuid } from "../uuid.ts";
import { emptyState, type LimitState, readCounter, spend } from "./arithmetic.ts";
import { accountPoliciesOf, type Policies, type PolicyName } from "./policies.ts";
import type { SavedWindows } from "./saved-windows.ts";
import { type BusySubject, isAllowed, type LimitCounter, type LimitStore } from "./store.ts";

/** Per policy: about 15 MB when full. An attacker with more addresses gains nothing from a dropped counter. */
export const maxSubjectsPerPolicy = 50_000;

/** Dropped at a time: finding the oldest entry of a large map is slow, so it is not done for every new subject. */
const droppedAtOnce = 1_000;

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly policies: Policies;
  /** Keeps long windows over a restart; without it they start empty. */
  readonly saved?: SavedWindows;
}

export function createMemoryStore({ clock, policies, saved }: MemoryStoreOptions): LimitStore {
  const subjects = new Map(Object.keys(policies).map((name) => [name, new Map<string, LimitState>()]));
  const statesOf = (policy: PolicyName) => subjects.get(policy) ?? new Map<string, LimitState>();
  const accountPolicies = accountPoliciesOf(policies);
  for (const { policy, key, moments } of saved?.read(clock.now().getTime()) ?? []) {
    statesOf(policy).set(key, { kind: "window", moments: [...moments], head: 0 });
  }
  const keyOf = (counter: LimitCounter) => saved?.keyOf(counter) ?? counter.key;
  return {
    decide(counters, act) {
      const nowMs = clock.now().getTime();
      const found = counters.map((counter) => {
        const key = keyOf(counter);
        return { counter, key, state: statesOf(counter.policy).get(key) ?? emptyState(policies[counter.policy].kind) };
      });
      const readings = found.map(({ counter, state }) => readCounter(state, counter.rate, nowMs));
      if (act === "peek" || !isAllowed(counters, readings)) return { nowMs, readings };
      const after = found.map(({ counter, key, state }, index) => {
        const before = readings[index] ?? readCounter(state, counter.rate, nowMs);
        if (counter.mode === "off" || before.retryAfterMs > 0) return before;
        spend(state, counter.rate, nowMs);
        remember(statesOf(counter.policy), key, state);
        saved?.write(counter, key, nowMs);
        return { ...readCounter(state, counter.rate, nowMs), retryAfterMs: 0 };
      });
      return { nowMs, readings: after };
    },
    busiest(count) {
      const each = Math.ceil(count / accountPolicies.length);
      return accountPolicies.flatMap((policy) =>
        newest(statesOf(policy), each)
          .filter(isUuid)
          .map((key): BusySubject => ({ policy, key })),
      );
    },
    close: async () => saved?.close(),
  };
}

/** Makes a subject the most recently used one. */
function remember(states: Map<string, LimitState>, key: string, state: LimitState): void {
  states.delete(key);
  states.set(key, state);
  if (states.size <= maxSubjectsPerPolicy) return;
  for (const oldest of states.keys().take(droppedAtOnce)) states.delete(oldest);
}

function newest(states: ReadonlyMap<string, unknown>, count: number): readonly string[] {
  return [...states.keys().drop(Math.max(0, states.size - count))].reverse();
}
