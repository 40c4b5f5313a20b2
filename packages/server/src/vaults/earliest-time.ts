/**
 * The time by which something may be deleted: the earliest of the application's, the database's and the object store's. A clock that
 * is wrong, or that somebody has moved, must not end a retention. In profile `sandbox` the test clock moves all three.
 */

import type { Clock } from "../kernel/clock.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { TransientJobError } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { databaseTime } from "./clock-store.ts";

/** The contract's: clocks that differ by so much are not believed. */
export const maxClockDifferenceMs = 5 * 60_000;

/** Nothing is deleted, and the job is repeated. Staff must correct a clock. */
export class ClocksDifferError extends TransientJobError {
  constructor() {
    super("clocks_differ");
  }
}

interface Sources {
  readonly clock: Clock;
  readonly ports: ServicePorts & { readonly transactions: Transactions };
  readonly signal: AbortSignal;
}

/** Throws {@link ClocksDifferError} if two of the three clocks differ by five minutes or more. */
export async function earliestTime({ clock, ports, signal }: Sources): Promise<Date> {
  const application = clock.now().getTime();
  const moved = clock.offsetMs?.() ?? 0;
  const database = await ports.transactions.read({ signal }, { kind: "system" }, databaseTime);
  const store = await ports.services.vaults.storeTime();
  return new Date(earliestOf([application, database + moved, ...(store === null ? [] : [store + moved])]));
}

/** S3 says its time in whole seconds, and file systems that of their last tick. */
const resolutionMs = 1000;

/** The first is the application's: it counts if the others are behind it by less than they can show. */
export function earliestOf([application, ...others]: readonly [number, ...number[]]): number {
  const times = [application, ...others];
  const difference = Math.max(...times) - Math.min(...times);
  if (!(difference < maxClockDifferenceMs)) throw new ClocksDifferError();
  const earliest = Math.min(...times);
  return application - earliest < resolutionMs ? application : earliest;
}
