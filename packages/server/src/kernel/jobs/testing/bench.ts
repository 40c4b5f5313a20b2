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
import { type TestClock, testClock } from "../../../testing/clock.ts";
import { silentLog, type TestDatabase, testDatabase } from "../../../testing/database.ts";
import { systemRandom } from "../../clock.ts";
import { enqueueJob, type JobRequest } from "../enqueue.ts";
import { Worker, type WorkerOptions } from "../worker.ts";

/** Longer than anything here takes on a busy machine; only a failing test waits for so long. */
export const patienceMs = 60_000;

export const benchClock = () => testClock("2031-01-01T00:00:00.000Z");

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
  readonly worker: number | null;
  readonly attempt: number;
  readonly crashes: number;
  readonly run_at: Date;
  readonly priority: number;
  readonly canceled: boolean;
  readonly progress: Readonly<Record<string, number>> | null;
  readonly payload: unknown;
  readonly error_class: string | null;
  readonly error_code: string | null;
}

export interface BenchWorker extends Pick<Worker<unknown>, "drain"> {
  /** Waits until no job of its tasks is due or running; throws when it takes longer than `ms`. */
  waitUntilIdle(ms: number): Promise<void>;
}

export type BenchWorkerOptions<Ports> = Pick<WorkerOptions<Ports>, "tasks" | "ports"> & Partial<WorkerOptions<Ports>>;

export interface Bench {
  readonly database: TestDatabase;
  readonly clock: TestClock;
  /** Enqueues as the application role, in a separate transaction. */
  enqueue<Payload>(request: JobRequest<Payload>): Promise<string | undefined>;
  start<Ports>(options: BenchWorkerOptions<Ports>): Promise<BenchWorker>;
  /** A worker process with the tasks of worker-process.ts, on the system's clock, ready to work. */
  spawnWorker(): Promise<ChildProcess>;
  /** Jobs of the test, without the queue's own recurring one. */
  jobs(): Promise<readonly JobRow[]>;
  runs(): Promise<readonly Run[]>;
}

/** The clock of processes is the real one, which is later than 2020: what this clock finds due, they do too. */
export const pastClock = () => testClock("2020-01-01T00:00:00.000Z");

export async function jobBench(t: TestContext, clock = benchClock()): Promise<Bench> {
  const closers: (() => Promise<unknown>)[] = [];
  const database = await testDatabase({ after: (close) => void closers.push(close) });
  // Last in, first out: workers go before the pools that they use.
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { owner, app } = database;
  await owner.query("create table emanet.bench_runs (job_id uuid, attempt integer, pid integer)");
  return {
    database,
    clock,
    enqueue: (request) => inTransaction(app, (client) => enqueueJob(client, { clock, random: systemRandom }, request)),
    start: async (options) => {
      const worker = await Worker.start({ ownerPool: owner, clock, random: systemRandom, log: silentLog, ...options });
      closers.push(() => worker.drain(0));
      const names = options.tasks.map((task) => task.name);
      return {
        drain: (ms) => worker.drain(ms),
        waitUntilIdle: (ms) => waitUntilIdle(owner, [...names, "jobs.purge_failed"], clock, ms),
      };
    },
    spawnWorker: async () => {
      const child = await spawnWorker(database);
      closers.push(() => kill(child));
      return child;
    },
    jobs: () => select<JobRow>(owner, jobsSql, [clock.now()]),
    runs: () => select<Run>(owner, "select * from emanet.bench_runs"),
  };
}

/** The numbers of the workers that hold their lock. */
export async function liveWorkers(bench: Bench): Promise<readonly number[]> {
  const { rows } = await bench.database.owner.query<{ objid: number }>(
    `select objid::bigint::integer as objid from pg_locks where locktype = 'advisory' and classid::bigint = 1785684595
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return rows.map((row) => row.objid);
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
    if (performance.now() > deadline) throw new Error(`the time is over, and this has not happened: ${what}`);
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

const jobsSql = `select jobs.*, emanet.job_state(jobs, $1) as state from emanet.jobs
  where task <> 'jobs.purge_failed' order by id`;

async function select<Row>(pool: Pool, sql: string, values: unknown[] = []): Promise<readonly Row[]> {
  return (await pool.query(sql, values)).rows;
}

async function waitUntilIdle(pool: Pool, names: readonly string[], clock: TestClock, ms: number): Promise<void> {
  const deadline = performance.now() + ms;
  const sql =
    "select from emanet.jobs where task = any($1) and failed_at is null and (worker is not null or run_at <= $2)";
  while ((await select(pool, sql, [names, clock.now()])).length > 0) {
    if (performance.now() > deadline) throw new Error(`jobs are still due or running after ${ms} ms`);
    await delay(10);
  }
}
