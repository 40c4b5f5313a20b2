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
 * If a thread fails or is killed, the blocks of its open frames are lost. So every upload that has sent it a job fails with a
 * `WorkerDiedError`, and `runBackup` begins it again. Other uploads go on, and the next job starts a new thread.
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

/** A thread of the pool has ended. The upload can be repeated: what it has registered is known. */
export class WorkerDiedError extends Error {
  override readonly name = "WorkerDiedError";
}

/**
 * Limit of a thread's JavaScript heap. Buffers are outside it, and what a session keeps in a worker is bounded. With 16 MiB
 * some processes ended at the start of a thread: V8 collects no garbage while it loads its snapshot, and gives up.
 */
const threadHeapMib = 32;

export class CutWorkerPool {
  readonly #workers: LazyWorker[] = [];
  readonly #clients = new Map<number, CutWorkerClient>();
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
    const onMessage = (message: FromWorker) => this.#dispatch(index, message);
    return new LazyWorker(
      (onFailure) => start({ onMessage, onFailure }),
      (clientIds, error) => {
        for (const clientId of clientIds) this.#clients.get(clientId)?.onFailure(error);
      },
    );
  }

  #dispatch(workerIndex: number, message: FromWorker): void {
    const client = this.#clients.get(message.clientId);
    if (client !== undefined) client.onMessage(workerIndex, message);
    // The client is gone, but the worker and its shared buffers are still used by others.
    else if (message.type === "sealed") releaseFrameBuffer(message.bytes);
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
 *   idle      no job yet: nothing is sent
 *   starting  the first job came: all messages wait
 *   running   messages are sent at once
 *   closed    waiting messages are dropped
 * If the worker dies, it is idle again: the sessions of all clients are kept, and the next job starts a new one.
 */
class LazyWorker implements CutWorkerChannel {
  readonly #start: (onFailure: (error: Error) => void) => Promise<RunningWorker>;
  readonly #onDeath: (clientIds: readonly number[], error: Error) => void;
  /** The session of every client that is not closed. */
  readonly #sessions = new Map<number, ToWorker>();
  /** Clients that have sent a job to the worker as it runs now. */
  readonly #users = new Set<number>();
  #waiting: ToWorker[] = [];
  #starting: Promise<void> | null = null;
  #running: RunningWorker | null = null;
  #working = false;
  #closed = false;

  constructor(
    start: (onFailure: (error: Error) => void) => Promise<RunningWorker>,
    onDeath: (clientIds: readonly number[], error: Error) => void,
  ) {
    this.#start = start;
    this.#onDeath = onDeath;
  }

  /** A property and not a method, because callers use it detached from the object. */
  readonly send = (message: ToWorker): void => {
    if (message.type === "open") this.#sessions.set(message.session.clientId, message);
    if (message.type === "cut") this.#users.add(message.clientId);
    if (message.type === "close") {
      this.#sessions.delete(message.clientId);
      this.#users.delete(message.clientId);
    }
    if (this.#running !== null) this.#running.send(message);
    else if (this.#starting !== null) this.#waiting.push(message);
    else if (message.type === "cut") {
      // Sessions that were opened before, this one's too, come first.
      this.#waiting = [...this.#sessions.values(), message];
      this.#starting = this.#run();
    }
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
      const running = await this.#start((error) => this.#die(error));
      this.#running = running;
      if (this.#closed) return;
      running.keepAlive(this.#working);
      for (const message of this.#waiting.splice(0)) running.send(message);
    } catch (error) {
      this.#die(error);
    }
  }

  #die(cause: unknown): void {
    if (this.#closed) return;
    const affected = [...this.#users];
    this.#users.clear();
    this.#waiting = [];
    this.#starting = null;
    this.#running = null;
    this.#onDeath(affected, new WorkerDiedError("a worker thread has ended", { cause }));
  }
}

/** The imports run with the first job. They also put the thread's files into Node's compile cache before it starts. */
async function startThread(events: WorkerEvents): Promise<RunningWorker> {
  const { cutWorkerRole, cutWorkerThread } = await import("./cut-worker-thread.ts");
  const { Worker } = await import("node:worker_threads");
  const thread = new Worker(cutWorkerThread, {
    workerData: cutWorkerRole,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMib, maxYoungGenerationSizeMb: 3 },
  });
  thread.on("message", (message: FromWorker) => events.onMessage(message));
  // An error is followed by the thread's exit. A thread that was killed only exits.
  let failure: unknown = null;
  thread.on("error", (error) => {
    failure = error;
  });
  thread.on("exit", (code) =>
    events.onFailure(failure instanceof Error ? failure : new Error(`it exited with ${code}`)),
  );
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
  // It runs in this thread, so it does not end before the process does.
  const worker = new CutWorker((message) => queueMicrotask(() => events.onMessage(message)));
  return { send: (message) => worker.handle(message), keepAlive: () => {}, close: async () => {} };
}
