/**
 * The restore workers of a process. A job goes to the worker with the fewest jobs; the caller bounds how many it runs at
 * a time. Threads are started when there is enough work: starting one costs more than writing a small file. Without
 * threads, jobs run in the caller's thread.
 */

import { Worker } from "node:worker_threads";
import type { RestoreJob, RestoreJobResult } from "./restore-job.ts";
import { writeFrames } from "./restore-worker.ts";
import { restoreWorkerThread } from "./restore-worker-thread.ts";

/** Jobs per worker: one being written and two waiting, so that a worker does not wait for the planning thread. */
const jobsPerThread = 3;

const threadHeapMib = 32;

/** Restoring this much takes as long as starting a thread does. */
const bytesPerThread = 16 * 1024 * 1024;

export class RestoreWorkerPool {
  readonly #maxThreads: number;
  readonly #threads: { readonly worker: Worker; load: number }[] = [];
  readonly #waiting = new Map<
    number,
    { resolve: (result: RestoreJobResult) => void; reject: (error: Error) => void; thread: number }
  >();
  #next = 1;
  #failure: Error | null = null;

  /** At most this many threads; with zero, jobs run in the caller's thread. */
  constructor(threads: number) {
    this.#maxThreads = threads;
  }

  /** How many jobs may usefully run at a time. */
  get maxParallelJobs(): number {
    return Math.max(1, this.#threads.length * jobsPerThread);
  }

  /** Starts as many threads as are worth it for this many bytes. */
  startThreadsFor(bytes: number): void {
    const wanted = Math.min(this.#maxThreads, Math.floor(bytes / bytesPerThread));
    while (this.#threads.length < wanted) this.#start(this.#threads.length);
  }

  async run(job: Omit<RestoreJob, "job">): Promise<RestoreJobResult> {
    const number = this.#next++;
    if (this.#failure !== null) throw this.#failure;
    const at = this.#threads.reduce((best, { load }, i) => (load < (this.#threads[best]?.load ?? 0) ? i : best), 0);
    const thread = this.#threads[at];
    if (thread === undefined) return writeFrames({ ...job, job: number });
    thread.load++;
    thread.worker.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject, thread: at });
      thread.worker.postMessage({ ...job, job: number }, transferable(job.sealed));
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  #start(index: number): void {
    const worker = new Worker(restoreWorkerThread, {
      workerData: restoreWorkerThread.href,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMib, maxYoungGenerationSizeMb: 3 },
    });
    worker.on("message", (result: RestoreJobResult) => this.#onResult(result));
    worker.on("error", (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    worker.unref();
    this.#threads[index] = { worker, load: 0 };
  }

  #onResult(result: RestoreJobResult): void {
    const waiting = this.#waiting.get(result.job);
    if (waiting === undefined) return;
    this.#waiting.delete(result.job);
    const thread = this.#threads[waiting.thread];
    if (thread !== undefined && --thread.load === 0) thread.worker.unref();
    waiting.resolve(result);
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** The memory to transfer instead of copying: only if it holds these bytes and nothing else. */
function transferable({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
