/**
 * The cutting workers of a process. A pool outlives backups: starting a thread costs tens of milliseconds. With zero
 * threads the one station runs inside the caller's thread.
 *
 * A thread that dies fails every session that uses it; nothing is retried here, the backup as a whole is repeatable.
 */

import { Worker } from "node:worker_threads";
import { CutStation } from "./cut-station.ts";
import { cutThread } from "./cut-thread.ts";
import { emptyArea } from "./outbox.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";

export interface CutLane {
  send(message: ToWorker): void;
}

/** What a session hears from its workers. A sealed frame's bytes are there during the call only. */
export interface CutListener {
  heard(lane: number, message: FromWorker): void;
  died(error: Error): void;
}

/** Memory of a thread's JavaScript heap; buffers are outside it. Sessions keep nothing that grows in a worker. */
const threadHeapMib = 16;

export class CutPool {
  readonly #lanes: CutLane[] = [];
  readonly #threads: Worker[] = [];
  readonly #listeners = new Map<number, CutListener>();
  #failure: Error | null = null;
  #routes = 0;

  constructor(threads: number) {
    for (let i = 0; i < threads; i++) this.#lanes.push(this.#thread(i));
    if (threads === 0) this.#lanes.push(this.#inline());
  }

  get lanes(): readonly CutLane[] {
    return this.#lanes;
  }

  /** Gives the listener a route: messages sent with it are answered to the listener until it leaves. */
  join(listener: CutListener): number {
    if (this.#failure !== null) throw this.#failure;
    const route = ++this.#routes;
    this.#listeners.set(route, listener);
    // An idle pool must not keep the process alive, a working one must.
    for (const thread of this.#threads) thread.ref();
    return route;
  }

  leave(route: number): void {
    this.#listeners.delete(route);
    if (this.#listeners.size === 0) for (const thread of this.#threads) thread.unref();
    for (const lane of this.#lanes) lane.send({ type: "close", route });
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }

  #thread(index: number): CutLane {
    const thread = new Worker(cutThread, {
      workerData: cutThread.href,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMib, maxYoungGenerationSizeMb: 3 },
    });
    thread.on("message", (message: FromWorker) => this.#hear(index, message));
    thread.on("error", (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    thread.unref();
    this.#threads.push(thread);
    return { send: (message) => thread.postMessage(message) };
  }

  #inline(): CutLane {
    const station = new CutStation((message) => queueMicrotask(() => this.#hear(0, message)));
    return { send: (message) => station.handle(message) };
  }

  #hear(lane: number, message: FromWorker): void {
    try {
      this.#listeners.get(message.route)?.heard(lane, message);
    } finally {
      // Also where nobody listens any more: the pool outlives the session, and so do its workers' areas.
      if (message.type === "sealed") emptyArea(message.bytes);
    }
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const listener of this.#listeners.values()) listener.died(error);
  }
}
