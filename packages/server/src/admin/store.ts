/** All SQL of what staff see across domains: the audit trail and the jobs. Runs with row access `staff`. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { AuditRecordsRow } from "../kernel/database/rows.generated.ts";
import type { JobState } from "../kernel/jobs/index.ts";
import type { ReadTx } from "../kernel/tx.ts";

export type AuditRow = Selectable<AuditRecordsRow>;

interface AuditFilter {
  readonly account_id?: string;
  readonly action?: string;
}

/** A page of the audit records of all accounts and of the platform. */
export async function listAuditRecords(tx: ReadTx, filter: AuditFilter, page: PageStart): Promise<AuditRow[]> {
  let select = tx.db.selectFrom("audit_records").selectAll();
  if (filter.account_id !== undefined) select = select.where("account_id", "=", filter.account_id);
  if (filter.action !== undefined) select = select.where("action", "=", filter.action);
  return pageRows(select, page);
}

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
