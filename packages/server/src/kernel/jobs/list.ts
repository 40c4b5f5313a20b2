/** Jobs as staff see them: waiting, running and failed, without payloads and keys, which can hold personal data. */

import { sql } from "kysely";
import type { PageStart } from "../cursors.ts";
import type { Tx } from "../tx.ts";

export const jobStates = ["scheduled", "queued", "running", "failed"] as const;
export type JobState = (typeof jobStates)[number];

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
  tx: Pick<Tx, "db">,
  filter: { readonly task?: string; readonly state?: JobState },
  { after, take }: PageStart,
): Promise<readonly ListedJob[]> {
  const { rows } = await sql<ListedJob>`select * from emanet.list_jobs(
    ${filter.task ?? null}::text, ${filter.state ?? null}::text,
    ${after?.key ?? null}::timestamptz, ${after?.id ?? null}::uuid, ${take}::integer)`.execute(tx.db);
  return rows;
}
