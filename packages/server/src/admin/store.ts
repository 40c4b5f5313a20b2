/** All SQL of what staff see across domains: the jobs, the snapshots. Runs with row access `staff`. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { SnapshotsRow } from "../kernel/database/rows.generated.ts";
import type { JobState } from "../kernel/jobs/index.ts";
import type { ReadTx } from "../kernel/tx.ts";
import type { FailureCode, Status } from "../snapshots/index.ts";

/** A job without its payload and its keys, which can hold personal data. */
export interface ListedJob {
  readonly id: string;
  readonly task: string;
  readonly state: JobState;
  /** Number of the current attempt, from 1. */
  readonly attempt: number;
  /** How many workers died while they ran the job. */
  readonly crashes: number;
  readonly run_at: Date;
  readonly created_at: Date;
  readonly failed_at: Date | null;
  /** Class and code of the last error; never its message. */
  readonly error_class: string | null;
  readonly error_code: string | null;
}

/** A page, newest first. Row access `staff`: with any other the database refuses. */
export async function listJobs(
  tx: ReadTx,
  filter: { readonly task?: string; readonly state?: JobState },
  { after, take }: PageStart,
): Promise<readonly ListedJob[]> {
  const { rows } = await sql<ListedJob>`select * from emanet.list_jobs(
    ${filter.task ?? null}::text, ${filter.state ?? null}::text,
    ${after?.key ?? null}::timestamptz, ${after?.id ?? null}::uuid, ${take}::integer, ${tx.now})`.execute(tx.db);
  return rows;
}

/** A snapshot without what customers wrote: no names, no label, no metadata. */
export type ListedSnapshot = Pick<
  Selectable<SnapshotsRow>,
  | ("id" | "account_id" | "vault_id" | "source_id" | "state" | "trigger" | "created_by_kind" | "created_by_id")
  | ("size_bytes" | "stored_bytes" | "file_count" | "warning_count" | "failure_code")
  | ("verified_at" | "verification_failed_at" | "created_at" | "completed_at")
> & {
  /** Of an upload of an agent. */
  readonly agent_id: string | null;
};

export interface SnapshotFilter {
  readonly account_id?: string;
  readonly status?: Status;
  readonly failure?: FailureCode;
  /** Of this client, agent or member. */
  readonly writer_id?: string;
}

/** A page of the snapshots of all accounts, without deleted ones. */
export async function listAllSnapshots(
  tx: ReadTx,
  filter: SnapshotFilter,
  page: PageStart,
): Promise<readonly ListedSnapshot[]> {
  let select = tx.db
    .selectFrom("snapshots")
    .leftJoin("uploads", "uploads.snapshot_id", "snapshots.id")
    .select([
      ...(["snapshots.id", "snapshots.account_id", "snapshots.vault_id", "source_id", "state", "trigger"] as const),
      ...(["created_by_kind", "created_by_id", "agent_id", "size_bytes", "stored_bytes", "file_count"] as const),
      ...(["warning_count", "failure_code", "verified_at", "verification_failed_at"] as const),
      ...(["created_at", "completed_at"] as const),
    ])
    .where("state", "<>", "deleted");
  if (filter.account_id !== undefined) select = select.where("snapshots.account_id", "=", filter.account_id);
  if (filter.status !== undefined) select = select.where("state", "=", filter.status);
  if (filter.failure === "verification_failed") select = select.where("verification_failed_at", "is not", null);
  else if (filter.failure !== undefined) select = select.where("failure_code", "=", filter.failure);
  const writer = filter.writer_id;
  if (writer !== undefined)
    select = select.where((is) => is.or([is("created_by_id", "=", writer), is("agent_id", "=", writer)]));
  return pageRows(select, page, "snapshots");
}
