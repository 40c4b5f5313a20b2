/**
 * The worker pool of restores, downloads and upkeep: its jobs open frames, seal frames for upkeep, and inflate what
 * clients send. A job goes to the worker with the fewest jobs; the caller bounds how many it runs at a time. Threads are started when there is enough work: starting one costs more than writing a small file.
 * Without threads, jobs run in the caller's thread.
 *
 * If a thread dies, the jobs that it had fail. All other jobs go on, and the next job may start a new thread.
 */

import { Worker } from "node:worker_threads";
import type { InflatePartsJob, InflatePartsResult } from "./inflate-parts.ts";
import type { OpenFramesJob, OpenFramesResult } from "./open-frames.ts";
import type { RestoreJob, RestoreJobResult } from "./restore-job.ts";
import type { WorkerJob, WorkerResult } from "./restore-worker-thread.ts";
import { restoreWorkerRole, restoreWorkerThread, runJob } from "./restore-worker-thread.ts";
import type { SealBlocksJob, SealBlocksResult } from "./seal-blocks.ts";

/** Jobs per worker: one being written and two waiting, so that a worker does not wait for the planning thread. */
const jobsPerThread = 3;

const threadHeapMib = 32;

/** Restoring this much takes as long as starting a thread does. */
const bytesPerThread = 16 * 1024 * 1024;

interface WaitingJob {
  readonly resolve: (result: WorkerResult) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly waiting: Map<number, WaitingJob>;
}

export class RestoreWorkerPool {
  readonly #maxThreads: number;
  readonly #threads: Thread[] = [];
  #next = 1;

  /** At most this many threads; with zero, jobs run in the caller's thread. */
  constructor(threads: number) {
    this.#maxThreads = threads;
  }

  /** How many jobs may usefully run at a time. */
  get maxParallelJobs(): number {
    return Math.max(1, this.#threads.length * jobsPerThread);
  }

  get hasThreads(): boolean {
    return this.#threads.length > 0;
  }

  /** Starts as many threads as are worth it for this many bytes. */
  startThreadsFor(bytes: number): void {
    const wanted = Math.min(this.#maxThreads, Math.floor(bytes / bytesPerThread));
    while (this.#threads.length < wanted) this.#threads.push(this.#start());
  }

  /** Opens frames and writes their blocks to files. */
  run(job: Omit<RestoreJob, "job">): Promise<RestoreJobResult> {
    return this.#submit({ ...job, kind: "write", job: this.#next++ }) as Promise<RestoreJobResult>;
  }

  /** Opens frames and returns their blocks. */
  open(job: Omit<OpenFramesJob, "job">): Promise<OpenFramesResult> {
    return this.#submit({ ...job, kind: "open", job: this.#next++ }) as Promise<OpenFramesResult>;
  }

  /** Seals blocks as a data frame. */
  seal(job: Omit<SealBlocksJob, "job">): Promise<SealBlocksResult> {
    return this.#submit({ ...job, kind: "seal", job: this.#next++ }) as Promise<SealBlocksResult>;
  }

  /** Checks parts of a file, and inflates those that are deflated into another file. */
  inflate(job: Omit<InflatePartsJob, "job">): Promise<InflatePartsResult> {
    return this.#submit({ ...job, kind: "inflate", job: this.#next++ }) as Promise<InflatePartsResult>;
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  async #submit(job: WorkerJob): Promise<WorkerResult> {
    const [first, ...others] = this.#threads;
    if (first === undefined) return runJob(job);
    const thread = others.reduce((best, each) => (each.waiting.size < best.waiting.size ? each : best), first);
    thread.worker.ref();
    return new Promise((resolve, reject) => {
      thread.waiting.set(job.job, { resolve, reject });
      thread.worker.postMessage(job, job.kind === "inflate" ? [] : transferable(bytesOf(job)));
    });
  }

  #start(): Thread {
    const worker = new Worker(restoreWorkerThread, {
      workerData: restoreWorkerRole,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMib, maxYoungGenerationSizeMb: 3 },
    });
    const thread: Thread = { worker, waiting: new Map() };
    worker.on("message", (result: WorkerResult) => {
      thread.waiting.get(result.job)?.resolve(result);
      thread.waiting.delete(result.job);
      if (thread.waiting.size === 0) worker.unref();
    });
    worker.on("error", (error) => this.#end(thread, error instanceof Error ? error : new Error(String(error))));
    worker.on("exit", (code) => this.#end(thread, new Error(`a restore worker ended with code ${code}`)));
    worker.unref();
    return thread;
  }

  /** Removes a dead thread and fails its jobs. */
  #end(thread: Thread, error: Error): void {
    const at = this.#threads.indexOf(thread);
    if (at >= 0) this.#threads.splice(at, 1);
    for (const { reject } of thread.waiting.values()) reject(error);
    thread.waiting.clear();
  }
}

function bytesOf(job: Exclude<WorkerJob, { readonly kind: "inflate" }>): Uint8Array {
  return job.kind === "seal" ? job.blocks : job.sealed;
}

/** The memory to transfer instead of copying: only if it holds these bytes and nothing else. */
function transferable({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
