/** A thread of the crew: does the jobs that it is sent and answers with what became of them. */

import { parentPort, workerData } from "node:worker_threads";
import type { Assignment } from "./crew.ts";
import { doJob, type Job } from "./job.ts";

const { root, seed } = workerData as Assignment;
parentPort?.on("message", (batch: readonly Job[]) => {
  parentPort?.postMessage(batch.map((job) => doJob(root, seed, job)));
});
