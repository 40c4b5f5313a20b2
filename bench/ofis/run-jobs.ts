/** Runs jobs on worker threads. The files do not depend on the number of threads or on which thread made which file. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { type Job, type MadeFile, runJob } from "./job.ts";

/** Jobs for so many bytes go into one message: many small files together, a database dump alone. */
const batchBytes = 8 * 1024 * 1024;

/** What a worker gets when it starts. */
export interface WorkerInput {
  readonly root: string;
  readonly seed: number;
}

interface RunOptions extends WorkerInput {
  /** 0 runs everything in this thread. */
  readonly threads: number;
  onMade(made: MadeFile): void;
}

/** Runs all jobs. `onMade` is called for each, in the order in which they end. */
export async function runJobs(jobs: Iterable<Job>, options: RunOptions): Promise<void> {
  const batches = batchesOf(jobs);
  if (options.threads === 0) {
    for (const batch of batches) for (const job of batch) options.onMade(runJob(options.root, options.seed, job));
    return;
  }
  await Promise.all(Array.from({ length: options.threads }, () => work(options, batches)));
}

async function work({ root, seed, onMade }: RunOptions, batches: Generator<readonly Job[]>): Promise<void> {
  const worker = new Worker(new URL("job-worker.ts", import.meta.url), {
    workerData: { root, seed } satisfies WorkerInput,
  });
  try {
    for (let next = batches.next(); next.done !== true; next = batches.next()) {
      worker.postMessage(next.value);
      const [answer] = (await once(worker, "message")) as [readonly MadeFile[]];
      for (const made of answer) onMade(made);
    }
  } finally {
    await worker.terminate();
  }
}

function* batchesOf(jobs: Iterable<Job>): Generator<readonly Job[]> {
  let batch: Job[] = [];
  let weight = 0;
  for (const job of jobs) {
    batch.push(job);
    weight += job.weight;
    if (weight < batchBytes) continue;
    yield batch;
    batch = [];
    weight = 0;
  }
  if (batch.length > 0) yield batch;
}
