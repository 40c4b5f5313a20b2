/**
 * One session of a worker: the lease that shows that it is alive, the queue that brings it pointers, and the jobs that it
 * runs, claimed under its id. A lost connection that is soon regained does not end the session. When the lease is not
 * regained, the session is over, its jobs are given back, and the worker starts another one (worker.ts).
 *
 * States:
 *   open     takes and runs jobs while the lease is held                                  -> closing
 *   closing  takes none; running jobs may finish for a while, then their signal aborts    -> over
 *   over     unfinished jobs have been given back; nothing more is written under this id
 */

import type { Random } from "../clock.ts";
import { errorFields } from "../log.ts";
import { type ExecutorOptions, endOnSignalMs, makeExecutor } from "./execute.ts";
import { acquireLease, type Lease } from "./lease.ts";
import { within } from "./loop.ts";
import { type Queue, startQueue } from "./queue.ts";
import { deregister } from "./recovery.ts";
import { addQueue, redispatchLostPointers } from "./store.ts";

export interface WorkerSessionOptions<Ports>
  extends Pick<
    ExecutorOptions<Ports>,
    "pool" | "tasks" | "recurrences" | "ports" | "secrets" | "clock" | "log" | "onReport"
  > {
  readonly random: Random;
  readonly concurrency: number;
}

export interface WorkerSession {
  /** Resolves when the session is over, for any reason. */
  readonly over: Promise<void>;
  /** Ends it. Running jobs have `boundMs` to finish. Resolves with the number of jobs that were given back. */
  close(boundMs: number): Promise<number>;
  /** Call it about once a second. It frees pointers that a failed fetch locked for this session. */
  redispatchLost(): Promise<void>;
}

/** Time for tasks that end on their signal, and for writing their outcome. */
const endingMs = endOnSignalMs + 1_000;
/** Time for giving jobs back while the database may not answer. Other workers take back the rest. */
const deregisterMs = 5_000;
/** Checks after a failed fetch, a second apart: a server can run a statement after its client has disconnected. */
const redispatchChecks = 30;
/** Between attempts to register a queue while the database does not answer. */
const registerPauseMs = 500;
/** Queues that are retired but still run something. Each may hold as many jobs as an open one. */
const retiredQueuesMost = 2;

/** Starts a session. Throws when the database does not answer. */
export async function startWorkerSession<Ports>(options: WorkerSessionOptions<Ports>): Promise<WorkerSession> {
  const { pool, log, clock, random } = options;
  const id = `worker-${random.uuid()}`;
  const lease = await acquireLease({ pool, workerId: id, now: clock.now(), log });
  const session = new LeasedWorker(options, id, lease);
  session.keepQueueOpen().catch((error: unknown) => {
    log.error("job_queue_not_opened", errorFields(error));
    return session.close(0);
  });
  return session;
}

class LeasedWorker<Ports> implements WorkerSession {
  readonly #options: WorkerSessionOptions<Ports>;
  readonly #id: string;
  readonly #lease: Lease;
  readonly #closing = new AbortController();
  readonly #closed = Promise.withResolvers<void>();
  readonly #ending = new AbortController();
  readonly #over = new AbortController();
  readonly #end = Promise.withResolvers<void>();
  readonly #queues = new Set<Queue>();
  readonly #running = new Set<string>();
  readonly #execute: (pointer: unknown) => Promise<void>;
  #released = 0;
  #checksLeft = 0;
  #ended: Promise<number> | undefined;

  constructor(options: WorkerSessionOptions<Ports>, id: string, lease: Lease) {
    this.#options = options;
    this.#id = id;
    this.#lease = lease;
    this.#execute = makeExecutor({
      ...options,
      workerId: id,
      running: this.#running,
      closing: this.#closing.signal,
      ending: this.#ending.signal,
      over: this.#over.signal,
      onFenced: () => void this.close(0),
      onReport: (report) => {
        if (report.outcome === "released") this.#released += 1;
        options.onReport(report);
      },
    });
    void lease.ended.then((reason) => {
      if (reason === "fenced") void this.close(0);
    });
  }

  get over(): Promise<void> {
    return this.#end.promise;
  }

  /** Opens a queue, and a new one each time the open one has ended. */
  async keepQueueOpen(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const queue = this.#openQueue();
      await queue.retired;
      if (this.#queues.size > retiredQueuesMost) {
        await Promise.race([this.#closed.promise, ...[...this.#queues].map((retired) => retired.over)]);
      }
    }
  }

  #openQueue(): Queue {
    const { pool, log, tasks, concurrency } = this.#options;
    let registered: Promise<void> | undefined;
    const queue = startQueue({
      pool,
      log,
      concurrency,
      tasks: [...tasks.keys()],
      execute: this.#execute,
      mayTake: async (queueId) => {
        registered ??= this.#register(queueId);
        await Promise.race([Promise.all([registered, this.#lease.held()]), this.#closed.promise]);
      },
      onFetchError: () => {
        this.#checksLeft = redispatchChecks;
      },
    });
    this.#queues.add(queue);
    void queue.over.then(() => this.#queues.delete(queue));
    return queue;
  }

  /** Stores which pointers other workers have to unlock if this worker dies. No pointer is taken before. */
  async #register(queueId: string): Promise<void> {
    const { pool, log } = this.#options;
    while (!this.#closing.signal.aborted) {
      try {
        if (!(await addQueue(pool, this.#id, queueId))) void this.close(0);
        return;
      } catch (error) {
        log.warn("job_queue_not_registered", errorFields(error));
        await within(this.#closed.promise, registerPauseMs);
      }
    }
  }

  async redispatchLost(): Promise<void> {
    if (this.#checksLeft === 0 || this.#closing.signal.aborted) return;
    const { pool, log } = this.#options;
    try {
      const count = await redispatchLostPointers(pool, this.#id, [...this.#running]);
      this.#checksLeft -= 1;
      if (count > 0) log.warn("job_pointers_redispatched", { count });
    } catch (error) {
      log.warn("job_look_after_failed", errorFields(error));
    }
  }

  close(boundMs: number): Promise<number> {
    this.#ended ??= this.#close(boundMs).finally(() => this.#end.resolve());
    return this.#ended;
  }

  async #close(boundMs: number): Promise<number> {
    const { pool, log } = this.#options;
    this.#closing.abort();
    this.#closed.resolve();
    for (const queue of this.#queues) queue.close();
    const stopped = Promise.all([...this.#queues].map((queue) => queue.over));
    if (!(await within(stopped, boundMs))) {
      this.#ending.abort();
      await within(stopped, endingMs);
    }
    this.#over.abort();
    const deregistered = deregister(pool, this.#id).catch((error: unknown) => {
      log.warn("job_resign_failed", errorFields(error));
      return 0;
    });
    const given = (await within(deregistered, deregisterMs)) ? await deregistered : 0;
    // Only after the pointers were unlocked: `abandon` would delay their jobs.
    await Promise.all([...this.#queues].map((queue) => queue.abandon()));
    await this.#lease.release();
    return this.#released + given;
  }
}
