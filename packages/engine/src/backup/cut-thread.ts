/** A cutting worker as a thread: the station's messages over the thread's port. */

import { parentPort } from "node:worker_threads";
import { CutStation } from "./cut-station.ts";
import type { ToWorker } from "./protocol.ts";

if (parentPort === null) throw new Error("cut-thread.ts runs as a worker thread");
const port = parentPort;
const station = new CutStation((message, transfer) => port.postMessage(message, transfer));
port.on("message", (message: ToWorker) => station.handle(message));
