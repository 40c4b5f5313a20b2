/**
 * `npm run bench:jobs`: what the job queue costs. PostgreSQL is the embedded server with its ordinary durability: every commit
 * waits for the disk. It prints medians of rounds: empty jobs a second of one worker (all enqueued before it starts) and of
 * two, the time to enqueue a job in a transaction of its own, the time from the commit to the start of the job on an idle
 * worker, and how many transactions an idle worker makes in a minute.
 *
 *   npm run bench:jobs -- 5 5000     rounds, and jobs in each
 */

import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock, systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { migrate } from "../../packages/server/src/kernel/database/migrate.ts";
import { openPools, type Pools } from "../../packages/server/src/kernel/database/pool.ts";
import { enqueueJob, noPayload, retryAfter, task, Worker } from "../../packages/server/src/kernel/jobs/index.ts";
import { startEmbeddedPostgres } from "../../packages/server/src/kernel/postgres/embedded.ts";
import { silentLog } from "../../packages/server/src/testing/database.ts";

const rounds = Number(process.argv[2] ?? 5);
const jobs = Number(process.argv[3] ?? 5_000);
/** Jobs in one transaction while the queue is filled. */
const batch = 500;
const singleJobs = 200;
/** How long an idle worker is watched. The first seconds belong to its start. */
const idleMs = 60_000;
const settleMs = 5_000;
/** The unit of CPU times in /proc. */
const tickMs = 10;

interface Throughput {
  readonly perSecond: number;
  /** CPU milliseconds per job. */
  readonly worker: number;
  readonly postgresql: number;
}

interface Counter {
  count: number;
  readonly startedAt: number[];
  reached: { readonly at: number; readonly resolve: () => void } | undefined;
}

const emptyTask = task<unknown, Counter>("bench.empty", {
  parse: noPayload,
  retry: retryAfter(),
  run: async (_payload, { ports }) => {
    ports.count += 1;
    ports.startedAt.push(performance.now());
    if (ports.count === ports.reached?.at) ports.reached.resolve();
  },
});

const sources = { clock: systemClock, random: systemRandom };
const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-jobs-"));
const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
try {
  const pools = await openPools({ target: postgres.connection, log: silentLog });
  await migrate({ owner: pools.owner, log: silentLog });
  await measure(pools);
  await pools.close();
} finally {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

async function measure(pools: Pools): Promise<void> {
  const one: Throughput[] = [];
  const two: Throughput[] = [];
  const enqueue: number[] = [];
  const latency: number[] = [];
  for (let round = 0; round < rounds; round++) {
    one.push(await throughput(pools, 1));
    two.push(await throughput(pools, 2));
    const { enqueueMs, latencyMs } = await single(pools);
    enqueue.push(...enqueueMs);
    latency.push(...latencyMs);
  }
  console.log(`empty jobs a second, one worker    ${perSecond(one)}`);
  console.log(`empty jobs a second, two workers   ${perSecond(two)}`);
  console.log(`enqueue and commit, ms             ${inMs(enqueue)}`);
  console.log(`commit to start, ms                ${inMs(latency)}`);
  console.log(`transactions of an idle worker     ${await idleTransactions(pools)} a minute`);
}

/** Fills the queue, then starts the workers. Counts until every job has run and its row is gone. */
async function throughput(pools: Pools, workers: number): Promise<Throughput> {
  for (let left = jobs; left > 0; left -= batch) await enqueueMany(pools.app, Math.min(left, batch));
  const done = Promise.withResolvers<void>();
  const ports: Counter = { count: 0, startedAt: [], reached: { at: jobs, resolve: done.resolve } };
  const cpuBefore = cpuMs();
  const startedAt = performance.now();
  const started = await Promise.all(Array.from({ length: workers }, () => start(pools, ports)));
  await done.promise;
  // The last outcomes are written by the drain.
  await Promise.all(started.map((worker) => worker.drain(60_000)));
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuAfter = cpuMs();
  const { rows } = await pools.owner.query("select from emanet.jobs where task = 'bench.empty'");
  if (rows.length > 0 || ports.count !== jobs)
    throw new Error(`${rows.length} left, ${ports.count} runs of ${jobs} jobs`);
  const worker = (cpuAfter.process - cpuBefore.process) / jobs;
  const postgresql = (cpuAfter.postgresql - cpuBefore.postgresql) / jobs;
  return { perSecond: jobs / seconds, worker, postgresql };
}

/** CPU time so far, of this process and of the server with all its sessions (from /proc; Linux). */
function cpuMs(): { readonly process: number; readonly postgresql: number } {
  const { user, system } = process.cpuUsage();
  const [pid] = readFileSync(path.join(folder, "postgres", "postmaster.pid"), "utf8").split("\n");
  let ticks = 0;
  for (const name of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const stat = readStat(name);
    if (stat === undefined || (name !== pid && stat[1] !== pid)) continue;
    ticks += Number(stat[11]) + Number(stat[12]) + (name === pid ? Number(stat[13]) + Number(stat[14]) : 0);
  }
  return { process: (user + system) / 1000, postgresql: ticks * tickMs };
}

/** The fields after the name of the program: state, parent, … Undefined for a process that has ended meanwhile. */
function readStat(pid: string): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ");
  } catch {
    return undefined;
  }
}

async function single(pools: Pools): Promise<{ enqueueMs: number[]; latencyMs: number[] }> {
  const ports: Counter = { count: 0, startedAt: [], reached: undefined };
  const worker = await start(pools, ports);
  const enqueueMs: number[] = [];
  const latencyMs: number[] = [];
  for (let count = 1; count <= singleJobs; count++) {
    const done = Promise.withResolvers<void>();
    ports.reached = { at: count, resolve: done.resolve };
    const before = performance.now();
    await enqueueMany(pools.app, 1);
    const committed = performance.now();
    await done.promise;
    enqueueMs.push(committed - before);
    latencyMs.push(Math.max(0, (ports.startedAt.at(-1) ?? 0) - committed));
  }
  await worker.drain(60_000);
  return { enqueueMs, latencyMs };
}

/** As the server counts them. A transaction of this process reads the counter twice. */
async function idleTransactions(pools: Pools): Promise<number> {
  const worker = await start(pools, { count: 0, startedAt: [], reached: undefined });
  await delay(settleMs);
  const before = await transactions(pools.owner);
  await delay(idleMs);
  const made = (await transactions(pools.owner)) - before - 1;
  await worker.drain(60_000);
  return Math.round((made * 60_000) / idleMs);
}

async function transactions(owner: Pools["owner"]): Promise<number> {
  // Sessions report to the statistics at most once a second, or when they end.
  await delay(1_500);
  const sql = "select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()";
  const { rows } = await owner.query<{ count: number }>(sql);
  return Number(rows[0]?.count);
}

function start({ owner }: Pools, ports: Counter) {
  return Worker.start({
    ownerPool: owner,
    tasks: [emptyTask],
    ports,
    log: silentLog,
    ...sources,
  });
}

async function enqueueMany(app: Pools["app"], count: number): Promise<void> {
  const client = await app.connect();
  try {
    await client.query("begin");
    for (let made = 0; made < count; made++) await enqueueJob(client, sources, { task: emptyTask, payload: {} });
    await client.query("commit");
  } finally {
    client.release();
  }
}

function perSecond(results: readonly Throughput[]): string {
  const median = (name: keyof Throughput) =>
    quantile(
      results.map((result) => result[name]),
      0.5,
    );
  const cpu = `${median("worker").toFixed(2)} worker + ${median("postgresql").toFixed(2)} PostgreSQL`;
  return `${median("perSecond").toFixed(0)} (CPU ms per job: ${cpu})`;
}

function inMs(values: readonly number[]): string {
  return `median ${quantile(values, 0.5).toFixed(1)}, 99th percentile ${quantile(values, 0.99).toFixed(1)}`;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
