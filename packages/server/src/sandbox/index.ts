/**
 * What only the profile `sandbox` has: a clock that can be moved. Owns the table `sandbox_clock`, one row: how far the
 * application's clock is ahead of the machine's, the same for every process on the database. What is due is decided by
 * that clock, jobs included.
 */

import { setTimeout } from "node:timers/promises";
import type { Pool } from "pg";
import type { Clock } from "../kernel/clock.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import { readClockOffset } from "./store.ts";

/** Workers look at their table once a second; a clock that is read twice as often is never the reason to wait. */
const pollMs = 500;

export interface SandboxClock {
  readonly clock: Clock;
  stop(): void;
}

/** Longer than any answer of a database that is well. */
const syncPatienceMs = 500;

/** A clock ahead of `base` by what the database says: read before every request, and twice a second for jobs. */
export async function createSandboxClock(base: Clock, app: Pool, log: Log): Promise<SandboxClock> {
  let offsetMs = 0;
  const sync = async () => {
    offsetMs = await readClockOffset(app);
  };
  await sync();
  // A database that is gone or slow must not take along what works without it; the clock then stays as it was.
  const trySync = async () => {
    const read = sync().catch((error: unknown) => log.warn("sandbox_clock_unread", errorFields(error)));
    await Promise.race([read, setTimeout(syncPatienceMs, undefined, { ref: false })]);
  };
  const timer = setInterval(() => void trySync(), pollMs);
  timer.unref();
  return {
    clock: { now: () => new Date(base.now().getTime() + offsetMs), sync: trySync, offsetMs: () => offsetMs },
    stop: () => clearInterval(timer),
  };
}
