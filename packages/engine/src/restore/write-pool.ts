/**
 * The restore workers of a process. Jobs wait in line for a free worker; the caller bounds how many it starts. With zero
 * threads jobs run in the caller's thread.
 */

import { Worker } from "node:worker_threads";
import type { WriteAnswer, WriteJob } from "./write-station.ts";
import { writeFrame } from "./write-station.ts";
import { writeThread } from "./write-thread.ts";

/** Jobs with one worker at a time: one being written and one waiting. */
const jobsPerThread = 2;

const threadHeapMib = 32;

export class WritePool {
  readonly #threads: { readonly worker: Worker; load: number }[] = [];
  readonly #waiting = new Map<
    number,
    { resolve: (answer: WriteAnswer) => void; reject: (error: Error) => void; thread: number }
  >();
  #next = 1;
  #failure: Error | null = null;

  constructor(threads: number) {
    for (let i = 0; i < threads; i++) this.#start(i);
  }

  /** How many jobs may usefully run at a time. */
  get width(): number {
    return Math.max(1, this.#threads.length * jobsPerThread);
  }

  async run(job: Omit<WriteJob, "job">): Promise<WriteAnswer> {
    const number = this.#next++;
    if (this.#failure !== null) throw this.#failure;
    const at = this.#threads.reduce((best, { load }, i) => (load < (this.#threads[best]?.load ?? 0) ? i : best), 0);
    const thread = this.#threads[at];
    if (thread === undefined) return writeFrame({ ...job, job: number });
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
    const worker = new Worker(writeThread, {
      workerData: writeThread.href,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMib, maxYoungGenerationSizeMb: 3 },
    });
    worker.on("message", (answer: WriteAnswer) => this.#answered(answer));
    worker.on("error", (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    worker.unref();
    this.#threads[index] = { worker, load: 0 };
  }

  #answered(answer: WriteAnswer): void {
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
