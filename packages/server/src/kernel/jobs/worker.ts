/**
 * The worker: runs the jobs of a database, in any number of processes. It does three things: it keeps a *session* that takes
 * and runs jobs (worker-session.ts) and starts a new one when it ends; it *promotes* jobs that have become due by the
 * application's clock; and it *sweeps* for workers that died (recovery.ts). When the database stops and comes back, the
 * worker continues by itself.
 *
 * A job runs at least once. While its worker is alive, no other worker runs it at the same time. The exception is a task
 * that continues after its signal has aborted.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import { type Clock, monotonicMs, type Random } from "../clock.ts";
import { errorFields, type Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";

import type { JobReport } from "./execute.ts";
import { startLoop } from "./loop.ts";
import { makeSweep, sweepIntervalMs } from "./recovery.ts";
import { anyUnfinished, ensureRecurring, nextDue, promoteDue, restorePointers } from "./store.ts";
import type { Recurrence, Task } from "./task.ts";
import { failedJobsPurge } from "./upkeep.ts";
import { startWorkerSession, type WorkerSession } from "./worker-session.ts";

export interface WorkerOptions<Ports> {
  /** The queue's owner, with at least {@link ownerConnectionsLeast} connections, not through a transaction pooler. */
  readonly ownerPool: Pool;
  /** All tasks that this process can run. Jobs of other tasks wait for a process that can run them. */
  readonly tasks: readonly Task<unknown, Ports>[];
  readonly recurrences?: readonly Recurrence<Ports>[];
  /** Given to every task. */
  readonly ports: Ports;
  /** Decrypts sealed payloads; without it such jobs fail. */
  readonly secrets?: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Jobs at a time; {@link defaultConcurrency} when absent. */
  readonly concurrency?: number;
  /** Called after every attempt, for metrics. */
  readonly onReport?: (report: JobReport) => void;
}

export interface Worker {
  /** Promotes the jobs that are due now, for a clock that was advanced. Resolves with their number. */
  pollNow(): Promise<number>;
  /** Waits until no job is due, waiting or running in any worker. For tests; throws when it takes longer than `ms`. */
  waitUntilIdle(ms: number): Promise<void>;
  /** Stops: takes no more jobs, lets running ones finish for `ms`, gives the rest back. Resolves with their number. */
  drain(ms: number): Promise<number>;
  /** {@link drain} with {@link defaultDrainMs}. */
  stop(): Promise<number>;
}

/** Fewer than the connections of the application's pool, so that jobs cannot starve requests. */
export const defaultConcurrency = 4;
/** Shorter than the 30 s that process managers commonly give, so that time is left for the rest of the shutdown. */
export const defaultDrainMs = 10_000;
/** The lease and the notifications hold one each; fetching jobs and writing outcomes need two more. */
export const ownerConnectionsLeast = 4;
/** How soon a clock that another process advanced is noticed. */
const promotionIntervalMs = 1_000;
/** The shortest pause: for a job that is due at once, or that another worker has locked. */
const promotionPauseLeastMs = 20;
/** Jobs per statement; more would hold locks too long. */
const promotionBatch = 100;
/** Between sessions: a database that is starting refuses for a second or two. */
const restartPauseMs = 1_000;
/** How often `waitUntilIdle` asks the database. */
const idlePollMs = 20;

/**
 * Starts a worker on a migrated database ({@link migrateJobs} included). Rejects when the database does not answer.
 *
 * @example
 * const worker = await startWorker({ ownerPool, tasks: [sendMessage], ports: { mail, sms }, clock, random, log });
 * process.once("SIGTERM", () => void worker.stop());
 */
export async function startWorker<Ports>(options: WorkerOptions<Ports>): Promise<Worker> {
  const setup = prepare(options);
  const { ownerPool, clock, log } = options;
  await prepareQueue(options, setup);
  let session = await startWorkerSession(setup.session);
  let draining: Promise<number> | undefined;

  const sessions = startLoop(async () => {
    await session.over;
    if (draining !== undefined) return 0;
    session = (await restartSession(options, setup)) ?? session;
    return restartPauseMs;
  });
  const promotion = startLoop(makePromotionTurn(options, setup.names));
  const sweep = makeSweep(ownerPool, log);
  const sweeps = startLoop(async () => {
    await Promise.all([sweep(), session.redispatchLost()]);
    return sweepIntervalMs;
  });

  async function end(ms: number): Promise<number> {
    await Promise.all([promotion.stop(), sweeps.stop()]);
    const first = session;
    const released = await first.close(ms);
    await sessions.stop();
    // A session that started while the one before was closing has taken few jobs.
    return session === first ? released : released + (await session.close(ms));
  }
  const drain = (ms: number): Promise<number> => {
    draining ??= end(ms);
    return draining;
  };

  return {
    pollNow: () => promoteAll(ownerPool, setup.names, clock),
    waitUntilIdle: (ms) => waitUntilIdle(ownerPool, setup.names, clock, ms),
    drain,
    stop: () => drain(defaultDrainMs),
  };
}

interface Setup<Ports> {
  readonly names: readonly string[];
  readonly recurrences: readonly Recurrence<Ports>[];
  readonly session: Parameters<typeof startWorkerSession<Ports>>[0];
}

function prepare<Ports>(options: WorkerOptions<Ports>): Setup<Ports> {
  const { ownerPool, ports, clock, random, log } = options;
  if (ownerPool.options.max < ownerConnectionsLeast) {
    throw new RangeError(
      `the owner's pool has ${ownerPool.options.max} connections; ${ownerConnectionsLeast} are needed`,
    );
  }
  const recurrences = [...(options.recurrences ?? []), failedJobsPurge(ownerPool)];
  const all = [...options.tasks, ...recurrences.map((recurrence) => recurrence.task)];
  const tasks = new Map(all.map((item) => [item.name, item]));
  for (const item of all) {
    if (tasks.get(item.name) !== item) throw new Error(`two tasks are called ${item.name}`);
  }
  return {
    names: [...tasks.keys()],
    recurrences,
    session: {
      pool: ownerPool,
      tasks,
      recurrences: new Map(recurrences.map((recurrence) => [recurrence.task.name, recurrence])),
      ports,
      secrets: options.secrets,
      clock,
      random,
      log,
      concurrency: options.concurrency ?? defaultConcurrency,
      onReport: options.onReport ?? (() => {}),
    },
  };
}

/** Before every session: makes sure that recurring jobs exist, and that every queued job has a pointer. */
async function prepareQueue<Ports>(options: WorkerOptions<Ports>, setup: Setup<Ports>): Promise<void> {
  const { ownerPool, clock, random, log } = options;
  const now = clock.now();
  for (const { task, next } of setup.recurrences) {
    await ensureRecurring(ownerPool, { id: random.uuid(), task: task.name, runAt: next(now), now });
  }
  const restored = await restorePointers(ownerPool);
  if (restored > 0) log.warn("job_pointers_restored", { count: restored });
}

async function restartSession<Ports>(
  options: WorkerOptions<Ports>,
  setup: Setup<Ports>,
): Promise<WorkerSession | undefined> {
  try {
    await prepareQueue(options, setup);
    const session = await startWorkerSession(setup.session);
    options.log.info("job_worker_restarted");
    return session;
  } catch (error) {
    options.log.warn("job_worker_restart_failed", errorFields(error));
    return undefined;
  }
}

function makePromotionTurn<Ports>({ ownerPool, clock, log }: WorkerOptions<Ports>, names: readonly string[]) {
  let failing = false;
  return async (): Promise<number> => {
    try {
      await promoteAll(ownerPool, names, clock);
      const due = await nextDue(ownerPool, names);
      failing = false;
      const wait = due === undefined ? promotionIntervalMs : due.getTime() - clock.now().getTime();
      return Math.min(Math.max(wait, promotionPauseLeastMs), promotionIntervalMs);
    } catch (error) {
      // Logged once per outage, not once per second.
      if (!failing) log.warn("job_promotion_failed", errorFields(error));
      failing = true;
      return promotionIntervalMs;
    }
  };
}

async function promoteAll(pool: Pool, names: readonly string[], clock: Clock): Promise<number> {
  let total = 0;
  for (;;) {
    const moved = await promoteDue(pool, names, clock.now(), promotionBatch);
    total += moved;
    if (moved < promotionBatch) return total;
  }
}

async function waitUntilIdle(pool: Pool, names: readonly string[], clock: Clock, ms: number): Promise<void> {
  const deadline = monotonicMs() + ms;
  for (;;) {
    await promoteAll(pool, names, clock);
    if (!(await anyUnfinished(pool, names, clock.now()))) return;
    if (monotonicMs() > deadline) throw new Error(`jobs are still due, waiting or running after ${ms} ms`);
    await delay(idlePollMs);
  }
}
