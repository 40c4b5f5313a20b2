/**
 * The cutting workers of a process. This is the main file of the folder.
 *
 * How a file becomes segments:
 *   1. `backup/file-scheduler.ts` plans jobs: bundles of small files, stripes of large ones. `CutJobQueue` gives each job
 *      to a worker of the pool (`cut-job-queue.ts`; the messages are in `cut-messages.ts`).
 *   2. `CutWorker` (`cut-worker.ts`) reads the bytes into a buffer and cuts them into blocks, with the cutter in
 *      WebAssembly or at page boundaries (`cutter/`). It hashes the blocks, groups them to segments and sends a portion.
 *   3. The upload (`backup/upload.ts`) decides which blocks are new and allocates frames and slots for them.
 *   4. The worker appends the new blocks to frames, and compresses and encrypts full frames (`packing/`).
 * A restore has its own workers: `restore-worker-pool.ts`, `restore-worker.ts`, `restore-job.ts`.
 *
 * A pool is used by several backups. Starting a thread takes tens of milliseconds, so a thread starts with its first
 * job; a backup that finds nothing changed starts none. With zero threads, one worker runs inside the caller's thread.
 *
 * A thread that fails, fails every session that uses it. Nothing is retried here: the backup as a whole can be repeated.
 */

import { releaseFrameBuffer } from "../packing/shared-frame-buffers.ts";
import type { FromWorker, ToWorker } from "./cut-messages.ts";

export interface CutWorkerChannel {
  send(message: ToWorker): void;
}

/** A user of the pool: one upload. It must release the memory of sealed frames. */
export interface CutWorkerClient {
  onMessage(workerIndex: number, message: FromWorker): void;
  onFailure(error: Error): void;
}

/** Limit of a thread's JavaScript heap. Buffers are outside it, and what a session keeps in a worker is bounded. */
const threadHeapMib = 16;

export class CutWorkerPool {
  readonly #workers: LazyWorker[] = [];
  readonly #clients = new Map<number, CutWorkerClient>();
  #failure: Error | null = null;
  #lastClientId = 0;

  /** `onStart` is called before a thread is started. */
  constructor(threads: number, onStart: () => void = () => {}) {
    const start: StartWorker = (events) => {
      onStart();
      return startThread(events);
    };
    for (let i = 0; i < threads; i++) this.#workers.push(this.#worker(i, start));
    if (threads === 0) this.#workers.push(this.#worker(0, startInline));
  }

  get workers(): readonly CutWorkerChannel[] {
    return this.#workers;
  }

  /** Returns the client's id. Answers to messages with this id go to the client until it is removed. */
  addClient(client: CutWorkerClient): number {
    if (this.#failure !== null) throw this.#failure;
    const clientId = ++this.#lastClientId;
    this.#clients.set(clientId, client);
    // An idle pool must not keep the process alive, a working one must.
    for (const worker of this.#workers) worker.keepAlive(true);
    return clientId;
  }

  removeClient(clientId: number): void {
    this.#clients.delete(clientId);
    if (this.#clients.size === 0) for (const worker of this.#workers) worker.keepAlive(false);
    for (const worker of this.#workers) worker.send({ type: "close", clientId });
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  #worker(index: number, start: StartWorker): LazyWorker {
    const events = {
      onMessage: (message: FromWorker) => this.#dispatch(index, message),
      onFailure: (error: Error) => this.#fail(error),
    };
    return new LazyWorker(() => start(events), events.onFailure);
  }

  #dispatch(workerIndex: number, message: FromWorker): void {
    const client = this.#clients.get(message.clientId);
    if (client !== undefined) client.onMessage(workerIndex, message);
    // The client is gone, but the worker and its shared buffers are still used by others.
    else if (message.type === "sealed") releaseFrameBuffer(message.bytes);
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const client of this.#clients.values()) client.onFailure(error);
  }
}

/** A worker that has been started, in a thread or inline. */
interface RunningWorker {
  send(message: ToWorker): void;
  keepAlive(working: boolean): void;
  close(): Promise<void>;
}

interface WorkerEvents {
  onMessage(message: FromWorker): void;
  onFailure(error: Error): void;
}

type StartWorker = (events: WorkerEvents) => Promise<RunningWorker>;

/**
 * A worker that is started by its first job. States:
 *   idle      no job yet: `open` messages wait, and a `close` removes the `open` of the same client
 *   starting  the first job came: all messages wait
 *   running   messages are sent at once
 *   closed    waiting messages are dropped
 */
class LazyWorker implements CutWorkerChannel {
  readonly #start: () => Promise<RunningWorker>;
  readonly #onFailure: (error: Error) => void;
  #waiting: ToWorker[] = [];
  #starting: Promise<void> | null = null;
  #running: RunningWorker | null = null;
  #working = false;
  #closed = false;

  constructor(start: () => Promise<RunningWorker>, onFailure: (error: Error) => void) {
    this.#start = start;
    this.#onFailure = onFailure;
  }

  /** A property and not a method, because callers use it detached from the object. */
  readonly send = (message: ToWorker): void => {
    if (this.#running !== null) {
      this.#running.send(message);
      return;
    }
    if (this.#starting === null && message.type === "close") {
      this.#waiting = this.#waiting.filter(
        (each) => each.type !== "open" || each.session.clientId !== message.clientId,
      );
      return;
    }
    this.#waiting.push(message);
    if (message.type === "cut") this.#starting ??= this.#run();
  };

  keepAlive(working: boolean): void {
    this.#working = working;
    this.#running?.keepAlive(working);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#starting;
    await this.#running?.close();
  }

  async #run(): Promise<void> {
    try {
      const running = await this.#start();
      this.#running = running;
      if (this.#closed) return;
      running.keepAlive(this.#working);
      for (const message of this.#waiting.splice(0)) running.send(message);
    } catch (error) {
      this.#onFailure(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** The imports run with the first job. They also put the thread's files into Node's compile cache before it starts. */
async function startThread(events: WorkerEvents): Promise<RunningWorker> {
  const { cutWorkerThread } = await import("./cut-worker-thread.ts");
  const { Worker } = await import("node:worker_threads");
  const thread = new Worker(cutWorkerThread, {
    workerData: cutWorkerThread.href,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMib, maxYoungGenerationSizeMb: 3 },
  });
  thread.on("message", (message: FromWorker) => events.onMessage(message));
  thread.on("error", (error) => events.onFailure(error instanceof Error ? error : new Error(String(error))));
  return {
    send: (message) => thread.postMessage(message),
    keepAlive: (working) => (working ? thread.ref() : thread.unref()),
    close: async () => {
      await thread.terminate();
    },
  };
}

async function startInline(events: WorkerEvents): Promise<RunningWorker> {
  const { CutWorker } = await import("./cut-worker.ts");
  const worker = new CutWorker((message) => queueMicrotask(() => events.onMessage(message)));
  return { send: (message) => worker.handle(message), keepAlive: () => {}, close: async () => {} };
}
