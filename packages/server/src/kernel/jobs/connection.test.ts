import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import pg from "pg";
import { type TestDatabase, testServer } from "../../testing/database.ts";
import { connectionConfig } from "../database/pool.ts";
import { type JobContext, noPayload, retryAfter, task } from "./task.ts";
import { type BenchWorker, jobBench, liveWorkers, patienceMs, until } from "./testing/bench.ts";
import { reopenMs } from "./worker.ts";

interface Ports {
  readonly work: (context: JobContext<unknown>) => Promise<void>;
}

const workTask = task<Readonly<Record<string, never>>, Ports>("bench.work", {
  parse: noPayload,
  retry: retryAfter(),
  // Longer than any test: what must stop a job here is not its timeout.
  timeoutMs: 3_600_000,
  run: (_payload, context) => context.ports.work(context),
});

const request = { task: workTask, payload: {} };

describe("a lost database connection", { concurrency: true }, () => {
  test("a short loss disturbs no running job, and later jobs run", async (t) => {
    const bench = await jobBench(t);
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const work: Ports["work"] = async ({ signal }) => {
      begun += 1;
      await Promise.race([gate.promise, once(signal, "abort")]);
      signal.throwIfAborted();
    };
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    await bench.enqueue(request);
    await until("the job runs", () => begun === 1);
    const cutAt = performance.now();
    await cutConnections(bench.database);
    await until("the lock is held again", async () => (await liveWorkers(bench).catch(() => [])).length === 1);
    await until("a loss that lasted would have ended the job", () => performance.now() > cutAt + 2 * reopenMs);
    gate.resolve();
    await settled(worker);
    assert.equal(begun, 1);
    await bench.enqueue(request);
    await worker.waitUntilIdle(patienceMs);
    assert.equal(begun, 2);
  });

  test("a job that other workers took back meanwhile is stopped, and its outcome changes nothing", async (t) => {
    const bench = await jobBench(t);
    let begun = 0;
    let ended = 0;
    const work: Ports["work"] = async ({ signal }) => {
      begun += 1;
      await once(signal, "abort");
      ended += 1;
      throw new Error("interrupted");
    };
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    await bench.enqueue(request);
    await until("the job runs", () => begun === 1);
    const other = await bench.database.app.connect();
    await other.query("select pg_advisory_lock(1785684595, 5)");
    const { owner } = bench.database;
    await owner.query("update emanet.jobs set worker = 5 where task = $1", [workTask.name]);
    const [holder] = (await liveWorkers(bench)).filter((number) => number !== 5);
    await owner.query(
      "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid::bigint = $1",
      [holder],
    );
    await until("the job is stopped", () => ended === 1);
    await worker.drain(patienceMs);
    assert.deepEqual(
      (await bench.jobs()).map((job) => [job.worker, job.attempt, job.error_class]),
      [[5, 1, null]],
    );
    other.release(true);
  });

  test("a job that was taken by a statement whose answer was lost is given back by the next session", async (t) => {
    const bench = await jobBench(t);
    let begun = 0;
    const work = async () => {
      begun += 1;
    };
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    const { owner } = bench.database;
    const [number] = await liveWorkers(bench);
    await owner.query(
      `insert into emanet.jobs (id, task, payload, worker, run_at, created_at)
       values (gen_random_uuid(), $1, '{}', $2, $3, $3)`,
      [workTask.name, number, bench.clock.now()],
    );
    await cutConnections(bench.database);
    await settled(worker);
    assert.equal(begun, 1);
  });

  test("cut again and again under load, the worker does all its jobs", async (t) => {
    const bench = await jobBench(t);
    const done = new Set<string>();
    const work: Ports["work"] = async ({ jobId }) => {
      await bench.database.app.query("select pg_sleep(0.01)").catch(() => undefined);
      done.add(jobId);
    };
    const ids: (string | undefined)[] = [];
    for (let index = 0; index < 300; index += 1) ids.push(await bench.enqueue(request));
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    for (let cut = 1; cut <= 5; cut += 1) {
      await until("some more are done", () => done.size >= cut * 20);
      await cutConnections(bench.database);
    }
    await settled(worker);
    assert.equal(done.size, ids.length);
    assert.deepEqual(await bench.jobs(), []);
  });

  test("a long loss ends the running jobs; when the database is back they run again", async (t) => {
    const bench = await jobBench(t);
    const { database } = bench;
    const aborted = Promise.withResolvers<void>();
    const attempts: number[] = [];
    const work: Ports["work"] = async ({ attempt, signal }) => {
      attempts.push(attempt);
      if (attempts.length > 1) return;
      await once(signal, "abort");
      aborted.resolve();
      throw new Error("interrupted");
    };
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    await bench.enqueue(request);
    await until("the job runs", () => attempts.length === 1);
    await asAdmin(`alter database ${database.target.database} with allow_connections false`);
    await cutConnections(database);
    await aborted.promise;
    await asAdmin(`alter database ${database.target.database} with allow_connections true`);
    await settled(worker);
    assert.deepEqual(attempts, [1, 1]);
    await bench.enqueue(request);
    await worker.waitUntilIdle(patienceMs);
    assert.equal(attempts.length, 3);
  });
});

/** Asks until an answer comes: a connection that was cut may be noticed only when it is used. */
async function settled(worker: BenchWorker): Promise<void> {
  await until("all jobs are done", () =>
    worker.waitUntilIdle(patienceMs).then(
      () => true,
      () => false,
    ),
  );
}

async function cutConnections({ target }: TestDatabase): Promise<void> {
  await asAdmin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${target.database}'`);
}

async function asAdmin(sql: string): Promise<void> {
  const client = new pg.Client(connectionConfig(testServer().admin));
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
