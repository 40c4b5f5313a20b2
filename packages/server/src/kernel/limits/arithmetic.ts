/**
 * The arithmetic of limits. All numbers are whole: sums of fractions drift, and a customer would be refused too early. A
 * *state* is what one policy stores for one subject. The script of the shared store (`redis-script.ts`) computes the same;
 * a test compares the two.
 */

import type { Policy, Rate } from "./policies.ts";

/** What a counter shows at one moment. */
export interface CounterReading {
  /** Zero when one more request is allowed, else the time until it is. */
  readonly retryAfterMs: number;
  readonly remaining: number;
  /** When the whole limit is available again. */
  readonly resetAtMs: number;
}

/**
 * A window stores the times of its requests, oldest first; those before `head` have expired. A bucket stores the time at
 * which it is full again: `fullAtMs`, and `parts` of a further millisecond.
 */
export type LimitState =
  | { readonly kind: "window"; moments: number[]; head: number }
  | { readonly kind: "bucket"; fullAtMs: number; parts: number };

export function emptyState(kind: Policy["kind"]): LimitState {
  return kind === "window" ? { kind, moments: [], head: 0 } : { kind, fullAtMs: 0, parts: 0 };
}

export function readCounter(state: LimitState, rate: Rate, now: number): CounterReading {
  if (state.kind === "window") return readWindow(state, rate, now);
  const owed = owedParts(state, rate, now);
  const capacity = rate.burst * rate.windowMs;
  return {
    retryAfterMs: Math.max(0, Math.ceil((owed + rate.windowMs - capacity) / rate.limit)),
    remaining: Math.max(0, Math.floor((capacity - owed) / rate.windowMs)),
    resetAtMs: now + Math.ceil(owed / rate.limit),
  };
}

/** Counts one request. Call it only after {@link readCounter} allowed one. */
export function spend(state: LimitState, rate: Rate, now: number): void {
  if (state.kind === "window") {
    // Most subjects send one request: `push` on an empty array would reserve space for seventeen.
    if (state.moments.length === 0) state.moments = [now];
    else state.moments.push(now);
    return;
  }
  setOwed(state, rate, now, owedParts(state, rate, now) + rate.windowMs);
}

/** Moving fewer expired times costs more than it saves. */
const compactFrom = 64;

function readWindow(state: Extract<LimitState, { kind: "window" }>, rate: Rate, now: number): CounterReading {
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
 * How many parts a bucket lacks until it is full. A request costs `windowMs` parts, and each millisecond adds `limit` parts.
 * It never lacks more than its capacity: after a change of the rate the stored time is too late and is replaced.
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
