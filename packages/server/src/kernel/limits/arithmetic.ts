/**
 * The arithmetic of limits, in whole numbers only: sums of fractions would drift, and a customer would be refused what
 * is theirs. A *state* is what one policy remembers of one subject. The script of the shared store (`redis-script.ts`)
 * does the same sums; a test holds the two together.
 */

import type { Policy, Rate } from "./policies.ts";

/** What a policy says of its subject at one moment. */
export interface Look {
  /** Zero: one more is let through. Else how long until it would be. */
  readonly retryAfterMs: number;
  readonly remaining: number;
  /** When the whole limit is available again. */
  readonly resetAtMs: number;
}

/** A window's moments in order, oldest first from `head` on; or a bucket's time of being full, in parts of a millisecond. */
export type LimitState =
  | { readonly kind: "window"; moments: number[]; head: number }
  | { readonly kind: "bucket"; fullAtMs: number; parts: number };

export function emptyState(kind: Policy["kind"]): LimitState {
  return kind === "window" ? { kind, moments: [], head: 0 } : { kind, fullAtMs: 0, parts: 0 };
}

export function look(state: LimitState, rate: Rate, now: number): Look {
  if (state.kind === "window") return lookAtWindow(state, rate, now);
  const owed = owedParts(state, rate, now);
  const capacity = rate.burst * rate.windowMs;
  return {
    retryAfterMs: Math.max(0, Math.ceil((owed + rate.windowMs - capacity) / rate.limit)),
    remaining: Math.max(0, Math.floor((capacity - owed) / rate.windowMs)),
    resetAtMs: now + Math.ceil(owed / rate.limit),
  };
}

/** Counts one request; to be called only after {@link look} let it through. */
export function spend(state: LimitState, rate: Rate, now: number): void {
  if (state.kind === "window") {
    // Most subjects come once: a list that grows by itself would hold room for seventeen.
    if (state.moments.length === 0) state.moments = [now];
    else state.moments.push(now);
    return;
  }
  setOwed(state, rate, now, owedParts(state, rate, now) + rate.windowMs);
}

/** Below this a queue is not worth moving. */
const compactFrom = 64;

function lookAtWindow(state: Extract<LimitState, { kind: "window" }>, rate: Rate, now: number): Look {
  const horizon = now - rate.windowMs;
  const { moments } = state;
  while (state.head < moments.length && (moments[state.head] ?? 0) <= horizon) state.head++;
  if (state.head >= compactFrom && state.head * 2 >= moments.length) {
    moments.splice(0, state.head);
    state.head = 0;
  }
  const live = moments.length - state.head;
  const last = moments.at(-1);
  const freesOne = live < rate.limit ? undefined : moments[moments.length - rate.limit];
  return {
    retryAfterMs: freesOne === undefined ? 0 : freesOne + rate.windowMs - now,
    remaining: Math.max(0, rate.limit - live),
    resetAtMs: live === 0 || last === undefined ? now : last + rate.windowMs,
  };
}

/**
 * How far a bucket is from full: a request is `windowMs` parts, a millisecond brings `limit` of them. Never more than a
 * whole bucket: after a change of rate the old time says nothing about the new one, and is replaced.
 */
function owedParts(state: Extract<LimitState, { kind: "bucket" }>, rate: Rate, now: number): number {
  if (state.fullAtMs < now) return 0;
  const owed = (state.fullAtMs - now) * rate.limit + state.parts;
  const capacity = rate.burst * rate.windowMs;
  if (owed <= capacity) return owed;
  setOwed(state, rate, now, capacity);
  return capacity;
}

function setOwed(state: Extract<LimitState, { kind: "bucket" }>, rate: Rate, now: number, owed: number): void {
  state.fullAtMs = now + Math.floor(owed / rate.limit);
  state.parts = owed % rate.limit;
}
