import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { simulatedProcess } from "@emanet/engine/testing";
import { sendBatch } from "../kernel/database/batch.ts";
import { queryBuilder, type SendStatements } from "../kernel/database/pipelined-connection.ts";
import type { Transactions } from "../kernel/tx.ts";
import { type Program, startProgram } from "../testing/child.ts";
import { inReverse } from "../testing/cleanup.ts";
import { testDatabase } from "../testing/database.ts";
import { scaled } from "../testing/scale.ts";
import { makeVault, openCatalog, type TestVault, testTransactions } from "./testing/vaults.ts";

const cleanup = inReverse({ after });
const { target, app, owner } = await testDatabase(cleanup);
const transactions = testTransactions(app);

/** Pins that protect nothing any more, packs that two states claim, and rows that nothing would ever remove. */
const violations = `
  select 'a pin on a pack that is being deleted' as what, n.pack from emanet.catalog_pins n
    join emanet.catalog_packs p on p.vault = n.vault and p.pack = n.pack where p.state = 'deleting'
  union all
  select 'a pin on a pack that is gone', n.pack from emanet.catalog_pins n
    where not exists (select from emanet.catalog_packs p where p.vault = n.vault and p.pack = n.pack)
  union all
  select 'a pin of an upload that has ended', n.pack from emanet.catalog_pins n
    where not exists (select from emanet.catalog_uploads u where u.vault = n.vault and u.session = n.session)
  union all
  select 'a frame in a pack that is gone', f.pack from emanet.catalog_frames f
    where not exists (select from emanet.catalog_packs p where p.vault = f.vault and p.pack = f.pack)
  union all
  select 'a hook of an item that is gone', h.ordinal::text from emanet.catalog_hooks h
    where not exists (select from emanet.catalog_items i where i.vault = h.vault and i.ordinal = h.ordinal)
  union all
  select 'a row of an upload that has ended', r.session::text
    from (select vault, session from emanet.catalog_held union all select vault, session from emanet.catalog_units
      union all select vault, session from emanet.catalog_reservations) r
    where not exists (select from emanet.catalog_uploads u where u.vault = r.vault and u.session = r.session)`;

async function lastLine(child: Program): Promise<string> {
  for (;;) {
    const line = await child.line();
    if (!line.startsWith("running")) return line;
  }
}

/** The sum of a number that the processes have counted. */
function sumOf(lines: readonly string[], what: string): number {
  return lines.reduce((sum, line) => sum + Number(JSON.parse(line.replace(/^done /, ""))[what]), 0);
}

const isHeavy = scaled(0, 1) === 1;
const durationMs = scaled(8_000, 600_000);
const processes = 2;
const uploadsPerProcess = 10;
const checkMs = 300;

/**
 * One state of the vault, without its lock: what a transaction of the level repeatable read sees. With the lock the check would
 * hold up the steps that it checks.
 */
async function withState(vault: TestVault, check: (transactions: Transactions, send: SendStatements) => Promise<void>) {
  const client = await app.connect();
  const send: SendStatements = (statements) => sendBatch(client, statements);
  const read: Transactions["read"] = (_context, _access, work) => work({ db: queryBuilder(send), now: new Date(0) });
  let isOver = false;
  try {
    await send([
      { text: "begin isolation level repeatable read read only" },
      {
        text: "select set_config('emanet.scope', 'account', true), set_config('emanet.account_id', $1, true)",
        values: [vault.accountId],
      },
      { text: "select use_vault($1)", values: [vault.vaultId] },
    ]);
    await check({ ...transactions, read }, send);
    await send([{ text: "rollback" }]);
    isOver = true;
  } finally {
    client.release(!isOver);
  }
}

test("20 uploads and 2 collectors in two processes: no pin on a deleted pack, no lost item, no deadlock", async (t) => {
  const vault = await makeVault(transactions);
  const children = Array.from({ length: processes }, (_, i) => {
    const args = [JSON.stringify(target), JSON.stringify(vault), i + 1, uploadsPerProcess, durationMs].map(String);
    return startProgram(cleanup, "use-catalog", { args });
  });
  let running = children.length;
  const ends = children.map((child) => lastLine(child).finally(() => running--));
  // An error of a child is shown at the end.
  for (const end of ends) end.catch(() => undefined);
  let checks = 0;
  while (running > 0) {
    await delay(checkMs);
    await withState(vault, async (reading, send) => {
      const [found] = await send([{ text: violations }]);
      assert.deepEqual(found?.rows, []);
      await simulatedProcess(0, openCatalog(reading, vault), { prefix: "check-", firstFrame: 1 }).assertSound();
    });
    checks++;
  }
  t.diagnostic(`${checks} checks, 0 violations`);
  const done = await Promise.all(ends);
  for (const end of done) t.diagnostic(end);
  // A short run on a busy machine may not come to all of it.
  if (isHeavy) for (const what of ["revivals", "deletions", "moves"]) assert.ok(sumOf(done, what) > 0, `no ${what}`);
  const { rows } = await owner.query<{ deadlocks: number }>(
    "select deadlocks from pg_stat_database where datname = current_database()",
  );
  t.diagnostic(`${rows[0]?.deadlocks} deadlocks`);
  assert.equal(Number(rows[0]?.deadlocks), 0);
});
