/**
 * The database session of a worker. It holds the worker's advisory lock, and the worker takes and ends jobs only through
 * it. So a worker without the lock is dead and changes nothing. The functions that it calls, and the states of a job, are
 * in migration 0014. All of it runs as the owner of the table.
 */

import type { Pool, PoolClient } from "pg";
import type { JobColumns } from "./outcome.ts";

/** Class of the workers' advisory locks: "jobs" in ASCII. The functions of the database have the same number. */
const lockClass = 0x6a6f6273;
/** A session that does not answer for so long is replaced. Statements take milliseconds. */
const answerMs = 5_000;
/** The key of the one job that a recurring task has. */
export const recurringKey = "@recurring";

export interface ClaimedJob extends JobColumns {
  readonly id: string;
  readonly task: string;
  readonly key: string | null;
  readonly priority: number;
  readonly payload: unknown;
  readonly canceled: boolean;
}

/** A job whose attempt ended, with its new columns; null: its row is deleted. */
export interface EndedJob {
  readonly id: string;
  readonly row: JobColumns | null;
}

export class JobStore {
  readonly #client: PoolClient;
  readonly #worker: number;

  private constructor(client: PoolClient, worker: number) {
    this.#client = client;
    this.#worker = worker;
  }

  /** Opens the session. Throws when the database does not answer or the worker's last session has not ended yet. */
  static async open(pool: Pool, worker: number, on: { notice(text: string): void; lost(): void }): Promise<JobStore> {
    const client = await pool.connect();
    const store = new JobStore(client, worker);
    client.on("notification", ({ payload }) => on.notice(payload ?? ""));
    client.on("error", on.lost).on("end", on.lost);
    try {
      // A machine that lost its power is noticed in half a minute, not in two hours.
      const settings = "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3";
      await client.query(`${settings}; listen emanet_jobs`);
      const [lock] = await store.#call<{ held: boolean }>("pg_try_advisory_lock($1, $2) as held", lockClass, worker);
      if (lock?.held !== true) throw new Error("the lock of the worker is taken");
      return store;
    } catch (error) {
      store.close();
      throw error;
    }
  }

  /** Ends the session, and with it the lock. */
  close(): void {
    this.#client.release(true);
  }

  /** Gives back jobs of this worker that are not `kept`. Returns those that are, and whether each was canceled. */
  async enter(kept: readonly string[], recurring: readonly object[], now: Date): Promise<ReadonlyMap<string, boolean>> {
    type Row = { job_id: string; is_canceled: boolean };
    const call = "emanet.enter_job_worker($1, $2, $3, $4)";
    const rows = await this.#call<Row>(call, this.#worker, kept, JSON.stringify(recurring), now);
    return new Map(rows.map((row) => [row.job_id, row.is_canceled]));
  }

  /** Writes outcomes and takes jobs: at most `limits` in all, of priority normal and of priority low. */
  async turn(ended: readonly EndedJob[], limits: readonly number[], now: Date, tasks: readonly string[]) {
    type Row = { written: string[] | null; locked: string[] | null; taken: ClaimedJob[] | null };
    const outcomes = ended.map(({ id, row }) => ({ id, keep: row !== null, ...row }));
    const call = "emanet.job_turn($1, $2, $3, $4, $5)";
    const [row] = await this.#call<Row>(call, this.#worker, JSON.stringify(outcomes), limits, now, tasks);
    const taken = (row?.taken ?? []).map((job) => ({ ...job, run_at: new Date(job.run_at) }));
    return { written: new Set(row?.written), locked: new Set(row?.locked), taken };
  }

  async nextDue(tasks: readonly string[]): Promise<Date | undefined> {
    const [row] = await this.#call<{ at: Date | null }>("emanet.next_job_due($1) as at", tasks);
    return row?.at ?? undefined;
  }

  async saveProgress(items: readonly object[]): Promise<void> {
    await this.#call("emanet.save_job_progress($1, $2)", this.#worker, JSON.stringify(items));
  }

  /** Whether other workers are alive, and which dead ones have jobs. */
  async others(): Promise<{ readonly alive: boolean; readonly dead: readonly number[] }> {
    type Row = { alive: boolean; dead: number[] };
    const [row] = await this.#call<Row>("emanet.other_job_workers($1)", this.#worker);
    return row ?? { alive: false, dead: [] };
  }

  /** Takes back the jobs of a dead worker. Returns their number. */
  async recover(worker: number): Promise<number> {
    const [row] = await this.#call<{ count: number }>("emanet.recover_jobs($1) as count", worker);
    return row?.count ?? 0;
  }

  async #call<Row>(call: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    const query = { name: call, text: `select * from ${call}`, values: [...values], query_timeout: answerMs };
    return (await this.#client.query(query)).rows as Row[];
  }
}

export type JobCounts = Readonly<Record<"scheduled" | "queued" | "running" | "failed", number>>;

/** How many jobs are in which state, for the metrics. */
export async function countJobs(pool: Pool, now: Date): Promise<JobCounts> {
  const sql = "select emanet.job_state(jobs, $1) as state, count(*)::integer as count from emanet.jobs group by 1";
  const { rows } = await pool.query<{ state: string; count: number }>(sql, [now]);
  const counts = Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  return { scheduled: 0, queued: 0, running: 0, failed: 0, ...counts };
}

/** Removes payloads of jobs that failed before one moment, and the jobs that failed before another. Returns how many. */
export async function purgeFailed(pool: Pool, payloadsBefore: Date, jobsBefore: Date): Promise<number> {
  const sql = "select emanet.purge_failed_jobs($1, $2) as count";
  const { rows } = await pool.query<{ count: number }>(sql, [payloadsBefore, jobsBefore]);
  return rows[0]?.count ?? 0;
}
