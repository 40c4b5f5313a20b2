/**
 * graphile-worker's part of a worker: it watches its table, locks pointers and hands them over. A *queue* is one of its
 * pools. It may end by itself, since it gives up when it cannot delete a pointer; its running jobs then finish, and
 * another queue takes its place (life.ts).
 *
 * Stages of a queue:
 *   open     takes pointers while `mayTake` lets it     -> retired
 *   retired  takes none; what runs goes on              -> over
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
  /** Asked before every look for a pointer; may wait. */
  readonly mayTake: (queueId: string) => Promise<void>;
  /** Runs what a pointer points at. Never throws. */
  readonly execute: (pointer: unknown) => Promise<void>;
  /** A look for a pointer failed: it may have locked one all the same. */
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

/** Notifications wake a queue at once; the poll finds what a lost connection did not announce. */
const pollIntervalMs = 1_000;
/** A clean shutdown takes less; this is how long one that hangs is waited for. */
const idleCheckMs = 1_000;
/** Looks that failed one after the other before a queue is replaced: a failure of its first one is remembered for ever. */
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
        // The first look is taken before the id is known here.
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
    // How it ends is told by `over`.
    if (!isRetired) void Promise.resolve(queue.gracefulShutdown()).catch(() => undefined);
  }

  async function abandon(): Promise<void> {
    try {
      await queue.forcefulShutdown("worker stopped");
    } catch (error) {
      log.warn("job_queue_not_stopped", errorFields(error));
    }
  }

  /** After a failed delete its own shutdown can wait for ever. When nothing runs any more there is nothing to wait for. */
  async function endWhenIdle(): Promise<void> {
    await retired.promise;
    while (!(await within(ended, idleCheckMs))) {
      if (work.count() === 0) return abandon();
    }
  }

  return { id: queue.id, retired: retired.promise, over: endWhenIdle(), close, abandon };
}

/** Counts the calls that have not settled. */
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

/** Its messages quote errors and SQL: only that something happened goes on, with what may be said of the error. */
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
