import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLog } from "../../testing/database.ts";
import { acquireLease, lockKey } from "./lease.ts";
import { deregister, recover } from "./recovery.ts";
import { type Bench, jobBench, until } from "./testing/bench.ts";

describe("a lease", { concurrency: true }, () => {
  test("keeps its worker from being recovered until it is released", async (t) => {
    const bench = await jobBench(t);
    const { owner } = bench.database;
    const lease = await acquire(bench);
    assert.equal(await recover(owner, "me"), undefined);
    await lease.release();
    assert.equal(await lease.ended, "released");
    // The server notices the end of a session a moment later.
    await until("it can be recovered", async () => (await recover(owner, "me")) === 0);
    assert.equal(await recover(owner, "me"), undefined, "a worker is recovered once");
  });

  test("that was lost is regained on another connection", async (t) => {
    const bench = await jobBench(t);
    const lease = await acquire(bench);
    const before = await holder(bench);
    await bench.database.owner.query("select pg_terminate_backend($1)", [before]);
    await until("another connection holds the lock", async () => ![undefined, before].includes(await holder(bench)));
    await lease.held();
    await lease.release();
    assert.equal(await lease.ended, "released");
  });

  test("of a worker that was struck off meanwhile ends", async (t) => {
    const bench = await jobBench(t);
    const { owner } = bench.database;
    const lease = await acquire(bench);
    const before = await holder(bench);
    assert.equal(await deregister(owner, "me"), 0);
    await owner.query("select pg_terminate_backend($1)", [before]);
    assert.equal(await lease.ended, "fenced");
    await lease.held();
  });
});

function acquire(bench: Bench) {
  return acquireLease({ pool: bench.database.owner, workerId: "me", now: bench.clock.now(), log: silentLog });
}

/** The server process that holds the lock of worker `me`. */
async function holder(bench: Bench): Promise<number | undefined> {
  const { rows } = await bench.database.owner.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted
       and database = (select oid from pg_database where datname = current_database())
       and ((classid::bigint << 32) | objid::bigint) = ${lockKey("'me'")}`,
  );
  return rows[0]?.pid;
}
