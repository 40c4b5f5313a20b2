/** What a transaction reads and cancels of the queue. The caller checks whose job it is. */

import { type Selectable, sql } from "kysely";
import type { JobsRow } from "../database/rows.generated.ts";
import type { Tx } from "../tx.ts";
import type { JobProgress } from "./task.ts";

export const jobStates = ["scheduled", "queued", "running", "failed"] as const;
export type JobState = (typeof jobStates)[number];

/** `canceled` is true for a running job that has not ended yet. `progress` is what its attempt reported last. */
type JobStatus = Pick<Selectable<JobsRow>, "attempt" | "canceled" | "error_code"> & {
  readonly state: JobState;
  readonly progress: JobProgress | null;
};

/** Undefined for a job that is done, canceled or was never there. */
export async function jobStatus(tx: Pick<Tx, "db" | "now">, jobId: string): Promise<JobStatus | undefined> {
  return (await sql<JobStatus>`select * from emanet.job_status(${jobId}, ${tx.now})`.execute(tx.db)).rows[0];
}

/**
 * Cancels a job when the transaction commits. `canceled`: it was waiting and is gone. `canceling`: it runs; its signal
 * aborts, and no further attempt follows. Null: it is done, failed, or was never there.
 */
export async function cancelJob(tx: Pick<Tx, "db">, jobId: string) {
  type Row = { readonly outcome: "canceled" | "canceling" | null };
  return (await sql<Row>`select emanet.cancel_job(${jobId}) as outcome`.execute(tx.db)).rows[0]?.outcome ?? null;
}

/** Makes every worker read the clock again when the transaction commits; for a clock that the database stores. */
export async function notifyClockMoved(tx: Pick<Tx, "db">): Promise<void> {
  await sql`select pg_notify('emanet_jobs', 'clock')`.execute(tx.db);
}
