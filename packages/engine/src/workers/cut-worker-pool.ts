/**
 * The cutting workers of a process. A pool outlives backups: starting a thread costs tens of milliseconds, so a thread
 * is started with its first job and not before; a backup that finds nothing changed has none. With zero threads the one
 * station runs inside the caller's thread.
 *
 * A thread that dies fails every session that uses it; nothing is retried here, the backup as a whole is repeatable.
 */

import type { FromWorker, ToWorker } from "./cut-messages.ts";
import { releaseArea } from "./frame-areas.ts";

export interface CutWorkerChannel {
  send(message: ToWorker): void;
}

/** What a session hears from its workers. A sealed frame's memory is the listener's, until it empties the area. */
export interface CutWorkerListener {
  heard(lane: number, message: FromWorker): void;
  died(error: Error): void;
}

/** Memory of a thread's JavaScript heap; buffers are outside it. What a session keeps in a worker is bounded. */
const threadHeapMib = 16;

export class CutWorkerPool {
  readonly #lanes: Lane[] = [];
  readonly #listeners = new Map<number, CutWorkerListener>();
  #failure: Error | null = null;
  #routes = 0;

  /** `starting` is called before a thread is started. */
  constructor(threads: number, starting: () => void = () => {}) {
    const start: StartWorker = (events) => {
      starting();
      return startThread(events);
    };
    for (let i = 0; i < threads; i++) this.#lanes.push(this.#lane(i, start));
    if (threads === 0) this.#lanes.push(this.#lane(0, startInline));
  }

  get lanes(): readonly CutWorkerChannel[] {
    return this.#lanes;
  }

  /** Gives the listener a route: messages sent with it are answered to the listener until it leaves. */
  join(listener: CutWorkerListener): number {
    if (this.#failure !== null) throw this.#failure;
    const route = ++this.#routes;
    this.#listeners.set(route, listener);
    // An idle pool must not keep the process alive, a working one must.
    for (const lane of this.#lanes) lane.keepAlive(true);
    return route;
  }

  leave(route: number): void {
    this.#listeners.delete(route);
    if (this.#listeners.size === 0) for (const lane of this.#lanes) lane.keepAlive(false);
    for (const lane of this.#lanes) lane.send({ type: "close", route });
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  #lane(index: number, start: StartWorker): Lane {
    const events = {
      heard: (message: FromWorker) => this.#hear(index, message),
      died: (error: Error) => this.#fail(error),
    };
    return new Lane(() => start(events), events.died);
  }

  #hear(lane: number, message: FromWorker): void {
    const listener = this.#listeners.get(message.route);
    if (listener !== undefined) listener.heard(lane, message);
    // The pool outlives the session, and so do its workers' areas.
    else if (message.type === "sealed") releaseArea(message.bytes);
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const listener of this.#listeners.values()) listener.died(error);
  }
}

/** A station that has been started, in a thread or not. */
interface RunningWorker {
  send(message: ToWorker): void;
  keepAlive(working: boolean): void;
  close(): Promise<void>;
}

interface WorkerEvents {
  heard(message: FromWorker): void;
  died(error: Error): void;
}

type StartWorker = (events: WorkerEvents) => Promise<RunningWorker>;

/**
 * The way to one station.
 *   idle      nothing to do yet: sessions that open are noted, sessions that close are struck out again
 *   starting  the first job came: messages wait
 *   running   messages go straight through
 *   closed    nothing is sent any more
 */
class Lane implements CutWorkerChannel {
  readonly #start: () => Promise<RunningWorker>;
  readonly #died: (error: Error) => void;
  #waiting: ToWorker[] = [];
  #starting: Promise<void> | null = null;
  #running: RunningWorker | null = null;
  #working = false;
  #closed = false;

  constructor(start: () => Promise<RunningWorker>, died: (error: Error) => void) {
    this.#start = start;
    this.#died = died;
  }

  /** A property, since callers take it out of the lane. */
  readonly send = (message: ToWorker): void => {
    if (this.#running !== null) {
      this.#running.send(message);
      return;
    }
    if (this.#starting === null && message.type === "close") {
      this.#waiting = this.#waiting.filter((each) => each.type !== "open" || each.session.route !== message.route);
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
      this.#died(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** Loaded with the first job too; the thread's own files are then in Node's compile cache before the thread needs them. */
async function startThread(events: WorkerEvents): Promise<RunningWorker> {
  const { cutWorkerThread } = await import("./cut-worker-thread.ts");
  const { Worker } = await import("node:worker_threads");
  const thread = new Worker(cutWorkerThread, {
    workerData: cutWorkerThread.href,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMib, maxYoungGenerationSizeMb: 3 },
  });
  thread.on("message", (message: FromWorker) => events.heard(message));
  thread.on("error", (error) => events.died(error instanceof Error ? error : new Error(String(error))));
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
  const station = new CutWorker((message) => queueMicrotask(() => events.heard(message)));
  return { send: (message) => station.handle(message), keepAlive: () => {}, close: async () => {} };
}
