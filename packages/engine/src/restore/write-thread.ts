/** A restore worker as a thread. Elsewhere it is imported for its address only, as `cut-thread.ts` is. */

import { parentPort, workerData } from "node:worker_threads";
import type { WriteJob } from "./write-job.ts";
import { writeFrames } from "./write-station.ts";

/** Where a thread starts, and what it is started with. */
export const writeThread = new URL(import.meta.url);

if (parentPort !== null && workerData === writeThread.href) {
  const port = parentPort;
  port.on("message", (job: WriteJob) => port.postMessage(writeFrames(job)));
}
