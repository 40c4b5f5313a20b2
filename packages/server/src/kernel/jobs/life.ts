/**
 * One life of a worker: the lease that proves it alive, the queue that brings it pointers, and the jobs that it runs,
 * claimed under its id. A lost connection that is soon regained is part of life; when the lease is not regained, this
 * life is over, its jobs are given back, and the worker begins another (worker.ts).
 *
 * Stages:
 *   open     takes and runs jobs while the lease is held                              -> closing
 *   closing  takes none; running jobs finish within a bound, then are told to end     -> over
 *   over     what still ran has been given back; nothing is written under this id any more
 */

import type { Random } from "../clock.ts";
import { errorFields } from "../log.ts";
import { type ExecutorOptions, heedSignalMs, makeExecutor } from "./execute.ts";
import { acquireLease, type Lease } from "./lease.ts";
import { within } from "./loop.ts";
import { type Queue, startQueue } from "./queue.ts";
import { resign } from "./recovery.ts";
import { addQueue, redispatchLost } from "./store.ts";

export interface LifeOptions<Ports>
  extends Pick<
    ExecutorOptions<Ports>,
    "pool" | "tasks" | "recurrences" | "ports" | "secrets" | "clock" | "log" | "onReport"
  > {
  readonly random: Random;
  readonly concurrency: number;
}

export interface Life {
  /** Resolves when this life is over, for whatever reason. */
  readonly over: Promise<void>;
  /** Ends it: running jobs get so long to finish. Resolves with the number of jobs that were given back. */
  close(boundMs: number): Promise<number>;
  /** To be called about once a second: sees to pointers that were locked for us by a look that failed. */
  lookAfter(): Promise<void>;
}

/** For tasks that heed their signal to have their outcome written. */
const endingMs = heedSignalMs + 1_000;
/** For giving jobs back while the database may be away; what is not given back is taken back by others. */
const resignMs = 5_000;
/** Looks after a failed one, a second apart: a server may carry out a statement whose sender has long gone. */
const lookAfterTimes = 30;
/** Between tries to register a queue while the database is away. */
const registerPauseMs = 500;
/** Queues that are retired but still run something. Each may hold as many jobs as an open one. */
const retiredQueuesMost = 2;

/** Begins a life. Throws when the database cannot be asked. */
export async function beginLife<Ports>(options: LifeOptions<Ports>): Promise<Life> {
  const { pool, log, clock, random } = options;
  const id = `worker-${random.uuid()}`;
  const lease = await acquireLease({ pool, workerId: id, now: clock.now(), log });
  const life = new LivingWorker(options, id, lease);
  life.keepQueueOpen().catch((error: unknown) => {
    log.error("job_queue_not_opened", errorFields(error));
    return life.close(0);
  });
  return life;
}

class LivingWorker<Ports> implements Life {
  readonly #options: LifeOptions<Ports>;
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
  #looksLeft = 0;
  #ended: Promise<number> | undefined;

  constructor(options: LifeOptions<Ports>, id: string, lease: Lease) {
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

  /** Opens a queue, and another whenever one has retired by itself. */
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
        this.#looksLeft = lookAfterTimes;
      },
    });
    this.#queues.add(queue);
    void queue.over.then(() => this.#queues.delete(queue));
    return queue;
  }

  /** Tells the others which pointers to unlock if this worker dies. No pointer is taken before. */
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

  async lookAfter(): Promise<void> {
    if (this.#looksLeft === 0 || this.#closing.signal.aborted) return;
    const { pool, log } = this.#options;
    try {
      const count = await redispatchLost(pool, this.#id, [...this.#running]);
      this.#looksLeft -= 1;
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
    const resigned = resign(pool, this.#id).catch((error: unknown) => {
      log.warn("job_resign_failed", errorFields(error));
      return 0;
    });
    const given = (await within(resigned, resignMs)) ? await resigned : 0;
    // After their pointers were unlocked: what it does to pointers would delay them.
    await Promise.all([...this.#queues].map((queue) => queue.abandon()));
    await this.#lease.release();
    return this.#released + given;
  }
}
