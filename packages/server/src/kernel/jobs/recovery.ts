/**
 * How a worker's jobs are given back. A worker that stops gives back its own jobs. The jobs of a dead worker are taken back by the
 * others. A worker is dead when the lock of its lease was free in several sweeps in a row. In that time a worker that only
 * lost its connection, for example because PostgreSQL restarted, can regain its lease.
 */

import type { Pool, PoolClient } from "pg";
import { errorFields, type Log } from "../log.ts";
import { lockKey } from "./lease.ts";

/** How often a worker checks the others. */
export const sweepIntervalMs = 1_000;
/** Sweeps in a row that must find a lock free: twice as long as its holder tries to regain it. */
export const deadAfterSweeps = 6;

/** Returns a function that sweeps once and takes back the jobs of dead workers. It logs errors and never throws. */
export function makeSweep(pool: Pool, log: Log): () => Promise<void> {
  let seenFree = new Map<string, number>();
  return async () => {
    try {
      const free = await freeWorkers(pool);
      seenFree = new Map(free.map((id) => [id, (seenFree.get(id) ?? 0) + 1]));
      for (const [id, times] of seenFree) {
        if (times < deadAfterSweeps) continue;
        const released = await recover(pool, id);
        if (released !== undefined) log.warn("job_worker_recovered", { count: released });
        seenFree.delete(id);
      }
    } catch (error) {
      // A failed sweep breaks the row of sweeps.
      seenFree = new Map();
      log.warn("job_sweep_failed", errorFields(error));
    }
  };
}

/** Workers whose lock is free. The query itself holds the lock until it ends. */
async function freeWorkers(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; free: boolean }>(
    `select id, pg_try_advisory_xact_lock(${lockKey("id")}) as free from emanet.job_workers`,
  );
  return rows.filter((row) => row.free).map((row) => row.id);
}

/** Takes a dead worker's jobs back; undefined when another worker did it, or when the worker is alive after all. */
export function recover(pool: Pool, workerId: string): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ free: boolean }>(
      `select pg_try_advisory_xact_lock(${lockKey("$1::text")}) as free`,
      [workerId],
    );
    return rows[0]?.free === true ? takeBack(client, workerId, 1) : undefined;
  });
}

/** Gives the jobs of a stopping worker back and deletes its row. Interrupted attempts do not count. */
export async function deregister(pool: Pool, workerId: string): Promise<number> {
  return (await inTransaction(pool, (client) => takeBack(client, workerId, 0))) ?? 0;
}

async function takeBack(client: PoolClient, workerId: string, crashes: 0 | 1): Promise<number | undefined> {
  const { rows } = await client.query<{ queues: string[] }>(
    "delete from emanet.job_workers where id = $1 returning queues",
    [workerId],
  );
  if (rows[0] === undefined) return undefined;
  const released = await client.query(
    "update emanet.jobs set state = 'scheduled', claimed_by = null, crashes = crashes + $2 where claimed_by = $1",
    [workerId, crashes],
  );
  // Pointers that it had locked: unclaimed ones can run now; the others no longer match their job and are deleted.
  await client.query("select graphile_worker.force_unlock_workers($1)", [rows[0].queues]);
  return released.rowCount ?? 0;
}

async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => {
      broken = true;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
