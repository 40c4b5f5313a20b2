/**
 * The restore workers of a process. Jobs wait in line for a free worker; the caller bounds how many it starts. Threads are
 * started when there is work for them: a thread costs more than writing one small file. Without threads, jobs run in the
 * caller's.
 */

import { Worker } from "node:worker_threads";
import type { RestoreJob, RestoreJobResult } from "./restore-job.ts";
import { writeFrames } from "./restore-worker.ts";
import { restoreWorkerThread } from "./restore-worker-thread.ts";

/** Jobs with one worker at a time: one being written, two waiting, so that nobody waits for the planner's turn. */
const jobsPerThread = 3;

const threadHeapMib = 32;

/** Restoring this much takes as long as starting a thread does. */
const bytesPerThread = 16 * 1024 * 1024;

export class RestoreWorkerPool {
  readonly #most: number;
  readonly #threads: { readonly worker: Worker; load: number }[] = [];
  readonly #waiting = new Map<
    number,
    { resolve: (answer: RestoreJobResult) => void; reject: (error: Error) => void; thread: number }
  >();
  #next = 1;
  #failure: Error | null = null;

  /** At most this many threads; with zero, jobs run in the caller's. */
  constructor(threads: number) {
    this.#most = threads;
  }

  /** How many jobs may usefully run at a time. */
  get width(): number {
    return Math.max(1, this.#threads.length * jobsPerThread);
  }

  /** Says that this many bytes are going to be written, and starts the threads that are worth it. */
  expect(bytes: number): void {
    const wanted = Math.min(this.#most, Math.floor(bytes / bytesPerThread));
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
      thread.worker.postMessage({ ...job, job: number }, ownMemory(job.sealed));
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
    worker.on("message", (answer: RestoreJobResult) => this.#answered(answer));
    worker.on("error", (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    worker.unref();
    this.#threads[index] = { worker, load: 0 };
  }

  #answered(answer: RestoreJobResult): void {
    const waiting = this.#waiting.get(answer.job);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.job);
    const thread = this.#threads[waiting.thread];
    if (thread !== undefined && --thread.load === 0) thread.worker.unref();
    waiting.resolve(answer);
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** What can be handed over instead of copied: memory that holds these bytes and nothing else. */
function ownMemory({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
