/**
 * Where limits are counted. A *want* is one policy for one subject; a store looks at all wants of a request at once and
 * spends from all that count, or, when one that is enforced refuses, from none.
 */

import type { Look } from "./arithmetic.ts";
import type { LimitMode, PolicyName, Rate } from "./policies.ts";

export interface Want {
  readonly policy: PolicyName;
  readonly key: string;
  readonly rate: Rate;
  /** `off` is looked at for the headers alone and spends nothing. */
  readonly mode: LimitMode;
}

export interface Decision {
  /** The store's own time: what the looks are relative to. */
  readonly nowMs: number;
  /** One per want. After spending, where it was spent. */
  readonly looks: readonly Look[];
}

export interface LimitStore {
  /** Throws {@link StoreDown} when it cannot say. */
  decide(wants: readonly Want[], act: "spend" | "peek"): Decision | Promise<Decision>;
  /** Subjects of per-account policies that were counted lately and may be near their limit, newest first. */
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
    super("the shared store of limits is away", { cause });
    this.name = "StoreDown";
  }
}

/** Whether a request that found these looks goes on: no enforced want refuses. */
export function isLetThrough(wants: readonly Want[], looks: readonly Look[]): boolean {
  return wants.every((want, index) => want.mode !== "enforce" || looks[index]?.retryAfterMs === 0);
}
