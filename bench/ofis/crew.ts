/** Shares jobs out to threads, the large ones first. What comes out does not depend on who did what, nor on how many they were. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { doJob, type Job, type Made } from "./job.ts";

/** A message carries so many bytes' worth of jobs: many small files at once, a dump alone. */
const batchBytes = 8 * 1024 * 1024;

/** What a thread knows from the start. */
export interface Assignment {
  readonly root: string;
  readonly seed: number;
}

interface Crew extends Assignment {
  /** 0 does everything in this thread. */
  readonly threads: number;
  onMade(made: Made): void;
}

/** Does all jobs. `onMade` hears of each in the order in which they end. */
export async function doJobs(jobs: Iterable<Job>, crew: Crew): Promise<void> {
  const batches = batchesOf(jobs);
  if (crew.threads === 0) {
    for (const batch of batches) for (const job of batch) crew.onMade(doJob(crew.root, crew.seed, job));
    return;
  }
  await Promise.all(Array.from({ length: crew.threads }, () => work(crew, batches)));
}

async function work({ root, seed, onMade }: Crew, batches: Generator<readonly Job[]>): Promise<void> {
  const worker = new Worker(new URL("crew-thread.ts", import.meta.url), {
    workerData: { root, seed } satisfies Assignment,
  });
  try {
    for (let next = batches.next(); next.done !== true; next = batches.next()) {
      worker.postMessage(next.value);
      const [answer] = (await once(worker, "message")) as [readonly Made[]];
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
