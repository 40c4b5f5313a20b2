/**
 * The part of a worker that graphile-worker does: it polls its table, locks pointers and passes them on. A *queue* is one of
 * its pools. It ends by itself when it cannot delete a pointer. Its running jobs then finish, and another queue replaces
 * it (worker-session.ts).
 *
 * Stages of a queue:
 *   open     takes pointers while `mayTake` allows it    -> retired
 *   retired  takes none; running jobs finish            -> over
 *   over     nothing runs
 */

import { EventEmitter } from "node:events";
import { Logger, runTaskList, type TaskList } from "graphile-worker";
import type { Pool } from "pg";
import { errorFields, type Log } from "../log.ts";
import { within } from "./loop.ts";

export interface QueueOptions {
  readonly pool: Pool;
  readonly log: Log;
  readonly tasks: readonly string[];
  readonly concurrency: number;
  /** Called before every fetch of a pointer; may wait. */
  readonly mayTake: (queueId: string) => Promise<void>;
  /** Runs what a pointer points at. Never throws. */
  readonly execute: (pointer: unknown) => Promise<void>;
  /** A fetch of a pointer failed. It may have locked one nevertheless. */
  readonly onFetchError: () => void;
}

export interface Queue {
  /** What graphile-worker locks its pointers with. */
  readonly id: string;
  readonly retired: Promise<void>;
  readonly over: Promise<void>;
  /** Retires it. */
  close(): void;
  /** Ends it, whatever still runs. */
  abandon(): Promise<void>;
}

/** Notifications wake a queue at once. The poll finds jobs whose notification was lost with a connection. */
const pollIntervalMs = 1_000;
/** A normal shutdown takes less; after this a shutdown counts as hanging. */
const idleCheckMs = 1_000;
/** Failed fetches in a row before a queue is replaced: graphile-worker never recovers from a failed first fetch. */
const brokenAfterErrors = 10;

export function startQueue(options: QueueOptions): Queue {
  const { log } = options;
  const retired = Promise.withResolvers<void>();
  const queueId = Promise.withResolvers<string>();
  const work = countedWork(options.execute);
  let isRetired = false;
  const taskList: TaskList = {};
  for (const name of options.tasks) taskList[name] = work.execute;
  const queue = runTaskList(
    {
      concurrency: options.concurrency,
      noHandleSignals: true,
      pollInterval: pollIntervalMs,
      logger: quietLogger(log),
      events: watchedEvents({ onFetchError: options.onFetchError, onBroken: close, onRetired }),
      forbiddenFlags: async () => {
        // The first fetch comes before the id is known here.
        await options.mayTake(await queueId.promise);
        return null;
      },
      // Unbatched, a failed delete of a pointer is an unhandled rejection, which would end the process; batched, it
      // ends this queue.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    },
    taskList,
    options.pool,
  );
  queueId.resolve(queue.id);
  const ended = queue.promise.catch((error: unknown) => log.warn("job_queue_ended", errorFields(error)));

  function onRetired(): void {
    isRetired = true;
    retired.resolve();
  }

  function close(): void {
    // `over` says how it ends.
    if (!isRetired) void Promise.resolve(queue.gracefulShutdown()).catch(() => undefined);
  }

  async function abandon(): Promise<void> {
    try {
      await queue.forcefulShutdown("worker stopped");
    } catch (error) {
      log.warn("job_queue_not_stopped", errorFields(error));
    }
  }

  /** After a failed delete its own shutdown can wait without end. When no job runs, there is nothing to wait for. */
  async function endWhenIdle(): Promise<void> {
    await retired.promise;
    while (!(await within(ended, idleCheckMs))) {
      if (work.count() === 0) return abandon();
    }
  }

  return { id: queue.id, retired: retired.promise, over: endWhenIdle(), close, abandon };
}

/** Counts the calls that still run. */
function countedWork(execute: QueueOptions["execute"]) {
  let count = 0;
  return {
    count: () => count,
    execute: async (pointer: unknown): Promise<void> => {
      count += 1;
      try {
        await execute(pointer);
      } finally {
        count -= 1;
      }
    },
  };
}

/** The messages of graphile-worker quote errors and SQL. Only the event is logged, with the allowed facts of the error. */
function quietLogger(log: Log): Logger {
  return new Logger(() => (level, _message, meta) => {
    const fields = meta?.error === undefined ? {} : errorFields(meta.error);
    if (level === "error") log.error("job_queue_error", fields);
    else if (level === "warning") log.warn("job_queue_warning", fields);
  });
}

function watchedEvents(on: Readonly<Record<"onFetchError" | "onBroken" | "onRetired", () => void>>): EventEmitter {
  let errors = 0;
  const reset = () => {
    errors = 0;
  };
  return new EventEmitter()
    .on("pool:gracefulShutdown", on.onRetired)
    .on("worker:getJob:empty", reset)
    .on("job:start", reset)
    .on("worker:getJob:error", () => {
      errors += 1;
      on.onFetchError();
      if (errors === brokenAfterErrors) on.onBroken();
    });
}
