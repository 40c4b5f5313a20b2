import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { sql } from "kysely";
import type { Pool } from "pg";
import { silentLog, testDatabase } from "../../testing/database.ts";
import { createNotesTable, listNotes } from "../../testing/notes.ts";
import { startTestService, testToken } from "../../testing/running.ts";
import { recordUpload } from "../../testing/transfers.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { noPayload, retryAfter, task } from "../jobs/task.ts";
import { jobBench, patienceMs, until } from "../jobs/testing/bench.ts";
import { Problem } from "../problems.ts";
import { createTransactions, type ReadTx, type Transactions, type TxContext } from "../tx.ts";
import { inBackground } from "./background.ts";
import { openPools } from "./pool.ts";

const database = await testDatabase({ after });

const connections = 4;
/** Of them, for the background. */
const share = 2;

const account = { kind: "account", accountId: "0199c0de-0000-7000-8000-0000000000aa" } as const;
const context: TxContext = {
  actor: { kind: "client", id: "client-1" },
  context: { request_id: "request-1" },
  signal: new AbortController().signal,
};

async function opened(t: TestContext, waitMs = 30_000): Promise<Transactions> {
  const pools = await openPools({ target: database.target, log: silentLog, appConnections: connections, waitMs });
  t.after(pools.close);
  return createTransactions(pools.app, systemClock, systemRandom, silentLog);
}

const touch = async ({ db }: ReadTx) => void (await sql`select 1`.execute(db));

/** Transactions that begin and then stay open until they are let go. */
function heldOpen(transactions: Transactions) {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  let isHeld = true;
  let onBegin: () => void = () => undefined;
  return {
    begun,
    /** Ends the one that began first of those that are open. */
    letOneGo: () => ends.shift()?.(),
    letGo: () => {
      isHeld = false;
      for (const end of ends.splice(0)) end();
    },
    run: (number: number) =>
      transactions.run(context, account, async (tx) => {
        await touch(tx);
        const held = Promise.withResolvers<void>();
        begun.push(number);
        if (isHeld) ends.push(held.resolve);
        else held.resolve();
        onBegin();
        await held.promise;
      }),
    untilBegun: (count: number) =>
      new Promise<void>((resolve) => {
        onBegin = () => void (begun.length >= count && resolve());
        onBegin();
      }),
  };
}

test("the background has half of the connections, in the order of its requests, and other work finds a free one", async (t) => {
  const transactions = await opened(t);
  const background = heldOpen(transactions);
  const ends = Array.from({ length: 40 }, (_, number) => inBackground(() => background.run(number)));
  await background.untilBegun(share);
  const others = heldOpen(transactions);
  const otherEnds = [0, 1].map((number) => others.run(number));
  await others.untilBegun(connections - share);
  assert.equal(background.begun.length, share);
  assert.equal(transactions.backgroundWaiting(), ends.length - share);
  others.letGo();
  await Promise.all(otherEnds);
  await Promise.all(Array.from({ length: 20 }, () => transactions.read(context, account, touch)));
  assert.equal(background.begun.length, share);
  for (let count = share + 1; count <= ends.length; count++) {
    background.letOneGo();
    await background.untilBegun(count);
  }
  background.letGo();
  await Promise.all(ends);
  assert.equal(transactions.backgroundWaiting(), 0);
  // The first ones begin at the same time, so they may change places.
  const numbers = [...background.begun.slice(0, share).sort(), ...background.begun.slice(share)];
  assert.deepEqual(numbers, [...ends.keys()]);
});

test("work that holds a connection of the background's share gets a second one", async (t) => {
  const transactions = await opened(t);
  const all = Promise.withResolvers<void>();
  let inside = 0;
  const run = () =>
    transactions.run(context, account, async (tx) => {
      await touch(tx);
      if (++inside === share) all.resolve();
      await all.promise;
      await transactions.read(context, account, touch);
    });
  await inBackground(() => Promise.all([run(), run()]));
});

test("who waits longer than callers of the pool may is told that the service is unavailable, and takes no connection later", async (t) => {
  const transactions = await opened(t, 200);
  const background = heldOpen(transactions);
  const ends = Array.from({ length: share }, (_, number) => inBackground(() => background.run(number)));
  await background.untilBegun(share);
  const late = inBackground(() => transactions.read(context, account, touch));
  await assert.rejects(late, (error) => error instanceof Problem && error.code === "unavailable");
  background.letGo();
  await Promise.all(ends);
  const again = heldOpen(transactions);
  const next = Array.from({ length: share }, (_, number) => inBackground(() => again.run(number)));
  await again.untilBegun(share);
  again.letGo();
  await Promise.all(next);
});

test("a transaction or a read that fails gives its connection back", async (t) => {
  const transactions = await opened(t);
  for (let at = 0; at <= connections; at++)
    await inBackground(async () => {
      const fail = async (tx: ReadTx) => {
        await touch(tx);
        throw new Error("failed");
      };
      await assert.rejects(transactions.run(context, account, fail), /failed/);
      await assert.rejects(transactions.read(context, account, fail), /failed/);
    });
  await inBackground(() => transactions.run(context, account, touch));
});

test("a connection that cannot be opened takes nothing from the share", async () => {
  const refuse = async () => assert.fail("the database is away");
  const pool = { connect: refuse, options: { max: connections } } as unknown as Pool;
  const transactions = createTransactions(pool, systemClock, systemRandom, silentLog);
  for (let at = 0; at <= connections; at++)
    await assert.rejects(
      inBackground(() => transactions.read(context, account, touch)),
      /the database is away/,
    );
});

test("operations that take content are background; a list is answered while uploads hold the share and others wait", async () => {
  const service = await startTestService({ after }, { extra: [recordUpload, listNotes] });
  await createNotesTable(service.database.owner);
  const token = testToken(account.accountId, "client-1", ["account:read", "account:write"]);
  const headers = { authorization: `Bearer ${token}` };
  const client = await service.database.owner.connect();
  // Readers of the table are not blocked by this lock, writers are.
  await client.query("begin; lock table emanet.test_notes in exclusive mode");
  const uploads = Array.from({ length: 30 }, () =>
    service.send("POST", "/v1/test-records", { headers, body: "content" }),
  );
  const blocked = async () => {
    const { rows } = await service.database.owner.query<{ n: number }>(
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows[0]?.n ?? 0;
  };
  await until("uploads hold their share", async () => (await blocked()) === serviceShare);
  for (let at = 0; at < 5; at++) assert.equal((await service.send("GET", "/v1/test-notes", { headers })).status, 200);
  assert.equal(await blocked(), serviceShare);
  await client.query("commit");
  client.release();
  for (const { status } of await Promise.all(uploads)) assert.equal(status, 201);
});

/** Half of the connections that a service has. */
const serviceShare = 5;

test("jobs are background", async (t) => {
  const bench = await jobBench(t);
  const pools = await openPools({ target: bench.database.target, log: silentLog, appConnections: connections });
  t.after(pools.close);
  const background = heldOpen(createTransactions(pools.app, systemClock, systemRandom, silentLog));
  const hold = task("tests.hold", {
    parse: noPayload,
    retry: retryAfter(),
    run: async () => background.run(0),
  });
  const jobs = 6;
  for (let at = 0; at < jobs; at++) await bench.enqueue({ task: hold, payload: {} });
  const worker = await bench.start({ tasks: [hold], ports: {} });
  await background.untilBegun(share);
  const others = heldOpen(createTransactions(pools.app, systemClock, systemRandom, silentLog));
  const otherEnds = [0, 1].map((number) => others.run(number));
  await others.untilBegun(connections - share);
  assert.equal(background.begun.length, share);
  others.letGo();
  await Promise.all(otherEnds);
  background.letGo();
  await worker.waitUntilIdle(patienceMs);
  assert.equal(background.begun.length, jobs);
});
