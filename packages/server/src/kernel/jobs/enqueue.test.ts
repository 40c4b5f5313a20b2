import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { systemRandom } from "../clock.ts";
import { enqueueJob, maxKeyLength, maxPayloadBytes } from "./enqueue.ts";
import { noPayload, retryAfter, task } from "./task.ts";
import { inTransaction, jobBench, patienceMs } from "./testing/bench.ts";

interface Letter {
  readonly text: string;
}

const letterTask = task<Letter>("letters.post", {
  parse: (payload) => {
    const { text } = payload as Letter;
    if (typeof text !== "string") throw new TypeError("not a letter");
    return { text };
  },
  retry: retryAfter(),
  run: async () => {},
});

const letter = { task: letterTask, payload: { text: "hello" } };

describe("enqueueing", { concurrency: true }, () => {
  test("a job is there if and only if its transaction commits", async (t) => {
    const bench = await jobBench(t);
    const sources = { clock: bench.clock, random: systemRandom };
    const work = inTransaction(bench.database.app, async (client) => {
      await enqueueJob(client, sources, letter);
      throw new Error("changed my mind");
    });
    await assert.rejects(work, /changed my mind/);
    assert.deepEqual(await bench.jobs(), []);
    const id = await bench.enqueue(letter);
    assert.deepEqual(
      (await bench.jobs()).map((job) => [job.id, job.state, job.payload]),
      [[id, "queued", { text: "hello" }]],
    );
  });

  test("of concurrent transactions with one key exactly one makes a job", async (t) => {
    const bench = await jobBench(t);
    const ids = await Promise.all(Array.from({ length: 20 }, () => bench.enqueue({ ...letter, key: "one" })));
    assert.equal(ids.filter((id) => id !== undefined).length, 1);
    assert.equal((await bench.jobs()).length, 1);
  });

  test("a key belongs to its task", async (t) => {
    const bench = await jobBench(t);
    const other = task("letters.burn", { parse: noPayload, retry: retryAfter(), run: async () => {} });
    assert.ok(await bench.enqueue({ ...letter, key: "same" }));
    assert.ok(await bench.enqueue({ task: other, payload: {}, key: "same" }));
  });

  test("what a worker could not read is refused", async (t) => {
    const bench = await jobBench(t);
    const wrong = { text: undefined } as unknown as Letter;
    await assert.rejects(bench.enqueue({ task: letterTask, payload: wrong }), TypeError);
    const large = { text: "x".repeat(maxPayloadBytes) };
    await assert.rejects(bench.enqueue({ task: letterTask, payload: large }), RangeError);
    await assert.rejects(bench.enqueue({ ...letter, key: "k".repeat(maxKeyLength + 1) }), RangeError);
    await assert.rejects(bench.enqueue({ ...letter, key: "" }), RangeError);
    await assert.rejects(bench.enqueue({ ...letter, exclusiveKey: "" }), RangeError);
    assert.deepEqual(await bench.jobs(), []);
  });

  test("the largest payload and text that PostgreSQL's jsonb would refuse arrive unchanged", async (t) => {
    const bench = await jobBench(t);
    const texts = ["x".repeat(maxPayloadBytes - 11), "nul \u0000, half \ud800 of a pair, ğüşıöç"];
    const read: string[] = [];
    const keep = task<Letter>("letters.post", { ...letterTask, run: async ({ text }) => void read.push(text) });
    const worker = await bench.start({ tasks: [keep], ports: {}, concurrency: 1 });
    for (const text of texts) await bench.enqueue({ task: letterTask, payload: { text } });
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(read, texts);
  });

  test("the application role can enqueue, and touch the queue in no other way", async (t) => {
    const bench = await jobBench(t);
    await bench.enqueue(letter);
    const { app } = bench.database;
    const { rows } = await app.query<{ role: string }>("select current_user as role");
    assert.equal(rows[0]?.role, "emanet_app");
    const statements = [
      "select * from emanet.jobs",
      "insert into emanet.jobs (id) values (gen_random_uuid())",
      "update emanet.jobs set attempt = 2",
      "delete from emanet.jobs",
      "select emanet.job_turn(1, '{}', '[]', '[]', 1, 1, now(), '{letters.post}')",
      "select emanet.enter_job_worker(1, '{}', '[]', now())",
      "select emanet.check_job_workers(1, '{1}')",
      "select emanet.purge_failed_jobs(now(), now())",
      "select * from emanet.list_jobs(null, null, null, null, 10, now())",
    ];
    for (const statement of statements) {
      await assert.rejects(app.query(statement), { code: "42501" }, statement);
    }
  });

  test("only the application role may call its functions, and a search path cannot redirect them", async (t) => {
    const bench = await jobBench(t);
    const { rows } = await bench.database.owner.query(
      `select proname, proconfig && '{"search_path=pg_catalog, pg_temp"}' as pinned,
              exists (select from aclexplode(proacl) where grantee = 0) as everybody
       from pg_proc where pronamespace = 'emanet'::regnamespace and has_function_privilege('emanet_app', oid, 'execute')
         and prosecdef and proname ~ 'job' order by 1`,
    );
    const names = ["cancel_job", "enqueue_job", "job_status", "list_jobs"];
    assert.deepEqual(
      rows,
      names.map((proname) => ({ proname, pinned: true, everybody: false })),
    );
  });
});
