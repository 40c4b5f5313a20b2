/** Which work of a transaction is committed: nested work, callers that gave up, and what the server answers to COMMIT. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { sql } from "kysely";
import type { Pool, PoolClient } from "pg";
import { inSystemScope } from "../testing/audit-chain.ts";
import { testClock } from "../testing/clock.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { countMessages } from "../testing/message-counts.ts";
import { createNotesTable, noteCreated } from "../testing/notes.ts";
import { scaled } from "../testing/scale.ts";
import { systemRandom } from "./clock.ts";
import type { EndState } from "./http/request-signal.ts";
import { Problem } from "./problems.ts";
import { createTransactions, type Tx, type TxContext } from "./tx.ts";

const counts = countMessages();
const database = await testDatabase({ after });
await createNotesTable(database.owner);
const transactions = createTransactions(database.app, testClock(), systemRandom, silentLog);

const accountOf = (last: string) =>
  ({ kind: "account", accountId: `0199c0de-0000-7000-8000-0000000000${last}` }) as const;
const alice = accountOf("aa");

const context: TxContext = {
  actor: { kind: "client", id: "client-1" },
  context: { request_id: "request-1" },
  signal: new AbortController().signal,
};

const unavailable = (error: unknown) => error instanceof Problem && error.code === "unavailable";

/** A row and an audit record that carry the text. */
async function write(tx: Tx, { accountId }: { readonly accountId: string }, text: string): Promise<void> {
  const id = systemRandom.uuid();
  await sql`insert into test_notes values (${id}, ${accountId}, ${text}, now())`.execute(tx.db);
  tx.audit({ action: "note.created", targets: [{ type: "note", id }], metadata: { text } });
}

/** The texts of rows and of audit records that begin with a word, sorted. */
async function written(word: string): Promise<{ rows: string[]; records: string[] }> {
  return inSystemScope(database.app, async (client) => {
    const rows = await client.query<{ text: string }>("select text from test_notes where text like $1", [`${word} %`]);
    const query = "select metadata->>'text' as text from audit_records where metadata->>'text' like $1";
    const records = await client.query<{ text: string }>(query, [`${word} %`]);
    return { rows: rows.rows.map(({ text }) => text).sort(), records: records.rows.map(({ text }) => text).sort() };
  });
}

describe("work inside work", () => {
  /** A write, or nested work in the name of an account, which fails or not. */
  type Step = "write" | { readonly account: string; readonly steps: readonly Step[]; readonly fails: boolean };

  const { steps: anySteps } = fc.letrec<{ steps: readonly Step[]; step: Step }>((tie) => ({
    steps: fc.array(tie("step"), { maxLength: 3 }),
    step: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant("write" as const),
      fc.record({ account: fc.constantFrom("aa", "bb"), steps: tie("steps"), fails: fc.boolean() }),
    ),
  }));

  /** Runs the steps, each error caught by the work around it. Adds the texts that must be kept to `kept`. */
  async function run(tx: Tx, access: typeof alice, steps: readonly Step[], next: () => string, kept: string[]) {
    for (const step of steps) {
      if (step === "write") {
        const text = next();
        await write(tx, access, text);
        kept.push(text);
        continue;
      }
      const inner = accountOf(step.account) as typeof alice;
      const before = kept.length;
      const work = tx.within(inner, async (nested) => {
        await run(nested, inner, step.steps, next, kept);
        if (step.fails) throw new Error("undo this");
      });
      if (!step.fails) await work;
      else {
        await assert.rejects(work, /undo this/);
        kept.length = before;
      }
    }
  }

  /** The second work comes after a savepoint that was not sent, and after a statement in its place. */
  const afterUnusedSavepoint: readonly Step[] = [
    { account: "aa", fails: false, steps: ["write", { account: "aa", fails: false, steps: [] }] },
    { account: "aa", fails: true, steps: ["write"] },
  ];

  test("whatever is nested in what: work that throws is undone with all inside it, and nothing else", async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(anySteps, async (steps) => {
        const word = `nested${runs++}`;
        const kept: string[] = [];
        let texts = 0;
        await transactions.run(context, alice, (tx) => run(tx, alice, steps, () => `${word} ${texts++}`, kept));
        assert.deepEqual(await written(word), { rows: kept.toSorted(), records: kept.toSorted() });
      }),
      { seed: 21, numRuns: scaled(60, 2_000), examples: [[afterUnusedSavepoint]] },
    );
  });

  test("needs one savepoint where it begins with nothing but other work", async () => {
    const before = counts().statements;
    await transactions.run(context, alice, (tx) =>
      tx.within(alice, (outer) => outer.within(alice, (inner) => write(inner, alice, "once 1"))),
    );
    // begin, row access, savepoint, insert, release, audit record, notices, commit
    assert.equal(counts().statements - before, 8);
  });
});

describe("callers that gave up", () => {
  test("a read of a caller that has given up is not sent", async () => {
    const caller = new AbortController();
    caller.abort(new Error("too late"));
    const before = counts().statements;
    const read = transactions.read({ signal: caller.signal }, alice, (tx) => sql`select 1`.execute(tx.db));
    await assert.rejects(read, unavailable);
    assert.equal(counts().statements, before);
  });

  test("a change that waits for a lock until the deadline of its caller is not made after it", async () => {
    await transactions.run(context, alice, (tx) => write(tx, alice, "early 1"));
    const holder = await database.owner.connect();
    try {
      await holder.query("begin");
      await holder.query("select set_config('emanet.scope', 'system', true)");
      await holder.query("select from emanet.audit_heads where chain = $1 for update", [alice.accountId]);
      const deadlineMs = 300;
      const signal: EndState = {
        aborted: false,
        reason: undefined,
        throwIfAborted: () => {},
        leftMs: () => deadlineMs,
      };
      const change = transactions.run({ ...context, signal }, alice, (tx) => write(tx, alice, "late 1"));
      const refused = assert.rejects(change, unavailable);
      await waitingForLock();
      await delay(deadlineMs);
      await holder.query("commit");
      await refused;
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    assert.deepEqual(await written("late"), { rows: [], records: [] });
    const inTime: EndState = { aborted: false, reason: undefined, throwIfAborted: () => {}, leftMs: () => 60_000 };
    await transactions.run({ ...context, signal: inTime }, alice, (tx) => write(tx, alice, "late 2"));
    assert.deepEqual((await written("late")).rows, ["late 2"]);
  });
});

async function waitingForLock(): Promise<void> {
  const query = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  while ((await database.owner.query(query)).rowCount === 0) await delay(1);
}

test("records are written in the order of their chains: work that waits for one chain holds none that comes after it", async () => {
  const [first, second] = [accountOf("a1"), accountOf("b1")];
  const audit = (tx: Tx) => tx.audit({ action: "note.created", targets: [] });
  const emit = (tx: Tx) => tx.emit(noteCreated, { note_id: systemRandom.uuid() });
  for (const [record, head] of [
    [audit, "select from audit_heads where account_id = $1 for update"],
    [emit, "select from event_heads where account_id = $1 for update"],
  ] as const) {
    const alone = (access: typeof first) => transactions.run(context, access, async (tx) => record(tx));
    await Promise.all([alone(first), alone(second)]);
    const both = await inSystemScope(database.app, async (holder) => {
      await holder.query(head, [first.accountId]);
      const work = transactions.run(context, second, async (tx) => {
        record(tx);
        await tx.within(first, async (inner) => record(inner));
      });
      await waitingForLock();
      await alone(second);
      return { work };
    });
    await both.work;
  }
});

test("a COMMIT that the server answers with ROLLBACK is an error to the caller", async () => {
  for (const [answer, isCommitted] of [
    ["COMMIT", true],
    ["ROLLBACK", false],
  ] as const) {
    const server = answeringServer(answer);
    const run = createTransactions(server.pool, testClock(), systemRandom, silentLog).run(context, alice, (tx) =>
      sql`select 1`.execute(tx.db),
    );
    if (isCommitted) await run;
    else await assert.rejects(run, /not committed: ROLLBACK/);
  }
});

/** A connection whose server answers every statement with its first word, and COMMIT with the given one. */
function answeringServer(commit: string): { readonly pool: Pool } {
  interface Running {
    submit(connection: unknown): void;
    handleCommandComplete(message: { readonly text: string }): void;
    handleReadyForQuery(): void;
  }
  const texts = new Map<string, string>();
  const client = {
    release: () => undefined,
    getTypeParser: () => String,
    query(batch: Running) {
      const executed: string[] = [];
      let bound = "";
      batch.submit({
        _send: () => undefined,
        parse: ({ name, text }: { readonly name: string; readonly text: string }) => void texts.set(name, text),
        bind: ({ statement }: { readonly statement: string }) => {
          bound = texts.get(statement) ?? "";
        },
        describe: () => undefined,
        execute: () => void executed.push(bound),
        sync: () => undefined,
      });
      for (const text of executed) {
        const word = text.split(" ", 1)[0]?.toUpperCase() ?? "";
        batch.handleCommandComplete({ text: word === "COMMIT" ? commit : word });
      }
      batch.handleReadyForQuery();
    },
  } as unknown as PoolClient;
  return { pool: { connect: async () => client, options: { max: 1 } } as unknown as Pool };
}
