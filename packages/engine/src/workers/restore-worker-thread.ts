/** A restore worker as a thread: runs jobs one after the other. */

import { parentPort, workerData } from "node:worker_threads";
import type { OpenFramesJob, OpenFramesResult } from "./open-frames.ts";
import { openFrames, transferableFrames } from "./open-frames.ts";
import type { RestoreJob, RestoreJobResult } from "./restore-job.ts";
import { writeFrames } from "./restore-worker.ts";

export type WorkerJob = (RestoreJob & { readonly kind: "write" }) | (OpenFramesJob & { readonly kind: "open" });
export type WorkerResult = RestoreJobResult | OpenFramesResult;

/** The entry file of the thread, and also its `workerData`, by which the thread knows that it was started as a worker. */
export const restoreWorkerThread = new URL(import.meta.url);

export function runJob(job: WorkerJob): WorkerResult {
  return job.kind === "write" ? writeFrames(job) : openFrames(job);
}

if (parentPort !== null && workerData === restoreWorkerThread.href) {
  const port = parentPort;
  port.on("message", (job: WorkerJob) => {
    const result = runJob(job);
    port.postMessage(result, "frames" in result ? transferableFrames(result) : []);
  });
}
