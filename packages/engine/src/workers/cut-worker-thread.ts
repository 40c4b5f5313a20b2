/**
 * A cutting worker as a thread: connects `CutWorker` to the thread's message port. Other modules import this file only
 * for its URL, which also puts it into Node's compile cache before the first thread starts.
 */

import { parentPort, workerData } from "node:worker_threads";
import type { ToWorker } from "./cut-messages.ts";
import { CutWorker } from "./cut-worker.ts";

/** The entry file of the thread, and also its `workerData`, by which the thread knows that it was started as a worker. */
export const cutWorkerThread = new URL(import.meta.url);

if (parentPort !== null && workerData === cutWorkerThread.href) {
  const port = parentPort;
  const worker = new CutWorker((message, transfer) => port.postMessage(message, transfer));
  port.on("message", (message: ToWorker) => worker.handle(message));
}
