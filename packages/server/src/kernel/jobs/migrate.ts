/**
 * The tables of graphile-worker, made and upgraded by its own migrations, as the owner, after ours. They hold pointers
 * only (migration 0002), so no upgrade of theirs can lose a job.
 */

import { Logger, runMigrations } from "graphile-worker";
import type { Pool } from "pg";
import type { Log } from "../log.ts";

/** Any number that nothing else in the database uses as an advisory lock: "jobs" in ASCII. */
const migrationLock = 0x6a6f6273;

/** Its migrations take seconds; a process that holds the lock longer hangs. */
const lockWaitMs = 5 * 60_000;

/** Brings graphile-worker's schema up to date. Two processes may start at once: the second waits and then has nothing to do. */
export async function migrateJobs({ owner, log }: { readonly owner: Pool; readonly log: Log }): Promise<void> {
  const client = await owner.connect();
  try {
    await client.query(`set lock_timeout = ${lockWaitMs}`);
    await client.query("select pg_advisory_lock($1)", [migrationLock]);
    await runMigrations({ pgPool: owner, logger: new Logger(() => () => undefined) });
    log.debug("job_queue_migrated");
  } finally {
    // Ends the session, and with it the lock.
    client.release(true);
  }
}
