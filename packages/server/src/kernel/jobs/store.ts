/**
 * All SQL of jobs, run as the owner of the tables. Migration 0002 describes the states of a job. Every statement that ends
 * an attempt names the worker and the pointer of the attempt. So a worker that was declared dead, and whose jobs others
 * have taken, changes nothing more.
 */

import type { Pool } from "pg";
import type { Outcome } from "./outcome.ts";

/** What graphile-worker passes to a task. */
export interface Pointer {
  readonly jobId: string;
  readonly dispatch: number;
}

/** The key under which graphile-worker has a pointer; `emanet.dispatch_job` makes it. */
export function pointerKey({ jobId, dispatch }: Pointer): string {
  return `${jobId}:${dispatch}`;
}

/** A job that this worker has claimed. */
export interface ClaimedJob extends Pointer {
  readonly task: string;
  readonly key: string | null;
  readonly payload: unknown;
  readonly attempt: number;
  /** How many workers died while they ran the job. */
  readonly crashes: number;
}

/** The key of the one job that a recurring task has. */
export const recurringKey = "@recurring";

/** Moves jobs that are due by the application's clock to graphile-worker. Returns how many; at most `limit`. */
export async function promoteDue(pool: Pool, tasks: readonly string[], now: Date, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `with due as (
       select id from emanet.jobs
       where state = 'scheduled' and run_at <= $1 and task = any($2)
       order by run_at, id limit $3
       for update skip locked
     ), moved as (
       update emanet.jobs set state = 'queued', dispatch = dispatch + 1
       from due where jobs.id = due.id
       returning jobs.id, jobs.task, jobs.dispatch, jobs.run_at
     )
     select emanet.dispatch_job(id, task, dispatch) from (select * from moved order by run_at, id) as ordered`,
    [now, tasks, limit],
  );
  return rowCount ?? 0;
}

/** When the next scheduled job is due. */
export async function nextDue(pool: Pool, tasks: readonly string[]): Promise<Date | undefined> {
  const { rows } = await pool.query<{ run_at: Date }>(
    "select run_at from emanet.jobs where state = 'scheduled' and task = any($1) order by run_at limit 1",
    [tasks],
  );
  return rows[0]?.run_at;
}

/** Whether any job of these tasks is due, waiting for a worker, or running. */
export async function anyUnfinished(pool: Pool, tasks: readonly string[], now: Date): Promise<boolean> {
  const { rows } = await pool.query(
    `select from emanet.jobs
     where task = any($1) and (state = 'queued' or (state = 'scheduled' and run_at <= $2)) limit 1`,
    [tasks, now],
  );
  return rows.length > 0;
}

/**
 * Takes a job for this worker. `stale`: the pointer is of the past, its job is done or has a newer one. `fenced`: this
 * worker was taken for dead and must not run anything.
 */
export async function claim(pool: Pool, workerId: string, pointer: Pointer): Promise<ClaimedJob | "stale" | "fenced"> {
  // The lock on the worker's row makes a claim and the recovery of that worker wait for each other. A job that is ours
  // already was claimed by a statement whose answer was lost: the caller runs no job twice.
  const { rows } = await pool.query<Omit<ClaimedJob, "jobId" | "dispatch">>(
    `with me as (select id from emanet.job_workers where id = $3 for key share)
     update emanet.jobs set claimed_by = me.id from me
     where jobs.id = $1 and dispatch = $2 and state = 'queued' and (claimed_by is null or claimed_by = me.id)
     returning task, key, payload, attempt, crashes`,
    [pointer.jobId, pointer.dispatch, workerId],
  );
  if (rows[0] !== undefined) return { ...pointer, ...rows[0] };
  const registered = await pool.query("select from emanet.job_workers where id = $1", [workerId]);
  return registered.rows.length > 0 ? "stale" : "fenced";
}

/** Writes an outcome. False when the job is not this worker's any more. */
export async function finish(pool: Pool, workerId: string, pointer: Pointer, outcome: Outcome): Promise<boolean> {
  const statement = finishStatement(outcome);
  const { rowCount } = await pool.query(`${statement.text} where id = $1 and dispatch = $2 and claimed_by = $3`, [
    pointer.jobId,
    pointer.dispatch,
    workerId,
    ...statement.values,
  ]);
  return rowCount === 1;
}

function finishStatement(outcome: Outcome): { readonly text: string; readonly values: readonly unknown[] } {
  switch (outcome.kind) {
    case "done":
      return { text: "delete from emanet.jobs", values: [] };
    case "released":
      return { text: "update emanet.jobs set state = 'scheduled', claimed_by = null", values: [] };
    case "again":
      return {
        text: `update emanet.jobs set state = 'scheduled', claimed_by = null, attempt = $4, run_at = $5,
                 crashes = case when $4 = 1 then 0 else crashes end, error_class = $6, error_code = $7`,
        values: [outcome.attempt, outcome.runAt, outcome.error?.class, outcome.error?.code],
      };
    case "failed":
      return {
        text: `update emanet.jobs set state = 'failed', claimed_by = null, failed_at = $4, error_class = $5, error_code = $6`,
        values: [outcome.at, outcome.error.class, outcome.error.code],
      };
  }
}

/** Gives a job back whose pointer reached a worker that takes no more jobs. */
export async function putBack(pool: Pool, pointer: Pointer): Promise<void> {
  await pool.query(
    `update emanet.jobs set state = 'scheduled'
     where id = $1 and dispatch = $2 and state = 'queued' and claimed_by is null`,
    [pointer.jobId, pointer.dispatch],
  );
}

/**
 * Makes the pointers that queued jobs have lost: after graphile-worker's tables were rebuilt, or a backup without them
 * was restored.
 */
export async function restorePointers(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `select emanet.dispatch_job(id, task, dispatch) from emanet.jobs
     where state = 'queued' and claimed_by is null
       and not exists (select from graphile_worker.jobs as pointers where pointers.key = jobs.id || ':' || jobs.dispatch)`,
  );
  return rowCount ?? 0;
}

/** Adds a queue's id to a worker's row. False when the row is gone: other workers have declared this one dead. */
export async function addQueue(pool: Pool, workerId: string, queueId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    "update emanet.job_workers set queues = array_append(queues, $2) where id = $1",
    [workerId, queueId],
  );
  return rowCount === 1;
}

/**
 * Schedules jobs again whose pointer is locked by a queue of this worker although the worker does not run it: the answer to
 * the statement that locked it was lost. A pointer that arrives later is stale and is ignored.
 */
export async function redispatchLostPointers(pool: Pool, workerId: string, inHand: readonly string[]): Promise<number> {
  const { rowCount } = await pool.query(
    `update emanet.jobs set state = 'scheduled'
     from emanet.job_workers as me, graphile_worker.jobs as pointers
     where me.id = $1 and pointers.locked_by = any(me.queues) and pointers.key <> all($2)
       and pointers.key = jobs.id || ':' || jobs.dispatch
       and jobs.state = 'queued' and jobs.claimed_by is null`,
    [workerId, inHand],
  );
  return rowCount ?? 0;
}

/** Makes sure that the recurring job of a task exists and runs no later than its present schedule says. */
export async function ensureRecurring(
  pool: Pool,
  job: { readonly id: string; readonly task: string; readonly runAt: Date; readonly now: Date },
): Promise<void> {
  await pool.query(
    `insert into emanet.jobs (id, task, key, payload, state, run_at, created_at)
     values ($1, $2, $3, '{}', 'scheduled', $4, $5)
     on conflict (task, key) where key is not null and state <> 'failed'
     do update set run_at = least(jobs.run_at, excluded.run_at) where jobs.state = 'scheduled' and jobs.attempt = 1`,
    [job.id, job.task, recurringKey, job.runAt, job.now],
  );
}

/** Removes payloads of jobs that failed before one moment, and the jobs that failed before another. */
export async function purgeFailed(
  pool: Pool,
  before: { readonly payloads: Date; readonly jobs: Date },
): Promise<{ readonly payloads: number; readonly jobs: number }> {
  const jobs = await pool.query("delete from emanet.jobs where state = 'failed' and failed_at <= $1", [before.jobs]);
  const payloads = await pool.query(
    "update emanet.jobs set payload = null where state = 'failed' and failed_at <= $1 and payload is not null",
    [before.payloads],
  );
  return { payloads: payloads.rowCount ?? 0, jobs: jobs.rowCount ?? 0 };
}

export interface JobCounts {
  readonly scheduled: number;
  readonly queued: number;
  readonly running: number;
  readonly failed: number;
}

/** How many jobs are in which state, for the metrics. */
export async function countJobs(pool: Pool): Promise<JobCounts> {
  const { rows } = await pool.query<JobCounts>(
    `select count(*) filter (where state = 'scheduled')::int as scheduled,
            count(*) filter (where state = 'queued' and claimed_by is null)::int as queued,
            count(*) filter (where claimed_by is not null)::int as running,
            count(*) filter (where state = 'failed')::int as failed
     from emanet.jobs`,
  );
  const [counts] = rows;
  if (counts === undefined) throw new Error("an aggregate returned no row");
  return counts;
}
