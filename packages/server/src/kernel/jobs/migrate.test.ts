import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLog, testDatabase } from "../../testing/database.ts";
import { systemRandom } from "../clock.ts";
import { migrate, readMigrations } from "../database/migrate.ts";
import { retryAfter, task } from "./task.ts";
import { benchClock, until } from "./testing/bench.ts";
import { Worker } from "./worker.ts";

const before = 13;

describe("a database of the release before", { concurrency: true }, () => {
  test("has the same jobs after the migration: waiting ones and those that a worker had run when they are due, failed ones never", async (t) => {
    const { owner } = await testDatabase(t, { empty: true });
    const migrations = await readMigrations();
    await migrate({ owner, log: silentLog, migrations: migrations.slice(0, before) });
    const clock = benchClock();
    await owner.query("create schema graphile_worker; create table graphile_worker._private_jobs (id bigint)");
    await owner.query(
      `insert into emanet.jobs (id, task, key, payload, state, attempt, dispatch, claimed_by, run_at, created_at, failed_at)
       select gen_random_uuid(), 'notes.keep', name, json_build_object('name', name), state, attempt, 1, worker,
         $1::timestamptz + make_interval(hours => hours), $1, case when state = 'failed' then $1::timestamptz end
       from (values ('queued', 'queued', 1, null, 0), ('running', 'queued', 2, 'worker-1', 0),
                    ('later', 'scheduled', 3, null, 1), ('failed', 'failed', 4, null, 0))
         as old (name, state, attempt, worker, hours)`,
      [clock.now()],
    );
    await migrate({ owner, log: silentLog, migrations });
    const schemas = await owner.query("select from pg_namespace where nspname = 'graphile_worker'");
    assert.equal(schemas.rows.length, 0);

    const runs: unknown[] = [];
    const keep = task<unknown>("notes.keep", {
      parse: (payload) => payload,
      retry: retryAfter(),
      run: async (payload, { attempt }) => void runs.push([(payload as { name: string }).name, attempt]),
    });
    const worker = await Worker.start({
      ...{ ownerPool: owner, tasks: [keep], ports: {}, clock, random: systemRandom, log: silentLog },
    });
    try {
      await until("the due jobs have run", () => runs.length >= 2);
      assert.deepEqual(runs.toSorted(), [
        ["queued", 1],
        ["running", 2],
      ]);
      clock.advance(3_600_000);
      await until("the later job has run", () => runs.length >= 3);
      assert.deepEqual(runs.slice(2), [["later", 3]]);
    } finally {
      await worker.drain(10_000);
    }
    const { rows } = await owner.query("select key, attempt from emanet.jobs where task = 'notes.keep'");
    assert.deepEqual(rows, [{ key: "failed", attempt: 4 }]);
  });
});
