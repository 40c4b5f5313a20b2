import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Kysely, sql } from "kysely";
import { inSystemScope } from "../testing/audit-chain.ts";
import { testClock } from "../testing/clock.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { createNotesTable, findNoteForgettingTheAccount, noteCreated } from "../testing/notes.ts";
import { systemRandom } from "./clock.ts";
import { type ChangeNotice, listenForChanges } from "./database/change-notices.ts";
import { retryAfter, task } from "./jobs/task.ts";
import type { RowAccess } from "./principal.ts";
import { Problem } from "./problems.ts";
import { createTransactions, type ReadTx, type Tx, type TxContext } from "./tx.ts";

const database = await testDatabase({ after });
await createNotesTable(database.owner);
await database.owner.query(`
  create function emanet.refuse_at_commit() returns trigger language plpgsql as $$
    begin raise exception 'refused at commit'; end $$;
  create constraint trigger refuse_at_commit after insert on emanet.test_notes
    deferrable initially deferred for each row when (new.text = 'fails at commit')
    execute function emanet.refuse_at_commit();`);

const clock = testClock();
const transactions = createTransactions(database.app, clock, systemRandom, silentLog);

const alice = { kind: "account", accountId: "0199c0de-0000-7000-8000-0000000000aa" } as const;
const bob = { kind: "account", accountId: "0199c0de-0000-7000-8000-0000000000bb" } as const;
const platform: RowAccess = { kind: "platform" };
const system: RowAccess = { kind: "system" };

const context: TxContext = {
  actor: { kind: "client", id: "client-1" },
  context: { request_id: "request-1" },
  signal: new AbortController().signal,
};

const remind = task<{ note: string }>("tests.remind", {
  parse: (payload) => payload as { note: string },
  retry: retryAfter(),
  run: async () => undefined,
});

interface Notes {
  test_notes: { id: string; account_id: string; text: string; created_at: Date };
}

function notes(tx: Tx): Kysely<Notes> {
  return tx.db as unknown as Kysely<Notes>;
}

/** Changes, audits, emits and enqueues; each carries the text, so that all of it can be looked for. */
async function everything(tx: Tx, text: string, accountId: string = alice.accountId): Promise<string> {
  const id = systemRandom.uuid();
  await notes(tx).insertInto("test_notes").values({ id, account_id: accountId, text, created_at: tx.now }).execute();
  tx.audit({ action: "note.created", targets: [{ type: "note", id }], metadata: { text } });
  tx.emit(noteCreated, { note_id: id, text });
  await tx.job({ task: remind, payload: { note: text } });
  return id;
}

/** How many notes, audit records, events and jobs carry the text. */
async function traces(text: string): Promise<readonly number[]> {
  const seen = await inSystemScope(database.app, async (client) => {
    const { rows } = await client.query<Record<string, number>>(
      `select (select count(*) from test_notes where text = $1) as notes,
        (select count(*) from audit_records where metadata->>'text' = $1) as audits,
        (select count(*) from events where payload::json->>'text' = $1) as events`,
      [text],
    );
    return rows[0];
  });
  const jobs = await database.owner.query<{ n: number }>("select count(*) as n from jobs where payload->>'note' = $1", [
    text,
  ]);
  return [seen?.notes ?? -1, seen?.audits ?? -1, seen?.events ?? -1, jobs.rows[0]?.n ?? -1];
}

const unavailable = (error: unknown) => error instanceof Problem && error.code === "unavailable";

describe("one commit", () => {
  test("change, audit record, event and job are there together", async () => {
    await transactions.run(context, alice, (tx) => everything(tx, "whole"));
    assert.deepEqual(await traces("whole"), [1, 1, 1, 1]);
  });

  test("none of them is there when the work throws, and its own error is what the caller gets", async () => {
    const fault = new Error("after everything");
    const run = transactions.run(context, alice, async (tx) => {
      await everything(tx, "thrown");
      throw fault;
    });
    await assert.rejects(run, (error) => error === fault);
    assert.deepEqual(await traces("thrown"), [0, 0, 0, 0]);
  });

  test("none of them is there when the commit itself is refused", async () => {
    await assert.rejects(transactions.run(context, alice, (tx) => everything(tx, "fails at commit")));
    assert.deepEqual(await traces("fails at commit"), [0, 0, 0, 0]);
  });

  test("none of them is there when the connection is lost, and the caller may try again", async () => {
    for (let again = 0; again < 11; again++) {
      const run = transactions.run(context, alice, async (tx) => {
        await everything(tx, "lost");
        await endConnection(tx);
      });
      await assert.rejects(run, unavailable);
    }
    assert.deepEqual(await traces("lost"), [0, 0, 0, 0]);
    // More often than there are connections: none of them was lost to the pool.
    await transactions.run(context, alice, (tx) => everything(tx, "found"));
    assert.deepEqual(await traces("found"), [1, 1, 1, 1]);
  });

  test("none of them is there when the caller has given up before the commit", async () => {
    const caller = new AbortController();
    const run = transactions.run({ ...context, signal: caller.signal }, alice, async (tx) => {
      await everything(tx, "given up");
      caller.abort(new Error("too late"));
    });
    await assert.rejects(run, unavailable);
    assert.deepEqual(await traces("given up"), [0, 0, 0, 0]);
    await assert.rejects(
      transactions.run({ ...context, signal: caller.signal }, alice, async () => 1),
      unavailable,
    );
  });

  test("a failed statement that the work swallowed does not become a commit", async () => {
    const run = transactions.run(context, alice, async (tx) => {
      await everything(tx, "swallowed");
      await sql`select 1 / 0`.execute(tx.db).catch(() => "swallowed");
      return "fine";
    });
    await assert.rejects(run);
    assert.deepEqual(await traces("swallowed"), [0, 0, 0, 0]);
  });

  test("the moment of a transaction is one and the same, and comes from the application's clock", async () => {
    const id = await transactions.run(context, alice, async (tx) => {
      clock.advance(5_000);
      return everything(tx, "moment");
    });
    const [row] = await inSystemScope(database.app, async (client) => {
      const query = `select n.created_at as made, a.occurred_at as audited, e.created_at as emitted
        from test_notes n, audit_records a, events e
        where n.id = $1 and a.metadata->>'text' = 'moment' and e.payload::json->>'note_id' = $1::text`;
      return (await client.query<Record<string, Date>>(query, [id])).rows;
    });
    assert.deepEqual(row?.audited, row?.made);
    assert.deepEqual(row?.emitted, row?.made);
    assert.equal(row?.made?.getTime(), clock.now().getTime() - 5_000);
  });
});

async function endConnection(tx: Tx): Promise<void> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.db);
  await database.owner.query("select pg_terminate_backend($1, 5000)", [rows[0]?.pid]);
}

describe("changes of what processes keep in memory", () => {
  const carol = { kind: "account", accountId: "0199c0de-0000-7000-8000-0000000000cc" } as const;
  const seen: (string | null)[] = [];
  transactions.onChange("note_counts", async (accountId) => {
    assert.notEqual((await traces("counted again"))[0], 0, "the listener sees what was committed");
    seen.push(accountId);
  });
  const count = async (tx: Tx) => {
    await everything(tx, "counted again");
    await everything(tx, "counted again");
  };
  before(() =>
    database.owner.query(`create trigger note_change after insert on emanet.test_notes
      for each row execute function emanet.note_change('note_counts', 'account_id')`),
  );
  after(() => database.owner.query("drop trigger note_change on emanet.test_notes"));

  test("are told before the transaction returns, once for each account", async () => {
    await transactions.run(context, alice, count);
    assert.deepEqual(seen.splice(0), [alice.accountId]);
    await transactions.run(context, alice, async (tx) => {
      await count(tx);
      await tx.within(carol, (inner) => everything(inner, "counted again", carol.accountId));
    });
    assert.deepEqual(seen.splice(0).sort(), [alice.accountId, carol.accountId]);
  });

  test("are not told when they were undone, alone or with the whole transaction", async () => {
    const undo = async (tx: Tx) => {
      await count(tx);
      throw new Error("undo this");
    };
    await assert.rejects(transactions.run(context, alice, undo), /undo this/);
    await transactions.run(context, alice, async (tx) => {
      await assert.rejects(tx.within(alice, undo), /undo this/);
    });
    assert.deepEqual(seen, []);
  });

  test("reach another process by a notice at the commit", async () => {
    const notices: ChangeNotice[] = [];
    const heard = Promise.withResolvers<void>();
    const options = { target: database.target, log: silentLog, onMissed: () => assert.fail("nothing was missed") };
    const listener = await listenForChanges({
      ...options,
      onNotice: (notice) => {
        notices.push(notice);
        heard.resolve();
      },
    });
    await transactions.run(context, alice, count);
    await heard.promise;
    await listener.close();
    assert.deepEqual(notices, [{ what: "note_counts", accountId: alice.accountId }]);
  });

  test("that a lost connection may have missed count as changes of everything, once it is open again", async () => {
    const missed = Promise.withResolvers<void>();
    const options = { target: database.target, log: silentLog, onNotice: () => undefined };
    const listener = await listenForChanges({ ...options, onMissed: missed.resolve });
    await database.owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'emanet changes'",
    );
    await missed.promise;
    await listener.close();
  });
});

describe("reads", () => {
  const read = <T>(access: RowAccess, work: (tx: ReadTx) => Promise<T>) => transactions.read(context, access, work);

  test("see the rows of their row access and no others, on any connection of the pool", async () => {
    const id = await transactions.run(context, alice, (tx) => everything(tx, "read"));
    const found = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        read(at % 2 === 0 ? alice : bob, (tx) => findNoteForgettingTheAccount(tx, id)),
      ),
    );
    assert.deepEqual(
      found.map((row) => row?.id),
      found.map((_, at) => (at % 2 === 0 ? id : undefined)),
    );
  });

  test("leave no row access on their connection, and neither do transactions, committed, undone or failed", async () => {
    const failing = (tx: ReadTx) => sql`select 1 / 0`.execute(tx.db);
    await read(alice, (tx) => sql`select 1`.execute(tx.db));
    await assert.rejects(read(alice, failing));
    await transactions.run(context, alice, (tx) => sql`select 1`.execute(tx.db));
    await assert.rejects(transactions.run(context, alice, failing));
    await transactions.run(context, alice, async (tx) => {
      await assert.rejects(tx.within(bob, failing));
    });
    const clients = await Promise.all(Array.from({ length: database.app.options.max }, () => database.app.connect()));
    for (const client of clients) {
      const settings =
        "coalesce(current_setting('emanet.scope', true), '') as scope, current_setting('transaction_read_only') as read_only";
      const { rows } = await client.query(`select ${settings}`);
      client.release();
      assert.deepEqual(rows, [{ scope: "", read_only: "off" }]);
    }
  });

  test("change nothing", async () => {
    const writing = read(alice, (tx) => sql`delete from test_notes`.execute(tx.db));
    await assert.rejects(writing, { code: "25006" });
  });

  test("that are issued together fail together, and a statement after a failed one never runs", async () => {
    const answers = await transactions
      .run(context, alice, (tx) =>
        Promise.allSettled([
          sql`select 1 / 0`.execute(tx.db),
          sql`insert into test_notes values (${systemRandom.uuid()}, ${alice.accountId}, 'after a failure', now())`.execute(
            tx.db,
          ),
        ]),
      )
      .catch((error: unknown) => error);
    assert.ok(answers instanceof Error, "the transaction is not committed");
    assert.deepEqual(await traces("after a failure"), [0, 0, 0, 0]);
  });

  test("that were skipped after a failed statement work the next time, on the same connections", async () => {
    const skipped = (tx: ReadTx) => sql<{ n: number }>`select 42 as n`.execute(tx.db);
    for (let turn = 0; turn < 3; turn++) {
      const failed = read(alice, (tx) => Promise.all([sql`select 2 / 0`.execute(tx.db), skipped(tx)]));
      await assert.rejects(failed, { code: "22012" });
      assert.deepEqual((await read(alice, skipped)).rows, [{ n: 42 }]);
    }
  });

  test("go on after a migration changed the columns of a statement that was prepared before it", async (t) => {
    const { owner } = database;
    t.after(() => owner.query("drop table emanet.test_columns"));
    await owner.query("create table emanet.test_columns (a int); grant select on emanet.test_columns to emanet_app");
    const all = (tx: ReadTx) => sql<Record<string, unknown>>`select * from test_columns`.execute(tx.db);
    await owner.query("insert into emanet.test_columns values (1)");
    for (let turn = 0; turn < 3; turn++) assert.deepEqual((await read(system, all)).rows, [{ a: 1 }]);
    await owner.query("alter table emanet.test_columns add b int default 2");
    for (let turn = 0; turn < 3; turn++) assert.deepEqual((await read(system, all)).rows, [{ a: 1, b: 2 }]);
    await owner.query("alter table emanet.test_columns drop a");
    const changing = () => transactions.run(context, system, all);
    await assert.rejects(changing(), { code: "unavailable" });
    assert.deepEqual((await changing()).rows, [{ b: 2 }]);
  });
});

test("a statement after the end of its transaction is refused: it would run without row access", async () => {
  const kept = await transactions.run(context, alice, async (tx) => {
    await sql`select 1`.execute(tx.db);
    return { tx };
  });
  await assert.rejects(sql`select 1`.execute(kept.tx.db), /after the end/);
});

describe("work inside an open transaction", () => {
  test("what throws is undone, with its audit records, events and jobs; the rest is kept", async () => {
    await transactions.run(context, alice, async (tx) => {
      await everything(tx, "outer before");
      const undone = tx.within(alice, async (inner) => {
        await everything(inner, "inner undone");
        throw new Error("undo this");
      });
      await assert.rejects(undone, /undo this/);
      await tx.within(alice, (inner) => everything(inner, "inner kept"));
      await everything(tx, "outer after");
    });
    for (const kept of ["outer before", "inner kept", "outer after"])
      assert.deepEqual(await traces(kept), [1, 1, 1, 1]);
    assert.deepEqual(await traces("inner undone"), [0, 0, 0, 0]);
  });

  test("a failed statement inside does not spoil what is outside", async () => {
    await transactions.run(context, alice, async (tx) => {
      await assert.rejects(tx.within(alice, (inner) => sql`select 1 / 0`.execute(inner.db)));
      await everything(tx, "unspoilt");
    });
    assert.deepEqual(await traces("unspoilt"), [1, 1, 1, 1]);
  });

  test("each has the scope that it asked for, and the outer one has its own again afterwards, undone or not", async () => {
    const scopes = await transactions.run(context, alice, async (tx) => {
      const inside = await tx.within(bob, scopeNow);
      const afterwards = await scopeNow(tx);
      await assert.rejects(
        tx.within(platform, async () => {
          throw new Error("undo this");
        }),
      );
      return [inside, afterwards, await scopeNow(tx)];
    });
    assert.deepEqual(scopes, [`account ${bob.accountId}`, `account ${alice.accountId}`, `account ${alice.accountId}`]);
  });

  test("a connection that is lost inside is a fault that passes, like outside", async () => {
    const run = transactions.run(context, alice, async (tx) => {
      await tx.within(alice, async (inner) => {
        await endConnection(inner);
        await everything(inner, "lost inside");
      });
    });
    await assert.rejects(run, unavailable);
  });
});

async function scopeNow(tx: Tx): Promise<string> {
  const { rows } = await sql<{ scope: string }>`
    select trim(current_setting('emanet.scope') || ' ' || current_setting('emanet.account_id')) as scope`.execute(
    tx.db,
  );
  return rows[0]?.scope ?? "";
}

describe("the second wall", () => {
  test("a store function that forgot its account finds nothing of another one", async () => {
    const id = await transactions.run(context, alice, (tx) => everything(tx, "alice's"));
    const find = (scope: RowAccess) => transactions.run(context, scope, (tx) => findNoteForgettingTheAccount(tx, id));
    assert.equal((await find(alice))?.id, id);
    assert.equal(await find(bob), undefined);
    assert.equal(await find(platform), undefined);
    assert.equal((await find(system))?.id, id);
  });

  test("nor can it change, take over or delete what is another's, or write in another's name", async () => {
    const id = await transactions.run(context, alice, (tx) => everything(tx, "alice's own"));
    const asBob = <T>(work: (tx: Tx) => Promise<T>) => transactions.run(context, bob, work);
    const changed = await asBob((tx) => notes(tx).updateTable("test_notes").set({ text: "bob's" }).execute());
    assert.equal(changed[0]?.numUpdatedRows, 0n);
    const deleted = await asBob((tx) => notes(tx).deleteFrom("test_notes").execute());
    assert.equal(deleted[0]?.numDeletedRows, 0n);
    await assert.rejects(
      asBob((tx) => everything(tx, "forged", alice.accountId)),
      { code: "42501" },
    );
    const mine = await asBob((tx) => everything(tx, "bob's own", bob.accountId));
    const give = (tx: Tx) =>
      notes(tx).updateTable("test_notes").set({ account_id: alice.accountId }).where("id", "=", mine).execute();
    await assert.rejects(asBob(give), { code: "42501" });
    assert.equal(
      (await transactions.run(context, alice, (tx) => findNoteForgettingTheAccount(tx, id)))?.text,
      "alice's own",
    );
  });

  test("the scope of staff inside a change reads every account and writes nothing; the change goes on after it", async () => {
    const id = await transactions.run(context, alice, (tx) => everything(tx, "alice's, read by staff"));
    const inside = (work: (tx: Tx) => Promise<unknown>) =>
      transactions.run(context, platform, async (tx) => {
        const result = await tx.within({ kind: "staff" }, work);
        await tx.within(bob, (inner) => everything(inner, "after staff looked", bob.accountId));
        return result;
      });
    const seen = (await inside((tx) => findNoteForgettingTheAccount(tx, id))) as { id: string } | undefined;
    assert.equal(seen?.id, id);
    assert.deepEqual(await traces("after staff looked"), [1, 1, 1, 1]);
    const readOnly = { code: "25006" };
    await assert.rejects(
      inside((tx) => notes(tx).deleteFrom("test_notes").execute()),
      readOnly,
    );
    await assert.rejects(
      inside((tx) => tx.within(alice, (inner) => everything(inner, "by staff's look"))),
      readOnly,
    );
  });

  test("a transaction that says nothing sees nothing, in any table, and one without an account sees nothing either", async () => {
    const tables = await database.owner.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'emanet'",
    );
    assert.ok(tables.rows.length >= 6);
    // The price list belongs to no account.
    const owned = tables.rows.filter(({ name }) => name !== "packages");
    for (const { name } of owned) {
      for (const setting of ["", "nonsense", "account"]) {
        assert.deepEqual(await rowsSeen(name, setting), [], `${name} in scope "${setting}"`);
      }
    }
  });

  /** Whatever the role may read of a table; what it may not read at all is nothing too. */
  async function rowsSeen(table: string, scope: string): Promise<unknown[]> {
    const client = await database.app.connect();
    try {
      await client.query("begin");
      if (scope !== "") await client.query("select set_config('emanet.scope', $1, true)", [scope]);
      return (await client.query(`select * from ${table} limit 1`)).rows;
    } catch (error) {
      assert.equal((error as { code?: string }).code, "42501", table);
      return [];
    } finally {
      await client.query("rollback");
      client.release();
    }
  }

  test("every table has row-level security switched on", async () => {
    const { rows } = await database.owner.query(
      `select relname from pg_class where relnamespace = 'emanet'::regnamespace and relkind = 'r' and not relrowsecurity
        and relname <> 'migrations'`,
    );
    assert.deepEqual(rows, []);
  });

  test("the role of requests cannot shed its role, read the queue's tables or change the schema", async () => {
    for (const statement of [
      "set role postgres",
      "set session authorization postgres",
      "select * from emanet.jobs",
      "create table emanet.x (y int)",
      "alter table emanet.events disable row level security",
      "drop table emanet.events",
    ]) {
      await assert.rejects(database.app.query(statement), { code: /42501|22023|42P01/ }, statement);
    }
  });
});

test("an event without row access to an account is a mistake of ours, and nothing is written", async () => {
  for (const scope of [platform, system]) {
    const run = transactions.run(context, scope, async (tx) => tx.emit(noteCreated, { note_id: systemRandom.uuid() }));
    await assert.rejects(run, /without row access to an account/);
  }
});

test("waiting too long for a lock, a canceled statement and a deadlock are faults that pass", async () => {
  for (const state of ["55P03", "57014", "40P01", "53300", "08006"]) {
    const raise = `do $$ begin raise exception 'x' using errcode = '${state}'; end $$`;
    await assert.rejects(
      transactions.run(context, alice, (tx) => sql.raw(raise).execute(tx.db)),
      unavailable,
      state,
    );
  }
  const full = "do $$ begin raise exception 'x' using errcode = '53100'; end $$";
  await assert.rejects(
    transactions.run(context, alice, (tx) => sql.raw(full).execute(tx.db)),
    (error) => error instanceof Problem && error.code === "storage_full",
  );
});
