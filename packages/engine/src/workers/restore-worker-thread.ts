/** A restore worker as a thread. Other modules import this file only for its URL. */

import { parentPort, workerData } from "node:worker_threads";
import type { RestoreJob } from "./restore-job.ts";
import { writeFrames } from "./restore-worker.ts";

/** The entry file of the thread, and also its `workerData`, by which the thread knows that it was started as a worker. */
export const restoreWorkerThread = new URL(import.meta.url);

if (parentPort !== null && workerData === restoreWorkerThread.href) {
  const port = parentPort;
  port.on("message", (job: RestoreJob) => port.postMessage(writeFrames(job)));
}
