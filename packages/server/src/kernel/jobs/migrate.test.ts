import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLog } from "../../testing/database.ts";
import { migrateJobs } from "./migrate.ts";
import { addQueue, claim, pointerKey, redispatchLostPointers } from "./store.ts";
import { noPayload, retryAfter, task } from "./task.ts";
import { jobBench, patienceMs } from "./testing/bench.ts";

const quietTask = task("bench.quiet", { parse: noPayload, retry: retryAfter(), run: async () => {} });

describe("graphile-worker's tables", { concurrency: true }, () => {
  test("two starters at once both succeed", async (t) => {
    const { database } = await jobBench(t);
    const { owner } = database;
    await owner.query("drop schema graphile_worker cascade");
    await Promise.all([migrateJobs({ owner, log: silentLog }), migrateJobs({ owner, log: silentLog })]);
    await migrateJobs({ owner, log: silentLog });
    await owner.query("select graphile_worker.add_job('bench.quiet')");
  });

  test("when they are lost, so that jobs have no pointer, no job is", async (t) => {
    const bench = await jobBench(t);
    const { owner } = bench.database;
    await bench.enqueue({ task: quietTask, payload: {} });
    await owner.query("drop schema graphile_worker cascade");
    await migrateJobs({ owner, log: silentLog });
    const worker = await bench.start({ tasks: [quietTask], ports: {} });
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(await bench.jobs(), []);
  });

  test("a pointer that was locked for a worker without its knowledge is replaced", async (t) => {
    const bench = await jobBench(t);
    const { owner } = bench.database;
    const jobId = await bench.enqueue({ task: quietTask, payload: {} });
    assert.ok(jobId);
    const pointer = { jobId, dispatch: 1 };
    await owner.query("insert into emanet.job_workers (id, started_at) values ('me', now())");
    assert.equal(await addQueue(owner, "me", "queue"), true);
    assert.equal(await addQueue(owner, "nobody", "queue"), false);
    await owner.query("update graphile_worker._private_jobs set locked_by = 'queue', locked_at = now()");
    assert.equal(await redispatchLostPointers(owner, "me", [pointerKey(pointer)]), 0);
    assert.equal(await redispatchLostPointers(owner, "me", []), 1);
    assert.equal((await bench.jobs())[0]?.state, "scheduled");
    assert.equal(await claim(owner, "me", pointer), "stale");
  });

  test("a claim is one worker's: repeated by it, refused to another, and to one that was taken for dead", async (t) => {
    const bench = await jobBench(t);
    const { owner } = bench.database;
    const jobId = await bench.enqueue({ task: quietTask, payload: {} });
    assert.ok(jobId);
    const pointer = { jobId, dispatch: 1 };
    await owner.query("insert into emanet.job_workers (id, started_at) values ('me', now()), ('you', now())");
    assert.equal(await claim(owner, "dead", pointer), "fenced");
    const claimed = await claim(owner, "me", pointer);
    assert.ok(typeof claimed === "object");
    assert.deepEqual(await claim(owner, "me", pointer), claimed);
    assert.equal(await claim(owner, "you", pointer), "stale");
  });
});
