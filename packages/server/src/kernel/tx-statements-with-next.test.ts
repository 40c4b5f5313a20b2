import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { sql } from "kysely";
import { testClock } from "../testing/clock.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { createNotesTable } from "../testing/notes.ts";
import { systemRandom } from "./clock.ts";
import { createTransactions, type ReadTx, type TxContext } from "./tx.ts";

const database = await testDatabase({ after });
await createNotesTable(database.owner);
const transactions = createTransactions(database.app, testClock(), systemRandom, silentLog);
const alice = { kind: "account", accountId: "0199c0de-0000-7000-8000-0000000000aa" } as const;
const context: TxContext = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal };

describe("a statement that is sent with the next", () => {
  const noted = (text: string) => ({
    text: "insert into test_notes values ($1, $2, $3, now())",
    values: [systemRandom.uuid(), alice.accountId, text],
  });
  const countOf = async (tx: ReadTx, text: string) => {
    const { rows } = await sql<{ n: number }>`select count(*) as n from test_notes where text = ${text}`.execute(tx.db);
    return rows[0]?.n;
  };
  const stored = (text: string) => transactions.read(context, alice, (tx) => countOf(tx, text));

  test("runs before it, and before what is sent with the commit", async () => {
    const seen = await transactions.run(context, alice, async (tx) => {
      tx.withNext(noted("with the next"));
      return countOf(tx, "with the next");
    });
    assert.equal(seen, 1);
    await transactions.run(context, alice, async (tx) => {
      tx.atCommit({ text: "update test_notes set text = 'changed' where text = 'with the commit'" });
      tx.withNext(noted("with the commit"));
    });
    assert.deepEqual([await stored("with the commit"), await stored("changed")], [0, 1]);
  });

  test("is not sent if no other is", async () => {
    await transactions.run(context, alice, async (tx) => tx.withNext(noted("alone")));
    assert.equal(await stored("alone"), 0);
  });

  test("is undone with the work that it belongs to, sent or not", async () => {
    await transactions.run(context, alice, async (tx) => {
      for (const sends of [true, false]) {
        const undone = tx.within(alice, async (inner) => {
          inner.withNext(noted("undone"));
          if (sends) assert.equal(await countOf(inner, "undone"), 1);
          throw new Error("undo this");
        });
        await assert.rejects(undone, /undo this/);
      }
      assert.equal(await countOf(tx, "undone"), 0);
    });
    assert.equal(await stored("undone"), 0);
  });
});
