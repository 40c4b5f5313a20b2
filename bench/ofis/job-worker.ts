/** A worker thread: runs the jobs of a message and answers with the files that it made. */

import { parentPort, workerData } from "node:worker_threads";
import { type Job, runJob } from "./job.ts";
import type { WorkerInput } from "./run-jobs.ts";

const { root, seed } = workerData as WorkerInput;
parentPort?.on("message", (batch: readonly Job[]) => {
  parentPort?.postMessage(batch.map((job) => runJob(root, seed, job)));
});
