/**
 * A cutting worker as a thread: the station's messages over the thread's port. Elsewhere it is imported for its address
 * only, which also brings it into Node's compile cache before the first thread starts.
 */

import { parentPort, workerData } from "node:worker_threads";
import type { ToWorker } from "./cut-messages.ts";
import { CutWorker } from "./cut-worker.ts";

/** Where a thread starts, and what it is started with. */
export const cutWorkerThread = new URL(import.meta.url);

if (parentPort !== null && workerData === cutWorkerThread.href) {
  const port = parentPort;
  const station = new CutWorker((message, transfer) => port.postMessage(message, transfer));
  port.on("message", (message: ToWorker) => station.handle(message));
}
