/**
 * A cutting worker as a thread: connects `CutWorker` to the thread's message port. Other modules import this file only
 * for its URL, which also puts it into Node's compile cache before the first thread starts.
 */

import { parentPort, workerData } from "node:worker_threads";
import type { ToWorker } from "./cut-messages.ts";
import { CutWorker } from "./cut-worker.ts";

/** The entry file of the thread. */
export const cutWorkerThread = new URL(import.meta.url);

/** By this `workerData` the thread knows what it is: in a bundle one file holds all threads. */
export const cutWorkerRole = "emanet cut worker";

if (parentPort !== null && workerData === cutWorkerRole) {
  const port = parentPort;
  const worker = new CutWorker((message, transfer) => port.postMessage(message, transfer));
  port.on("message", (message: ToWorker) => worker.handle(message));
}
