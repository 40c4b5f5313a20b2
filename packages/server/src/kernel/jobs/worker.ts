/**
 * The worker: runs the jobs of a database, in as many processes as wished. It keeps three things going: a *life* that
 * takes and runs jobs (life.ts), replaced whenever it ends; the *promotion* of jobs that have become due by the
 * application's clock; and the *sweep* for workers that died (recovery.ts). A database that goes away and comes back
 * needs no help.
 *
 * A job runs at least once. While its worker lives, no other one runs it at the same time; the exception is a task
 * that goes on after its signal told it to end.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import { type Clock, monotonicMs, type Random } from "../clock.ts";
import { errorFields, type Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";

import type { JobReport } from "./execute.ts";
import { beginLife, type Life } from "./life.ts";
import { startLoop } from "./loop.ts";
import { makeSweep, sweepIntervalMs } from "./recovery.ts";
import { anyUnsettled, ensureRecurring, nextDue, promoteDue, restorePointers } from "./store.ts";
import type { Recurrence, Task } from "./task.ts";
import { failedJobsPurge } from "./upkeep.ts";

export interface WorkerOptions<Ports> {
  /** The queue's owner, with room for {@link ownerConnectionsLeast} connections, not through a transaction pooler. */
  readonly ownerPool: Pool;
  /** All tasks that this process can run. Jobs of other tasks wait for a process that knows them. */
  readonly tasks: readonly Task<unknown, Ports>[];
  readonly recurrences?: readonly Recurrence<Ports>[];
  /** Handed to every task. */
  readonly ports: Ports;
  /** Opens sealed payloads; without it such jobs are given up. */
  readonly secrets?: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Jobs at a time; {@link defaultConcurrency} when absent. */
  readonly concurrency?: number;
  /** Told about every attempt, for metrics. */
  readonly onReport?: (report: JobReport) => void;
}

export interface Worker {
  /** Moves what is due by the clock now, for a clock that was advanced; resolves with how many jobs. */
  pollNow(): Promise<number>;
  /** Waits until no job is due, waiting or running, in any worker. For tests: throws when that takes longer. */
  settle(ms: number): Promise<void>;
  /** Stops: takes no more jobs, lets the running ones finish for so long, gives the rest back. Resolves with how many. */
  drain(ms: number): Promise<number>;
  /** {@link drain} with {@link defaultDrainMs}. */
  stop(): Promise<number>;
}

/** Fewer than the connections of the application's pool, so that jobs cannot starve requests. */
export const defaultConcurrency = 4;
/** Shorter than the 30 s that process managers commonly give, with room for the rest of the shutdown. */
export const defaultDrainMs = 10_000;
/** The lease and the notifications hold one each; looking for jobs and writing outcomes need two to go on. */
export const ownerConnectionsLeast = 4;
/** A clock that was advanced by another process is noticed this soon. */
const promotionIntervalMs = 1_000;
/** A job that is due in less is waited for so long, and a due one that another worker holds is looked at again. */
const promotionPauseLeastMs = 20;
/** One statement's worth; more would hold locks for long. */
const promotionBatch = 100;
/** Between lives: a database that is starting refuses for a second or two. */
const restartPauseMs = 1_000;
/** How often `settle` looks. */
const settlePauseMs = 20;

/**
 * Starts a worker on a migrated database ({@link migrateJobs} included). Rejects when the database cannot be asked.
 *
 * @example
 * const worker = await startWorker({ ownerPool, tasks: [sendMessage], ports: { mail, sms }, clock, random, log });
 * process.once("SIGTERM", () => void worker.stop());
 */
export async function startWorker<Ports>(options: WorkerOptions<Ports>): Promise<Worker> {
  const setup = prepare(options);
  const { ownerPool, clock, log } = options;
  await lookAround(options, setup);
  let life = await beginLife(setup.life);
  let draining: Promise<number> | undefined;

  const lives = startLoop(async () => {
    await life.over;
    if (draining !== undefined) return 0;
    life = (await beginAgain(options, setup)) ?? life;
    return restartPauseMs;
  });
  const promotion = startLoop(makePromotionTurn(options, setup.names));
  const sweep = makeSweep(ownerPool, log);
  const sweeps = startLoop(async () => {
    await Promise.all([sweep(), life.lookAfter()]);
    return sweepIntervalMs;
  });

  async function end(ms: number): Promise<number> {
    await Promise.all([promotion.stop(), sweeps.stop()]);
    const first = life;
    const released = await first.close(ms);
    await lives.stop();
    // A life that began while its predecessor was closing has hardly taken anything.
    return life === first ? released : released + (await life.close(ms));
  }
  const drain = (ms: number): Promise<number> => {
    draining ??= end(ms);
    return draining;
  };

  return {
    pollNow: () => promoteAll(ownerPool, setup.names, clock),
    settle: (ms) => settle(ownerPool, setup.names, clock, ms),
    drain,
    stop: () => drain(defaultDrainMs),
  };
}

interface Setup<Ports> {
  readonly names: readonly string[];
  readonly recurrences: readonly Recurrence<Ports>[];
  readonly life: Parameters<typeof beginLife<Ports>>[0];
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
    life: {
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

/** What every life finds in place: recurring jobs, and a pointer for every job that waits for a worker. */
async function lookAround<Ports>(options: WorkerOptions<Ports>, setup: Setup<Ports>): Promise<void> {
  const { ownerPool, clock, random, log } = options;
  const now = clock.now();
  for (const { task, next } of setup.recurrences) {
    await ensureRecurring(ownerPool, { id: random.uuid(), task: task.name, runAt: next(now), now });
  }
  const restored = await restorePointers(ownerPool);
  if (restored > 0) log.warn("job_pointers_restored", { count: restored });
}

async function beginAgain<Ports>(options: WorkerOptions<Ports>, setup: Setup<Ports>): Promise<Life | undefined> {
  try {
    await lookAround(options, setup);
    const life = await beginLife(setup.life);
    options.log.info("job_worker_restarted");
    return life;
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
      // Said once per outage, not once per second of it.
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

async function settle(pool: Pool, names: readonly string[], clock: Clock, ms: number): Promise<void> {
  const deadline = monotonicMs() + ms;
  for (;;) {
    await promoteAll(pool, names, clock);
    if (!(await anyUnsettled(pool, names, clock.now()))) return;
    if (monotonicMs() > deadline) throw new Error(`jobs are still due, waiting or running after ${ms} ms`);
    await delay(settlePauseMs);
  }
}
