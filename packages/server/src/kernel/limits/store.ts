/**
 * Where limits are counted. A *counter* is one policy for one subject. A store reads all counters of a request at once. It
 * counts the request in all of them, or in none when an enforced one refuses.
 */

import type { CounterReading } from "./arithmetic.ts";
import type { LimitMode, PolicyName, Rate } from "./policies.ts";

export interface LimitCounter {
  readonly policy: PolicyName;
  readonly key: string;
  readonly rate: Rate;
  /** `off`: read for the headers, never counted. */
  readonly mode: LimitMode;
}

export interface Decision {
  /** The store's own time, on which the readings are based. */
  readonly nowMs: number;
  /** One per counter; taken after counting, where the request was counted. */
  readonly readings: readonly CounterReading[];
}

export interface LimitStore {
  /** Throws {@link StoreDown} when the store does not answer. */
  decide(counters: readonly LimitCounter[], act: "spend" | "peek"): Decision | Promise<Decision>;
  /** Accounts that were counted recently and may be near a limit, newest first. */
  busiest(count: number): readonly BusySubject[] | Promise<readonly BusySubject[]>;
  close(): Promise<void>;
}

export interface BusySubject {
  readonly policy: PolicyName;
  readonly key: string;
}

/** The shared store cannot be reached or does not answer in time. */
export class StoreDown extends Error {
  constructor(cause: unknown) {
    super("the shared store of limits does not answer", { cause });
    this.name = "StoreDown";
  }
}

/** Whether no enforced counter refuses the request. */
export function isAllowed(counters: readonly LimitCounter[], readings: readonly CounterReading[]): boolean {
  return counters.every((counter, index) => counter.mode !== "enforce" || readings[index]?.retryAfterMs === 0);
}
