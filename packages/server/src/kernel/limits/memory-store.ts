/**
 * Limits counted in this process. Exact for one process; several of them need the shared store.
 *
 * Memory is bounded whatever clients send: each policy keeps so many subjects, and forgets those unused for longest
 * first. Policies are apart, so that a flood of addresses forgets no customer.
 */

import type { Clock } from "../clock.ts";
import { isUuid } from "../uuid.ts";
import { emptyState, type LimitState, look, spend } from "./arithmetic.ts";
import type { LimitJournal } from "./journal.ts";
import { accountPoliciesOf, type Policies, type PolicyName } from "./policies.ts";
import { type BusySubject, isLetThrough, type LimitStore, type Want } from "./store.ts";

/** Per policy: some 15 MB when full. An attacker who has more addresses than this has no use for a forgotten counter. */
export const maxSubjectsPerPolicy = 50_000;

/** Forgotten at a time: finding the oldest of a large map is slow, so it is not done for every new subject. */
const forgottenAtOnce = 1_000;

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly policies: Policies;
  /** Keeps long windows over a restart; without one they begin anew. */
  readonly journal?: LimitJournal;
}

export function createMemoryStore({ clock, policies, journal }: MemoryStoreOptions): LimitStore {
  const subjects = new Map(Object.keys(policies).map((name) => [name, new Map<string, LimitState>()]));
  const statesOf = (policy: PolicyName) => subjects.get(policy) ?? new Map<string, LimitState>();
  const accountPolicies = accountPoliciesOf(policies);
  for (const { policy, key, moments } of journal?.read(clock.now().getTime()) ?? []) {
    statesOf(policy).set(key, { kind: "window", moments: [...moments], head: 0 });
  }
  const keyOf = (want: Want) => journal?.keyOf(want) ?? want.key;
  return {
    decide(wants, act) {
      const nowMs = clock.now().getTime();
      const found = wants.map((want) => {
        const key = keyOf(want);
        return { want, key, state: statesOf(want.policy).get(key) ?? emptyState(policies[want.policy].kind) };
      });
      const looks = found.map(({ want, state }) => look(state, want.rate, nowMs));
      if (act === "peek" || !isLetThrough(wants, looks)) return { nowMs, looks };
      const after = found.map(({ want, key, state }, index) => {
        const before = looks[index] ?? look(state, want.rate, nowMs);
        if (want.mode === "off" || before.retryAfterMs > 0) return before;
        spend(state, want.rate, nowMs);
        remember(statesOf(want.policy), key, state);
        journal?.write(want, key, nowMs);
        return { ...look(state, want.rate, nowMs), retryAfterMs: 0 };
      });
      return { nowMs, looks: after };
    },
    busiest(count) {
      const each = Math.ceil(count / accountPolicies.length);
      return accountPolicies.flatMap((policy) =>
        newest(statesOf(policy), each)
          .filter(isUuid)
          .map((key): BusySubject => ({ policy, key })),
      );
    },
    close: async () => journal?.close(),
  };
}

/** Puts a subject at the end of the order of use. */
function remember(states: Map<string, LimitState>, key: string, state: LimitState): void {
  states.delete(key);
  states.set(key, state);
  if (states.size <= maxSubjectsPerPolicy) return;
  for (const oldest of states.keys().take(forgottenAtOnce)) states.delete(oldest);
}

function newest(states: ReadonlyMap<string, unknown>, count: number): readonly string[] {
  return [...states.keys().drop(Math.max(0, states.size - count))].reverse();
}
