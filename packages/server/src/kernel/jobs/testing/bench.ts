/**
 * What the tests of this folder stand on: a database of their own, a clock that stands still until it is moved, workers
 * that are stopped before their database goes, and a table in which tasks note that they ran.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import { silentLog, type TestDatabase, testDatabase } from "../../../testing/database.ts";
import { type Clock, systemRandom } from "../../clock.ts";
import { enqueueJob, type JobRequest } from "../enqueue.ts";
import { migrateJobs } from "../migrate.ts";
import { startWorker, type Worker, type WorkerOptions } from "../worker.ts";

/** Longer than anything here takes on a busy machine; only a failing test waits for so long. */
export const patienceMs = 60_000;

export interface TestClock extends Clock {
  advance(ms: number): void;
}

export function testClock(start = Date.UTC(2031, 0, 1)): TestClock {
  let now = start;
  return {
    now: () => new Date(now),
    advance: (ms) => {
      now += ms;
    },
  };
}

/** One line of the table that tasks write into. */
export interface Run {
  readonly job_id: string;
  readonly attempt: number;
  readonly pid: number;
}

export interface JobRow {
  readonly id: string;
  readonly task: string;
  readonly key: string | null;
  readonly state: string;
  readonly attempt: number;
  readonly crashes: number;
  readonly run_at: Date;
  readonly claimed_by: string | null;
  readonly payload: unknown;
  readonly error_class: string | null;
  readonly error_code: string | null;
}

export type BenchWorkerOptions<Ports> = Pick<WorkerOptions<Ports>, "tasks" | "ports"> & Partial<WorkerOptions<Ports>>;

export interface Bench {
  readonly database: TestDatabase;
  readonly clock: TestClock;
  /** Enqueues as the application role, in a separate transaction. */
  enqueue<Payload>(request: JobRequest<Payload>): Promise<string | undefined>;
  start<Ports>(options: BenchWorkerOptions<Ports>): Promise<Worker>;
  /** A worker process with the tasks of worker-process.ts, on the system's clock, ready to work. */
  spawnWorker(): Promise<ChildProcess>;
  /** Jobs of the test, without the queue's own recurring one. */
  jobs(): Promise<readonly JobRow[]>;
  runs(): Promise<readonly Run[]>;
}

/** The clock of processes is the real one, which is later than 2020: what this clock finds due, they do too. */
export const pastClock = () => testClock(Date.UTC(2020, 0, 1));

export async function jobBench(t: TestContext, clock = testClock()): Promise<Bench> {
  const closers: (() => Promise<unknown>)[] = [];
  const database = await testDatabase({ after: (close) => void closers.push(close) });
  // Last in, first out: workers go before the pools that they use.
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { owner, app } = database;
  await migrateJobs({ owner, log: silentLog });
  await owner.query("create table emanet.bench_runs (job_id uuid, attempt integer, pid integer)");
  return {
    database,
    clock,
    enqueue: (request) => inTransaction(app, (client) => enqueueJob(client, { clock, random: systemRandom }, request)),
    start: async (options) => {
      const worker = await startWorker({ ownerPool: owner, clock, random: systemRandom, log: silentLog, ...options });
      closers.push(() => worker.drain(0));
      return worker;
    },
    spawnWorker: async () => {
      const child = await spawnWorker(database);
      closers.push(() => kill(child));
      return child;
    },
    jobs: () => select<JobRow>(owner, "select * from emanet.jobs where task <> 'jobs.purge_failed' order by id"),
    runs: () => select<Run>(owner, "select * from emanet.bench_runs"),
  };
}

export async function inTransaction<T>(pool: Pool, work: (client: { query: Pool["query"] }) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

/** Polls until the condition holds; throws after {@link patienceMs}. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await delay(20);
  }
}

/** Ends a process as a power cut would. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

async function spawnWorker({ target }: TestDatabase): Promise<ChildProcess> {
  const script = path.join(import.meta.dirname, "worker-process.ts");
  const child = spawn(process.execPath, [script, JSON.stringify(target)], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "ready") return child;
  }
  throw new Error("the worker process ended before it was ready");
}

async function select<Row>(pool: Pool, sql: string): Promise<readonly Row[]> {
  return (await pool.query(sql)).rows;
}
