import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { Kysely, PostgresDialect } from "kysely";
import type { Pool, PoolClient } from "pg";
import type { Database } from "../database/rows.generated.ts";
import type { FinishedJob } from "../metrics.ts";
import { cancelJob, jobStatus } from "./read.ts";
import { type JobContext, type Priority, retryAfter, task } from "./task.ts";
import { type Bench, inTransaction, jobBench, liveWorkers, patienceMs, until } from "./testing/bench.ts";

interface Ports {
  readonly work: (name: string, context: JobContext<unknown>) => Promise<void> | void;
}

const spec = {
  parse: (payload: unknown) => payload as { name: string },
  retry: retryAfter(3_600_000),
  run: async ({ name }: { name: string }, context: JobContext<Ports>) => context.ports.work(name, context),
};
const workTask = task<{ name: string }, Ports>("bench.work", spec);
const otherTask = task<{ name: string }, Ports>("bench.other_work", spec);
const upkeepTask = task<{ name: string }, Ports>("bench.upkeep", { ...spec, priority: "low" });
const tasks = [workTask, otherTask, upkeepTask];

/** As a transaction of the application has it. */
function txOf(bench: Bench) {
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: bench.database.app }) });
  return { db, now: bench.clock.now() };
}

/** Later than the one before by a millisecond: ids made in the same one have no order. */
async function enqueued(bench: Bench, name: string, more: object = {}): Promise<string> {
  bench.clock.advance(1);
  const id = await bench.enqueue({ task: workTask, payload: { name }, ...more });
  assert.ok(id);
  return id;
}

/** Work that runs until its signal aborts or the gate opens, and remembers what ran. */
function gatedWork() {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const work: Ports["work"] = async (name, { signal }) => {
    begun.push(name);
    await Promise.race([gate.promise, once(signal, "abort")]);
    signal.throwIfAborted();
  };
  return { begun, work, open: () => gate.resolve() };
}

describe("canceling", { concurrency: true }, () => {
  test("a waiting job is gone with the commit, and its key is free; one that a rolled back transaction canceled runs", async (t) => {
    const bench = await jobBench(t);
    const id = await enqueued(bench, "never", { key: "one" });
    assert.equal(await cancelJob(txOf(bench), id), "canceled");
    assert.equal(await cancelJob(txOf(bench), id), null);
    assert.equal(await jobStatus(txOf(bench), id), undefined);
    const next = await enqueued(bench, "runs", { key: "one" });
    const undone = inTransaction(bench.database.app, async (client) => {
      await client.query("select emanet.cancel_job($1)", [next]);
      throw new Error("changed my mind");
    });
    await assert.rejects(undone, /changed my mind/);
    const ran: string[] = [];
    const worker = await bench.start({ tasks, ports: { work: (name) => void ran.push(name) } });
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(ran, ["runs"]);
  });

  test("a running job is told to end, keeps its key until it has ended, and is not repeated", async (t) => {
    const bench = await jobBench(t);
    const { begun, work } = gatedWork();
    const reports: FinishedJob[] = [];
    const worker = await bench.start({ tasks, ports: { work }, onReport: (report) => void reports.push(report) });
    const id = await enqueued(bench, "long", { key: "one" });
    await until("it runs", () => begun.length === 1);
    assert.equal(await cancelJob(txOf(bench), id), "canceling");
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(await bench.jobs(), []);
    await until("it is reported", () => reports.length > 0);
    assert.deepEqual(
      reports.map((report) => report.outcome),
      ["canceled"],
    );
    assert.ok(await bench.enqueue({ task: workTask, payload: { name: "after" }, key: "one" }));
  });

  test("a job whose worker died after the cancellation runs no further attempt", async (t) => {
    const bench = await jobBench(t);
    const id = await enqueued(bench, "never");
    await bench.database.owner.query("update emanet.jobs set worker = 7 where id = $1", [id]);
    assert.equal(await cancelJob(txOf(bench), id), "canceling");
    assert.equal((await jobStatus(txOf(bench), id))?.canceled, true);
    const { begun, work } = gatedWork();
    await bench.start({ tasks, ports: { work } });
    await until("it is gone", async () => (await bench.jobs()).length === 0);
    assert.deepEqual(begun, []);
  });

  test("an outcome waits for a transaction that cancels its job, and other jobs run meanwhile", async (t) => {
    const bench = await jobBench(t);
    const { begun, work, open } = gatedWork();
    const worker = await bench.start({ tasks, ports: { work } });
    const id = await enqueued(bench, "locked");
    await until("it runs", () => begun.length === 1);
    await inTransaction(bench.database.app, async (client) => {
      await client.query("select emanet.cancel_job($1)", [id]);
      open();
      await enqueued(bench, "other");
      await until("another job is done", async () => (await bench.jobs()).length === 1 && begun.length === 2);
    });
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(begun, ["locked", "other"]);
  });

  test("a cancellation that arrives before the answer that starts the job prevents the start", async (t) => {
    const bench = await jobBench(t);
    const { begun, work } = gatedWork();
    const canceled: unknown[] = [];
    const ownerPool = holdingTurns(bench.database.owner, async (client) => {
      const [job] = await bench.jobs();
      const told = new Promise<void>((resolve) =>
        client.on("notification", ({ payload }) => payload?.startsWith("cancel") && resolve()),
      );
      canceled.push(await cancelJob(txOf(bench), job?.id ?? ""));
      await told;
    });
    const worker = await bench.start({ tasks, ports: { work }, ownerPool });
    await enqueued(bench, "never");
    await until("it is canceled", () => canceled.length > 0);
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual([canceled, begun, await bench.jobs()], [["canceling"], [], []]);
  });

  test("in a race with the start of a job, it is either canceled before it runs or told to end", async (t) => {
    const bench = await jobBench(t);
    let running = 0;
    const work: Ports["work"] = async (_name, { signal }) => {
      running += 1;
      if (!signal.aborted) await once(signal, "abort");
      running -= 1;
      throw new Error("interrupted");
    };
    const worker = await bench.start({ tasks, ports: { work } });
    const tx = txOf(bench);
    for (let round = 0; round < 60; round++) {
      const id = await enqueued(bench, `round ${round}`);
      // More or less late, so that it meets different moments of the start.
      for (let turn = 0; turn < round % 6; turn++) await bench.database.app.query("select 1");
      assert.notEqual(await cancelJob(tx, id), null);
    }
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual([await bench.jobs(), running], [[], 0]);
  });
});

/** The pool, with sessions that hold back the answer to a turn that took a job until `meanwhile` has ended. */
function holdingTurns(pool: Pool, meanwhile: (client: PoolClient) => Promise<void>): Pool {
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (config: unknown) => Promise<{ rows: { taken?: unknown }[] }>;
    const held = async (config: unknown) => {
      const result = await query(config);
      if (result.rows?.[0]?.taken) await meanwhile(client);
      return result;
    };
    return Object.assign(client, { query: held });
  };
  return Object.create(pool, { connect: { value: connect } }) as Pool;
}

describe("progress", { concurrency: true }, () => {
  test("is numbers, stored while the job runs, the last value wins; it ends with the attempt", async (t) => {
    const bench = await jobBench(t);
    const gate = Promise.withResolvers<void>();
    const refused: unknown[] = [];
    const work: Ports["work"] = async (_name, { progress }) => {
      for (const wrong of [{ bytes: Number.NaN }, { ["x".repeat(1_001)]: 1 }]) {
        try {
          progress(wrong);
        } catch (error) {
          refused.push(error instanceof RangeError);
        }
      }
      for (let bytes = 0; bytes <= 4_096; bytes++) progress({ bytes, bytes_total: 4_096 });
      await gate.promise;
      throw new Error("fails once");
    };
    const worker = await bench.start({ tasks, ports: { work } });
    const id = await enqueued(bench, "long");
    await until("it is stored", async () => (await jobStatus(txOf(bench), id))?.progress?.bytes === 4_096);
    const { state, progress } = (await jobStatus(txOf(bench), id)) ?? {};
    assert.deepEqual([state, progress, refused], ["running", { bytes: 4_096, bytes_total: 4_096 }, [true, true]]);
    gate.resolve();
    await worker.waitUntilIdle(patienceMs);
    const after = await jobStatus(txOf(bench), id);
    assert.deepEqual([after?.state, after?.attempt, after?.progress], ["scheduled", 2, null]);
  });

  test("is not lost by turns that do not store it", async (t) => {
    const bench = await jobBench(t);
    const gate = Promise.withResolvers<void>();
    let report: ((step: number) => void) | undefined;
    const done: string[] = [];
    const work: Ports["work"] = async (name, { progress }) => {
      if (name !== "long") return void done.push(name);
      report = (step) => progress({ step });
      await gate.promise;
    };
    const worker = await bench.start({ tasks, ports: { work } });
    const id = await enqueued(bench, "long");
    await until("it runs", () => report !== undefined);
    const stored = async (step: number) => (await jobStatus(txOf(bench), id))?.progress?.step === step;
    for (const step of [1, 2, 3]) {
      report?.(step);
      // Jobs that begin and end make turns. Few of them are checks, which store progress once a second.
      await enqueued(bench, `short ${step}`);
      await until("another job ends", () => done.length === step);
      await until("the progress is stored", () => stored(step));
    }
    gate.resolve();
    await worker.waitUntilIdle(patienceMs);
  });
});

describe("an exclusive key", { concurrency: true }, () => {
  test("lets one job run at a time, of any task and in any worker, by priority and age; others run beside it", async (t) => {
    const bench = await jobBench(t);
    let running = 0;
    let most = 0;
    const order: string[] = [];
    const work: Ports["work"] = async (name) => {
      order.push(name);
      if (name === "free") return;
      running += 1;
      most = Math.max(most, running);
      await bench.database.app.query("select pg_sleep(0.005)");
      running -= 1;
    };
    const exclusiveKey = "vault:1";
    const expected: string[] = [];
    for (let count = 0; count < 20; count++) {
      const name = String(100 + count);
      expected.push(name);
      await enqueued(bench, name, { task: count % 2 === 0 ? workTask : otherTask, exclusiveKey });
    }
    await enqueued(bench, "first", { exclusiveKey, priority: "high" });
    await enqueued(bench, "free");
    const workers = await Promise.all([1, 2, 3].map(() => bench.start({ tasks, ports: { work } })));
    await workers[0]?.waitUntilIdle(patienceMs);
    assert.equal(most, 1);
    assert.ok(order.indexOf("free") <= 2, "it does not wait for the others");
    assert.deepEqual(
      order.filter((name) => name !== "free"),
      ["first", ...expected],
    );
  });

  test("the database refuses two running jobs with one key, whatever a worker does", async (t) => {
    const bench = await jobBench(t);
    for (const name of ["a", "b"]) await enqueued(bench, name, { exclusiveKey: "vault:1" });
    const both = bench.database.owner.query("update emanet.jobs set worker = 1 where task = 'bench.work'");
    await assert.rejects(both, { code: "23505" });
  });

  test("a job that waits for its retry does not hold up the next one", async (t) => {
    const bench = await jobBench(t);
    const ran: string[] = [];
    const work: Ports["work"] = (name) => {
      ran.push(name);
      if (name === "fails") throw new Error("once");
    };
    const worker = await bench.start({ tasks, ports: { work } });
    await enqueued(bench, "fails", { exclusiveKey: "vault:1" });
    await enqueued(bench, "next", { exclusiveKey: "vault:1" });
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(ran, ["fails", "next"]);
  });
});

describe("priorities", { concurrency: true }, () => {
  test("high before normal before low, each in the order of its time", async (t) => {
    const bench = await jobBench(t);
    const order: string[] = [];
    for (const [count, priority] of (["low", "normal", "high", "low", "normal", "high"] as Priority[]).entries()) {
      await enqueued(bench, `${priority} ${count}`, { priority });
    }
    const ports = { work: (name: string) => void order.push(name) };
    const worker = await bench.start({ tasks, ports, concurrency: 1 });
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(order, ["high 2", "high 5", "normal 1", "normal 4", "low 0", "low 3"]);
  });

  test("long jobs of low priority leave half of the slots to others, and run when nothing else waits", async (t) => {
    const bench = await jobBench(t);
    const { begun, work, open } = gatedWork();
    const worker = await bench.start({ tasks, ports: { work }, concurrency: 4 });
    for (let count = 0; count < 6; count++) await bench.enqueue({ task: upkeepTask, payload: { name: "upkeep" } });
    await until("two of them run", () => begun.length === 2);
    await enqueued(bench, "mail");
    await enqueued(bench, "mail");
    await until("the others run beside them", () => begun.length === 4);
    assert.deepEqual(begun, ["upkeep", "upkeep", "mail", "mail"]);
    open();
    await worker.waitUntilIdle(patienceMs);
    assert.equal(begun.length, 8);
  });
});

describe("an idle worker", { concurrency: true }, () => {
  test("holds its lock, sends no statement, and runs a job at once when one is enqueued or its clock is moved", async (t) => {
    const bench = await jobBench(t);
    const ran: string[] = [];
    await bench.start({ tasks, ports: { work: (name) => void ran.push(name) } });
    const runAt = new Date(bench.clock.now().getTime() + 60_000);
    await enqueued(bench, "later", { runAt });
    await until(
      "it sends nothing for longer than it waits while others exist",
      async () => (await silentMs(bench)) > 2_500,
    );
    assert.equal((await liveWorkers(bench)).length, 1);
    bench.clock.advance(60_000);
    await until("it runs", () => ran.length === 1);
    await enqueued(bench, "now");
    await until("it runs", () => ran.length === 2);
    assert.deepEqual(ran, ["later", "now"]);
  });
});

/** For how long the session that holds the worker's lock has sent no statement. */
async function silentMs(bench: Bench): Promise<number> {
  const { rows } = await bench.database.owner.query<{ ms: number }>(
    `select (1000 * extract(epoch from clock_timestamp() - state_change))::integer as ms from pg_stat_activity
     join pg_locks using (pid) where locktype = 'advisory' and classid::bigint = 1785684595 and datname = current_database()`,
  );
  return rows[0]?.ms ?? 0;
}
