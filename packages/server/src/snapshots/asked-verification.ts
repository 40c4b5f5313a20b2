/** A verification that a person or a program asked for: how far its job is. */

import { jobStatus } from "../kernel/jobs/index.ts";
import type { ReadTx } from "../kernel/tx.ts";
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
