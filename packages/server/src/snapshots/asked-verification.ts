/** A verification that a person or a program asked for: how far its job is. */

import { jobStatus } from "../kernel/jobs/index.ts";
import type { ReadTx } from "../kernel/tx.ts";
import { showSnapshot } from "./shapes.ts";
import type { SnapshotRecord } from "./store.ts";

export interface AskedVerification {
  readonly status: "queued" | "running";
  readonly checked_files: number;
}

/** Null when none is waiting or running. */
export async function askedVerification(
  tx: ReadTx,
  { verify_job_id: jobId }: Pick<SnapshotRecord, "verify_job_id">,
): Promise<AskedVerification | null> {
  const job = jobId === null ? undefined : await jobStatus(tx, jobId);
  if (job === undefined || job.state === "failed") return null;
  return { status: job.state === "running" ? "running" : "queued", checked_files: job.progress?.files ?? 0 };
}

/** A snapshot as `GET` shows it: `If-Match` is about this. */
export async function shownWithVerification(
  tx: ReadTx,
  record: SnapshotRecord,
  viewer: Parameters<typeof showSnapshot>[1],
) {
  return { ...showSnapshot(record, viewer), verification: await askedVerification(tx, record) };
}
