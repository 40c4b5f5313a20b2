import assert from "node:assert/strict";
import { after, test } from "node:test";
import { begin, frameRow, idOf, itemRow, snapshotOf, unitOf } from "@emanet/engine/testing";
import { CompiledQuery } from "kysely";
import type { StatementResult } from "../kernel/database/batch.ts";
import { queryBuilder, type SendStatements } from "../kernel/database/pipelined-connection.ts";
import type { ReadTx, Transactions } from "../kernel/tx.ts";
import { testDatabase } from "../testing/database.ts";
import { makeVault, openCatalog, type TestVault, testTransactions } from "./testing/vaults.ts";

const { app } = await testDatabase({ after });
const transactions = testTransactions(app);

const planOf = (rows: readonly Record<string, string>[]) => rows.map((row) => row["QUERY PLAN"]).join("\n");

/** The plans that a connection keeps for statements, whatever the vault is. */
async function genericPlans(vault: TestVault, texts: Iterable<string>): Promise<Map<string, string>> {
  const client = await app.connect();
  try {
    await client.query("begin");
    await client.query(
      "select set_config('emanet.scope', 'account', true), set_config('emanet.account_id', $1, true)",
      [vault.accountId],
    );
    await client.query("select use_vault($1)", [vault.vaultId]);
    const plans = new Map<string, string>();
    // Without values: only the simple protocol can ask for a generic plan.
    for (const text of texts) plans.set(text, planOf((await client.query(`explain (generic_plan) ${text}`)).rows));
    return plans;
  } finally {
    client.release(true);
  }
}

/** Transactions that note the plan of each statement, as PostgreSQL makes it under row-level security. */
function explained(inner: Transactions, plans: Map<string, string>): Transactions {
  const explain = async (db: ReadTx["db"], text: string, values: readonly unknown[]) => {
    if (!/catalog_/.test(text)) return;
    const { rows } = await db.executeQuery<Record<string, string>>(CompiledQuery.raw(`explain ${text}`, [...values]));
    plans.set(text.trim(), planOf(rows));
  };
  const sender =
    (db: ReadTx["db"]): SendStatements =>
    async (statements) => {
      const results: StatementResult[] = [];
      for (const { text, values = [] } of statements) {
        await explain(db, text, values);
        const { rows } = await db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, [...values]));
        results.push({ rows, command: "SELECT", count: null });
      }
      return results;
    };
  const run: Transactions["run"] = (context, access, work) =>
    inner.run(context, access, async (tx) => {
      const later: { text: string; values?: readonly unknown[] }[] = [];
      const send = sender(tx.db);
      const result = await work({ ...tx, db: queryBuilder(send), atCommit: (statement) => void later.push(statement) });
      await send(later);
      return result;
    });
  // A read is a transaction here: the plan is asked for in a statement of its own, which needs the chosen vault.
  return {
    ...inner,
    run,
    read: (context, access, work) => run({ actor: { kind: "system" }, context: {}, ...context }, access, work),
  };
}

/** Tables with few rows per vault: those that a statement reads of are what it asks for. */
const shortTables = /catalogs_pkey|catalog_(uploads|owners|damaged_items|revoked_writers)/;

/** These indexes have few rows. */
const shortIndexes = /catalog_(claims_open|frames_damaged)/;

/** Scans by an index without any condition but the vault: they read all of it. */
function scansOfVault(plan: string): string[] {
  const lines = plan.split("\n");
  return lines.filter((line, i) => {
    const scan = /Index (?:Only )?Scan|Bitmap Index Scan/.exec(line);
    if (scan === null || shortTables.test(line) || shortIndexes.test(line)) return false;
    const condition = (lines[i + 1] ?? "").replaceAll(/\w+\./g, "");
    return !/Index Cond:.*(?:ROW\(|\b(?!vault\b)[a-z_]+ [=<>])/.test(condition);
  });
}

/** The statements that concern the whole vault. */
const ofWholeVault = /^delete from "catalog_\w+" where vault = \$1$/;

function assertShort(plans: ReadonlyMap<string, string>): void {
  const whole = [...plans].filter(([, plan]) => /Seq Scan on catalog/.test(plan));
  assert.deepEqual(whole, []);
  const wholeVault = [...plans].filter(([text, plan]) => !ofWholeVault.test(text) && scansOfVault(plan).length > 0);
  assert.deepEqual(wholeVault, []);
  // A page of a scan is read in the order of an index. Sorting would read all that is left, for every page.
  const sorted = [...plans].filter(([text, plan]) => /limit \$\d+::integer$/.test(text) && /Sort/.test(plan));
  assert.deepEqual(sorted, []);
}

test("no statement of any step reads a whole table or the rows of a whole vault, under row-level security", async (t) => {
  const plans = new Map<string, string>();
  const vault = await makeVault(transactions);
  const catalog = openCatalog(explained(transactions, plans), vault);
  await catalog.beginUpload({ upload: "u1", owner: "a", leaseUntil: 1000, base: null, ordinals: 5 });
  await catalog.beginUpload({ upload: "u1", owner: "a", leaseUntil: 1000, base: null, ordinals: 5 });
  await catalog.settleClaim(1, true);
  await catalog.renewUpload("u1", 1, 2000);
  await catalog.reserveOrdinals(5, { upload: "u1", request: 1 });
  const unit = unitOf(
    "p1",
    [frameRow(10, "p1"), frameRow(11, "p1", { recordFrame: 10 })],
    [itemRow(1, 10), itemRow(2, 11)],
  );
  await catalog.addUnit("u1", 1, { ...unit, follows: [[1, 2]] }, 1);
  await catalog.commit("u1", 1, snapshotOf("s1", [1, 2]));
  await begin(catalog, "u2", { base: "s1" });
  await catalog.acquire("u2", [idOf(1), idOf(2)]);
  await catalog.acquireOrdinals("u2", [1, 2]);
  await catalog.acquireFrames("u2", [10], [0]);
  await catalog.addUnit("u2", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]));
  const heal = [{ from: { pack: "p1", generation: 0, marking: null }, to: frameRow(10, "p3", { generation: 1 }) }];
  await catalog.moveFrames("u2", 1, unitOf("p3", [], []), heal, [99]);
  await catalog.setVerified([1]);
  for (const scope of ["vault", "lineage"] as const) await catalog.findHooks("a", [1n, 2n], scope);
  for (const damaged of [true, false]) await catalog.setDamaged([{ frame: 20, pack: "p2", generation: 0 }], damaged);
  await catalog.damagedFrames();
  await catalog.uploadState("u2");
  await catalog.sessions();
  await catalog.issuedNonce(1);
  await catalog.session(1);
  await catalog.framePlaces([10]);
  await catalog.frames([10]);
  await catalog.packs(["p1"]);
  await catalog.snapshot("s1");
  for (const source of [undefined, "s"])
    for (const newestFirst of [true, false])
      await catalog.snapshotPage({ source, newestFirst, after: { completedAt: 1, id: "s" } });
  for (const scan of [catalog.allReach(), catalog.allItems(), catalog.allFrames(), catalog.allPacks()])
    await Array.fromAsync<unknown>(scan);
  await catalog.revokeWriter("w", 1);
  await catalog.revokedFrom("w");
  await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: null, hold: false }, 1);
  await catalog.beginDeleteSnapshot("s1", 1);
  await catalog.cancelDeleteSnapshot("s1", { expiresAt: null, lockedUntil: null, hold: false }, 2);
  await catalog.deleteSnapshot("s1", 1);
  await catalog.endUpload("u2");
  const marking = await catalog.revision();
  assert.deepEqual((await catalog.condemn(["p1", "p2"], marking)).condemned, ["p1", "p2"]);
  assert.equal(await catalog.beginDelete("p1", marking, [2]), true);
  await catalog.forgetPack("p1");
  await catalog.expireUploads(5000);
  await catalog.beginUpload({ upload: "u3", owner: "a", leaseUntil: 1000, base: null, scope: "lineage" });
  await catalog.commit("u3", 1, snapshotOf("s3", []));
  await catalog.clear({ now: () => 0, random: (length) => Buffer.alloc(length) });
  t.diagnostic(`${plans.size} statements`);
  assertShort(plans);
  assertShort(await genericPlans(vault, plans.keys()));
  assert.ok(plans.size > 60, `only ${plans.size} statements were explained`);
});

test("no step with many rows reads all items of its vault for each of them, also where tables were never analyzed", async (t) => {
  const plans = new Map<string, string>();
  const catalog = openCatalog(explained(transactions, plans), await makeVault(transactions));
  const numbers = Array.from({ length: 600 }, (_, i) => i + 1);
  const unit = (pack: string, first: number) => {
    const items = numbers.map((n) => itemRow(first + n, first + n));
    const frames = numbers.map((n) => frameRow(first + n, pack));
    const follows = numbers.slice(1).map((n) => [first + n - 1, first + n] as const);
    return { ...unitOf(pack, frames, items), follows };
  };
  await catalog.beginUpload({ upload: "u1", owner: "a", leaseUntil: 1000, base: null, scope: "lineage" });
  await catalog.addUnit("u1", 1, unit("p1", 0), 1);
  await catalog.addUnit("u1", 1, unit("p2", 600), 2);
  await catalog.acquire("u1", numbers.slice(0, 250).map(idOf));
  await catalog.acquireOrdinals("u1", numbers);
  await catalog.acquireFrames("u1", numbers);
  await catalog.findHooks("a", numbers.map(BigInt));
  await catalog.setVerified(numbers);
  await catalog.itemsByOrdinal(numbers);
  await catalog.addRebuilt({ snapshots: [snapshotOf("s", numbers)] });
  await catalog.beginUpload({ upload: "u2", owner: "a", leaseUntil: 1000, base: "s", scope: "lineage" });
  await catalog.commit("u2", 1, snapshotOf("s2", numbers));
  for (const snapshot of ["s", "s2"]) await catalog.deleteSnapshot(snapshot, 1);
  for (const damaged of [true, false])
    await catalog.setDamaged(
      numbers.map((frame) => ({ frame, pack: "p1", generation: 0 })),
      damaged,
    );
  await catalog.endUpload("u1");
  const marking = await catalog.revision();
  await catalog.condemn(["p1", "p2"], marking);
  assert.equal(await catalog.beginDelete("p1", marking, numbers), true);
  t.diagnostic(`${plans.size} statements`);
  assertShort(plans);
});
