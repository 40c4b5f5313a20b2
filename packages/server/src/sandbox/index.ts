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

/** Longer than any answer of a database that is well. */
const syncPatienceMs = 500;

/** A clock ahead of `base` by what the database says. It is read before every request, and by workers when it was moved. */
export async function createSandboxClock(base: Clock, app: Pool, log: Log): Promise<Clock> {
  let offsetMs = 0;
  const sync = async () => {
    offsetMs = await readClockOffset(app);
  };
  await sync();
  return {
    now: () => new Date(base.now().getTime() + offsetMs),
    // A database that is gone or slow must not take along what works without it; the clock then stays as it was.
    sync: async () => {
      const read = sync().catch((error: unknown) => log.warn("sandbox_clock_unread", errorFields(error)));
      await Promise.race([read, setTimeout(syncPatienceMs, undefined, { ref: false })]);
    },
    offsetMs: () => offsetMs + (base.offsetMs?.() ?? 0),
    ...(base.onMove && { onMove: base.onMove }),
  };
}
