/**
 * The lease shows that a worker is alive. It is a session-level advisory lock derived from the worker's id, and a row in
 * `emanet.job_workers`. PostgreSQL frees the lock when the database session ends. So a killed worker is known to be dead
 * within moments, and a busy one is not taken for dead.
 *
 * States of a lease:
 *   held   the lock is ours; jobs may be taken                  -> lost (connection gone) | ended
 *   lost   reconnecting; running jobs continue, none is taken   -> held (lock ours again, row still there) | ended
 *   ended  released on purpose, or fenced: not regained in time, or other workers deleted the row
 *
 * Needs a separate session: a pooler that shares sessions between clients would break it.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { errorFields, type Log } from "../log.ts";
import { within } from "./loop.ts";

export interface Lease {
  /** Resolves at once while the lease is held, else when it is held again or has ended. */
  held(): Promise<void>;
  readonly ended: Promise<"released" | "fenced">;
  release(): Promise<void>;
}

export interface LeaseOptions {
  readonly pool: Pool;
  readonly workerId: string;
  readonly now: Date;
  readonly log: Log;
}

/**
 * How long to try to regain a lost lease before running jobs are aborted. Other workers wait longer before they take the
 * jobs (`deadAfterSweeps` in recovery.ts): the difference is the time that a job has to end on its signal.
 */
const regainWithinMs = 3_000;
/** A new connection takes milliseconds; faster attempts would only load a server that is starting. */
const regainPauseMs = 250;
/** How often the connection is tested, so that one that broke silently is noticed. */
const pingIntervalMs = 5_000;
/** How long an answer may take on a loaded server. */
const pingTimeoutMs = 5_000;

/** SQL for the lock of the worker whose id is `parameter`. */
export function lockKey(parameter: string): string {
  return `hashtextextended('emanet.job_workers:' || ${parameter}, 0)`;
}

/** Registers the worker and takes its lock. Throws when that cannot be done now. */
export async function acquireLease(options: LeaseOptions): Promise<Lease> {
  const { workerId, now, log } = options;
  // The lock comes first: a worker that saw the row without the lock would count it as free.
  let client = await lockedBy(
    options.pool,
    `with locks as (select pg_try_advisory_lock(${lockKey("$1::text")}) as locked)
     insert into emanet.job_workers (id, started_at) select $1, $2 from locks where locked returning true as locked`,
    [workerId, now],
  );
  if (client === undefined) throw new Error("the lock of a new worker id is taken");
  const stop = new AbortController();
  let heldPromise = Promise.withResolvers<void>();
  heldPromise.resolve();

  async function watch(): Promise<"released" | "fenced"> {
    while (client !== undefined) {
      await connectionEnd(client, stop.signal);
      client.release(true);
      if (stop.signal.aborted) return "released";
      log.warn("job_lease_lost");
      heldPromise = Promise.withResolvers<void>();
      client = await regain(options, stop.signal);
      if (client !== undefined) heldPromise.resolve();
    }
    return stop.signal.aborted ? "released" : "fenced";
  }

  const ended = watch().finally(() => heldPromise.resolve());
  return {
    held: () => heldPromise.promise,
    ended,
    release: async () => {
      stop.abort();
      await ended;
    },
  };
}

/** A new connection that holds the lock, if the statement returns `locked`. */
async function lockedBy(pool: Pool, statement: string, values: unknown[]): Promise<PoolClient | undefined> {
  const client = await pool.connect();
  try {
    // For this session: a machine that lost its power is noticed in half a minute, not in two hours.
    await client.query("set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3");
    const { rows } = await client.query<{ locked: boolean }>(statement, values);
    if (rows[0]?.locked === true) return client;
  } catch (error) {
    client.release(true);
    throw error;
  }
  client.release(true);
  return undefined;
}

/** Takes the lock again, provided that the worker is still registered. */
async function regain({ pool, workerId, log }: LeaseOptions, stopped: AbortSignal): Promise<PoolClient | undefined> {
  const statement = `select pg_try_advisory_lock(${lockKey("id")}) as locked from emanet.job_workers where id = $1`;
  let late = false;
  const tries = async (): Promise<PoolClient | undefined> => {
    while (!late && !stopped.aborted) {
      const client = await lockedBy(pool, statement, [workerId]).catch((error: unknown) => {
        log.debug("job_lease_not_regained", errorFields(error));
        return undefined;
      });
      if (client === undefined) await delay(regainPauseMs);
      else if (late || stopped.aborted) client.release(true);
      else return client;
    }
    return undefined;
  };
  const found = tries();
  if (await within(found, regainWithinMs)) return found;
  late = true;
  return undefined;
}

/** Resolves when the connection is gone or the signal aborts. */
async function connectionEnd(client: PoolClient, stopped: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const end = () => over.resolve();
  client.on("error", end);
  client.on("end", end);
  stopped.addEventListener("abort", end, { once: true });
  if (stopped.aborted) end();
  const timer = setInterval(() => {
    const answer = client.query("select 1");
    answer.catch(end);
    void within(answer, pingTimeoutMs).then((answered) => answered || end());
  }, pingIntervalMs);
  await over.promise;
  clearInterval(timer);
  client.off("error", end);
  client.off("end", end);
  stopped.removeEventListener("abort", end);
}
