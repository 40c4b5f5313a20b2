/** A restore worker as a thread. Elsewhere it is imported for its address only, as `cut-thread.ts` is. */

import { parentPort, workerData } from "node:worker_threads";
import type { RestoreJob } from "./restore-job.ts";
import { writeFrames } from "./restore-worker.ts";

/** Where a thread starts, and what it is started with. */
export const restoreWorkerThread = new URL(import.meta.url);

if (parentPort !== null && workerData === restoreWorkerThread.href) {
  const port = parentPort;
  port.on("message", (job: RestoreJob) => port.postMessage(writeFrames(job)));
}
