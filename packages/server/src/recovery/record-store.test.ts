import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { systemClock, systemRandom } from "../kernel/clock.ts";
import { createTransactions } from "../kernel/tx.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import { ofService } from "./beat.ts";
import { beginRecord } from "./record-store.ts";

const database = await testDatabase({ after });

test("a record is of one moment: it has no row whose vault was made while it was read", async () => {
  const [account, vault] = [randomUUID(), randomUUID()];
  const at = new Date();
  const run = (text: string, values: readonly unknown[]) => storedRows(database, text, values);
  await run(
    `insert into emanet.accounts (id, kind, name, tax_id, package, state, language, state_changed_at, created_at, updated_at)
     values ($1, 'company', 'Test', '1234567808', 'corporate', 'active', 'tr', $2, $2, $2)`,
    [account, at],
  );
  const writer = await database.owner.connect();
  await writer.query("begin");
  await writer.query("select set_config('emanet.scope', 'system', true)");
  // Its readers wait here, behind the vaults and before the sources.
  await writer.query("lock table emanet.taxpayers in access exclusive mode");
  const transactions = createTransactions(database.app, systemClock, systemRandom, silentLog);
  const reading = transactions.run(ofService, { kind: "system" }, (tx) => beginRecord(tx, account));
  const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  while ((await run(waiting, [])).length === 0);
  await writer.query(
    `insert into emanet.vaults (id, account_id, name, name_order, kind, created_at, updated_at)
     values ($1, $2, 'Yeni', 'YENI', 'other', $3, $3)`,
    [vault, account, at],
  );
  await writer.query(
    `insert into emanet.sources (id, account_id, vault_id, name, name_order, kind, created_at, updated_at)
     values ($1, $2, $3, 'yeni', 'YENI', 'files', $4, $4)`,
    [randomUUID(), account, vault, at],
  );
  await writer.query("commit");
  writer.release();
  const { tables } = await reading;
  const vaults = new Set(tables.vaults?.map(({ id }) => id));
  assert.deepEqual(tables.sources?.filter(({ vault_id: of }) => !vaults.has(of)) ?? [], []);
});
