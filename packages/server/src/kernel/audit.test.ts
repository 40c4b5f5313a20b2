import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { type ChainRow, firstBadRecord, inSystemScope, readChain } from "../testing/audit-chain.ts";
import { testClock } from "../testing/clock.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { noteCreated } from "../testing/notes.ts";
import { scaled } from "../testing/scale.ts";
import type { AuditEntry } from "./audit.ts";
import { systemRandom } from "./clock.ts";
import { connectionConfig } from "./database/pool.ts";
import type { RowAccess } from "./principal.ts";
import { createTransactions, type TxContext } from "./tx.ts";

const database = await testDatabase({ after });
const clock = testClock();
const transactions = createTransactions(database.app, clock, systemRandom, silentLog);

const account = (last: string) => `0199c0de-0000-7000-8000-0000000000${last}`;
const scopeOf = (last: string): RowAccess => ({ kind: "account", accountId: account(last) });
const platform: RowAccess = { kind: "platform" };

const context: TxContext = {
  actor: { kind: "member", id: "member-1" },
  context: { request_id: "request-1", operation: "tests.act" },
  signal: new AbortController().signal,
};

const entry = (metadata: NonNullable<AuditEntry["metadata"]> = {}): AuditEntry => ({
  action: "note.created",
  targets: [{ type: "note", id: "1" }],
  metadata,
});

const record = (scope: RowAccess, ...entries: AuditEntry[]) =>
  transactions.run(context, scope, async (tx) => {
    for (const one of entries) tx.audit(one);
  });

describe("chains", () => {
  test("50 transactions at once over two accounts and the platform leave three whole chains, from the first record on", async () => {
    const scopes = [scopeOf("a1"), scopeOf("a2"), platform];
    const before = (await readChain(database.app, "platform")).length;
    const work = Array.from({ length: 50 }, (_, index) => {
      const scope = scopes[index % 3] ?? platform;
      return record(scope, entry({ index }), entry({ index, second: true }));
    });
    await Promise.all(work);
    const chains = await Promise.all(
      [account("a1"), account("a2"), "platform"].map((chain) => readChain(database.app, chain)),
    );
    for (const rows of chains) {
      assert.deepEqual(
        rows.map((row) => row.seq),
        rows.map((_, index) => index + 1),
      );
      assert.equal(firstBadRecord(rows), null);
    }
    assert.deepEqual(
      chains.map((rows) => rows.length),
      [34, 34, 32 + before],
    );
  });

  test("transactions that write to several chains in opposite orders all commit", async () => {
    const [one, other] = [scopeOf("b1"), scopeOf("b2")];
    const both = (first: RowAccess, second: RowAccess) =>
      transactions.run(context, first, async (tx) => {
        tx.audit(entry());
        tx.emit(noteCreated, { note_id: systemRandom.uuid() });
        await tx.within(second, async (inner) => {
          inner.audit(entry());
          inner.emit(noteCreated, { note_id: systemRandom.uuid() });
        });
        await tx.within(platform, async (inner) => inner.audit(entry()));
      });
    await Promise.all(Array.from({ length: 30 }, (_, index) => (index % 2 ? both(one, other) : both(other, one))));
    for (const chain of [account("b1"), account("b2"), "platform"]) {
      const rows = await readChain(database.app, chain);
      assert.ok(rows.length >= 30);
      assert.equal(firstBadRecord(rows), null);
    }
  });

  test("a transaction that is undone leaves no gap", async () => {
    const scope = scopeOf("c1");
    const undone = transactions.run(context, scope, async (tx) => {
      tx.audit(entry());
      throw new Error("undo this");
    });
    await assert.rejects(undone);
    await record(scope, entry(), entry());
    const rows = await readChain(database.app, account("c1"));
    assert.deepEqual([rows.map((row) => row.seq), firstBadRecord(rows)], [[1, 2], null]);
  });

  test("upkeep of the service itself writes to the platform's chain", async () => {
    const { length } = await readChain(database.app, "platform");
    await record({ kind: "system" }, entry());
    const rows = await readChain(database.app, "platform");
    assert.deepEqual([rows.length, firstBadRecord(rows)], [length + 1, null]);
  });

  test("any change of any field, a record taken out, put in or moved is found at its place", async () => {
    const scope = scopeOf("d1");
    for (let index = 0; index < 5; index++) await record(scope, entry({ index }));
    const rows = await readChain(database.app, account("d1"));
    const forged = (at: number, change: Partial<ChainRow>) =>
      rows.map((row, index) => (index === at ? { ...row, ...change } : row));
    const changes: Readonly<Partial<ChainRow>>[] = [
      { chain: account("a1") },
      { seq: 9 },
      { id: account("a1") },
      { occurred_at: new Date(0) },
      { action: "note.deleted" },
      { actor: { kind: "member", id: "member-2" } },
      { targets: [] },
      { context: {} },
      { outcome: "failure" },
      { metadata: { index: 7 } },
      { metadata: { index: "2" } },
      { prev_hash: Buffer.alloc(32) },
      { hash: Buffer.alloc(32) },
    ];
    assert.equal(firstBadRecord(rows), null);
    for (const change of changes) assert.equal(firstBadRecord(forged(2, change)), 3, JSON.stringify(change));
    assert.equal(firstBadRecord(rows.toSpliced(2, 1)), 3, "taken out");
    assert.equal(firstBadRecord(rows.toSpliced(2, 0, ...rows.slice(2, 3))), 4, "put in twice");
    assert.equal(firstBadRecord([...rows.slice(0, 2), ...rows.slice(2).reverse()]), 3, "moved");
  });

  test("what is hashed survives the database: every text, number and key comes back as it was", async () => {
    const text = fc
      .string({ unit: "grapheme", maxLength: 12 })
      .filter((one) => one.isWellFormed() && !one.includes("\0"));
    const value = fc.oneof(
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    );
    const scope = scopeOf("e1");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(text, value, { maxKeys: 5 }), { minLength: 1, maxLength: 20 }),
        async (list) => {
          await record(scope, ...list.map((metadata) => entry({ ...metadata })));
        },
      ),
      { seed: 5, numRuns: scaled(15, 1_000) },
    );
    const odd = {
      "1e21": 1e21,
      small: 5e-324,
      large: Number.MAX_VALUE,
      zero: -0,
      half: 0.1 + 0.2,
      ı: "İIıi 👍 \u2028",
      "": "",
    };
    await record(scope, entry(odd));
    const rows = await readChain(database.app, account("e1"));
    assert.ok(rows.length > 15);
    assert.equal(firstBadRecord(rows), null);
  });

  test("what the database cannot keep is refused with the act itself, not kept wrongly", async () => {
    for (const text of ["a\0b", "\ud800"])
      await assert.rejects(record(scopeOf("e2"), entry({ text })), JSON.stringify(text));
    assert.deepEqual(await readChain(database.app, account("e2")), []);
  });
});

describe("records cannot be changed", () => {
  const statements = [
    "update audit_records set action = 'nothing.happened'",
    "delete from audit_records",
    "truncate audit_records",
    "update audit_records set metadata = '{}' where false",
  ];

  test("by the role of requests: it has no right to", async () => {
    await record(scopeOf("f1"), entry());
    for (const statement of statements) {
      const run = inSystemScope(database.app, (client) => client.query(statement));
      await assert.rejects(run, { code: "42501" }, statement);
    }
  });

  test("by the owner of the schema and by a superuser: the table refuses", async (t) => {
    for (const target of [database.target, database.adminTarget]) {
      const client = new pg.Client(connectionConfig(target, { search_path: "emanet" }));
      await client.connect();
      t.after(() => client.end());
      for (const statement of statements) {
        await client.query("begin");
        await client.query("select set_config('emanet.scope', 'system', true)");
        await assert.rejects(client.query(statement), { code: "23000" }, `${target.user}: ${statement}`);
        await client.query("rollback");
      }
    }
    assert.equal((await readChain(database.app, account("f1"))).length, 1);
  });
});

describe("events", () => {
  const emit = (scope: RowAccess, text: string, gate?: Promise<void>) =>
    transactions.run(context, scope, async (tx) => {
      tx.emit(noteCreated, { note_id: systemRandom.uuid(), text });
      await gate;
    });

  async function stream(accountId: string) {
    const query = "select sequence, id, type, payload, created_at from events where account_id = $1 order by sequence";
    const rows = await inSystemScope(database.app, async (client) => (await client.query(query, [accountId])).rows);
    return rows as { sequence: number; id: string; type: string; payload: string; created_at: Date }[];
  }

  test("50 transactions at once number their events without a gap", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => emit(scopeOf("a3"), String(index))));
    const events = await stream(account("a3"));
    assert.deepEqual(
      events.map((event) => event.sequence),
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });

  test("the order is that of the commits, not of the beginnings: who reads on never misses one", async () => {
    const gate = Promise.withResolvers<void>();
    const early = emit(scopeOf("a4"), "began first", gate.promise);
    await emit(scopeOf("a4"), "committed first");
    gate.resolve();
    await early;
    const texts = (await stream(account("a4"))).map((event) => (JSON.parse(event.payload) as { text: string }).text);
    assert.deepEqual(texts, ["committed first", "began first"]);
  });

  test("a payload is flat JSON that says what, whose, which and when", async () => {
    await emit(scopeOf("a5"), "payload");
    const [event] = await stream(account("a5"));
    const { note_id, ...envelope } = JSON.parse(event?.payload ?? "{}") as Record<string, unknown>;
    assert.match(String(note_id), /^[0-9a-f-]{36}$/);
    assert.deepEqual(envelope, {
      event: "note.created",
      event_id: event?.id,
      sequence: 1,
      account_id: account("a5"),
      created_at: clock.now().toISOString(),
      text: "payload",
    });
  });

  test("an event's own fields cannot pass for those that every event has", async () => {
    const forged = { note_id: systemRandom.uuid(), sequence: 99, account_id: account("a1"), event_id: "x", event: "y" };
    await transactions.run(context, scopeOf("a6"), async (tx) => tx.emit(noteCreated, forged)).catch(() => undefined);
    for (const event of await stream(account("a6"))) {
      const payload = JSON.parse(event.payload) as Record<string, unknown>;
      assert.deepEqual([payload.sequence, payload.account_id], [event.sequence, account("a6")]);
    }
  });
});
