import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { simulatedProcess } from "@emanet/engine/testing";
import { withConnection } from "../kernel/database/pool.ts";
import { type Program, startProgram } from "../testing/child.ts";
import { inReverse } from "../testing/cleanup.ts";
import { testDatabase } from "../testing/database.ts";
import { scaled } from "../testing/scale.ts";
import { makeVault, openCatalog, testTransactions } from "./testing/vaults.ts";

const cleanup = inReverse({ after });
const { target, adminTarget, app } = await testDatabase(cleanup);
const transactions = testTransactions(app);

/** Pins that protect nothing any more, and packs that two states claim. */
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
    where not exists (select from emanet.catalog_packs p where p.vault = f.vault and p.pack = f.pack)`;

async function lastLine(child: Program): Promise<string> {
  for (;;) {
    const line = await child.line();
    if (!line.startsWith("running")) return line;
  }
}

const durationMs = scaled(8_000, 600_000);
const processes = 2;
const uploadsPerProcess = 10;
const checkMs = 300;

test("20 uploads and 2 collectors in two processes: no pin on a deleted pack, no lost item, no deadlock", async (t) => {
  const vault = await makeVault(transactions);
  const check = simulatedProcess(0, openCatalog(transactions, vault), { prefix: "check-", firstFrame: 1 });
  const children = Array.from({ length: processes }, (_, i) => {
    const args = [JSON.stringify(target), JSON.stringify(vault), i + 1, uploadsPerProcess, durationMs].map(String);
    return startProgram(cleanup, "use-catalog", { args });
  });
  let running = children.length;
  const ends = children.map((child) => lastLine(child).finally(() => running--));
  // An error of a child is shown at the end.
  for (const end of ends) end.catch(() => undefined);
  const deadlocks = await withConnection(adminTarget, async (client) => {
    let checks = 0;
    while (running > 0) {
      await delay(checkMs);
      // Alone on the vault: what it reads is one state.
      await client.query("begin");
      await client.query("select pg_advisory_xact_lock(7701, vault) from emanet.catalogs where vault_id = $1", [
        vault.vaultId,
      ]);
      const { rows } = await client.query(violations);
      assert.deepEqual(rows, []);
      await check.assertSound();
      await client.query("commit");
      checks++;
    }
    const { rows } = await client.query<{ deadlocks: string }>(
      "select deadlocks from pg_stat_database where datname = current_database()",
    );
    t.diagnostic(`${checks} checks`);
    return rows[0]?.deadlocks;
  });
  for (const end of await Promise.all(ends)) t.diagnostic(end);
  assert.equal(Number(deadlocks), 0);
});
