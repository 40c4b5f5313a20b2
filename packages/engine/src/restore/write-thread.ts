/** A restore worker as a thread. */

import { parentPort } from "node:worker_threads";
import type { WriteJob } from "./write-station.ts";
import { writeFrame } from "./write-station.ts";

if (parentPort === null) throw new Error("write-thread.ts runs as a worker thread");
const port = parentPort;
port.on("message", (job: WriteJob) => port.postMessage(writeFrame(job)));
