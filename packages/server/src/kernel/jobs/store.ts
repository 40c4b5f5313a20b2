/**
 * The database session of a worker. It holds the worker's advisory lock, and the worker takes and ends jobs only through
 * it. So a worker without the lock changes nothing. Migration 0014 has the states of a job, 0017 the functions.
 */

import type { Pool, PoolClient } from "pg";
import type { ClaimedJob, JobColumns } from "./outcome.ts";

/** A session that does not answer for so long is replaced. Statements take milliseconds. */
const answerMs = 5_000;

/** With its new columns; null: the row is deleted. */
export type EndedJob = { readonly id: string; readonly row: JobColumns | null };

export class JobStore {
  readonly #client: PoolClient;
  readonly #worker: number;
  readonly #tasks: readonly string[];

  constructor(client: PoolClient, worker: number, tasks: readonly string[], notice: (text: string) => void) {
    this.#client = client;
    this.#worker = worker;
    this.#tasks = tasks;
    client.on("notification", ({ payload }) => notice(payload ?? ""));
    for (const lost of ["error", "end"] as const) client.on(lost, () => notice("lost"));
  }

  /** Ends the session, and with it the lock. */
  close(): void {
    this.#client.release(true);
  }

  /** Takes the lock, gives back jobs of this worker that are not `kept`, returns the others and which are canceled. */
  async enter(kept: readonly string[], recurring: readonly object[], now: Date): Promise<ReadonlyMap<string, boolean>> {
    // A machine that lost its power is noticed in half a minute, not in two hours.
    const settings = "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3";
    await this.#client.query(`${settings}; listen emanet_jobs`);
    type Row = { job_id: string; is_canceled: boolean };
    const rows = await this.#call<Row>("enter_job_worker($1, $2, $3, $4)", kept, JSON.stringify(recurring), now);
    return new Map(rows.map((row) => [row.job_id, row.is_canceled]));
  }

  /** Writes outcomes and progress, and takes due jobs: at most `free`, and so that at most `low` of low priority run. */
  async turn(ended: readonly EndedJob[], progress: readonly object[], [free, low]: readonly number[], now: Date) {
    type Row = { written: string[] | null; locked: string[] | null; taken: ClaimedJob[] | null; due: Date | null };
    const ids = ended.map(({ id }) => id);
    const kept = ended.flatMap(({ id, row }) => (row === null ? [] : { id, ...row }));
    const values = [ids, JSON.stringify(kept), JSON.stringify(progress), free, low, now, this.#tasks];
    const [row] = await this.#call<Row>("job_turn($1, $2, $3, $4, $5, $6, $7, $8)", ...values);
    const taken = (row?.taken ?? []).map((job) => ({ ...job, run_at: new Date(job.run_at) }));
    return { written: new Set(row?.written), locked: new Set(row?.locked), taken, due: row?.due };
  }

  /** Takes back the jobs of the workers `lost` that are dead. Whether others are alive, and which dead ones have jobs. */
  async check(lost: readonly number[]) {
    type Row = { readonly recovered: number; readonly alive: boolean; readonly dead: readonly number[] };
    return (await this.#call<Row>("check_job_workers($1, $2)", lost))[0];
  }

  async #call<Row>(call: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    const text = `select * from emanet.${call}`;
    const query = { name: call, text, values: [this.#worker, ...values], query_timeout: answerMs };
    return (await this.#client.query(query)).rows as Row[];
  }
}

/** How many jobs are in which state, for the metrics. */
export async function countJobs(pool: Pool, now: Date) {
  const sql = "select emanet.job_state(jobs, $1) as state, count(*)::integer as count from emanet.jobs group by 1";
  const { rows } = await pool.query<{ state: string; count: number }>(sql, [now]);
  const counts = Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  return { scheduled: 0, queued: 0, running: 0, failed: 0, ...counts };
}
