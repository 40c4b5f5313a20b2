import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Catalog } from "@emanet/engine/catalog";
import { begin, frameRow, idOf, itemRow, snapshotOf, unitOf } from "@emanet/engine/testing";
import { CompiledQuery } from "kysely";
import { Problem } from "../kernel/problems.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { testDatabase } from "../testing/database.ts";
import { scaled } from "../testing/scale.ts";
import { vaultTables } from "./scan-store.ts";
import { gatedTransactions } from "./testing/statement-scheduler.ts";
import { makeVault, openCatalog, type TestVault, testContext, testTransactions } from "./testing/vaults.ts";

const { app, owner } = await testDatabase({ after });
const transactions = testTransactions(app);

/** Transactions whose connection is lost before their statement number `at`; the COMMIT is the last. Says whether it was. */
function losingConnection(at: number): { readonly transactions: Transactions; readonly isLost: () => boolean } {
  let statements = 0;
  let current: Tx | null = null;
  let isLost = false;
  const turn = async () => {
    if (current === null || statements++ !== at) return;
    const { rows } = await current.db.executeQuery<{ pid: number }>(
      CompiledQuery.raw("select pg_backend_pid() as pid"),
    );
    isLost = true;
    // Waits until the server's process has ended.
    await owner.query("select pg_terminate_backend($1, 10000)", [rows[0]?.pid]);
  };
  const inner: Transactions = {
    ...transactions,
    run: (context, access, work) =>
      transactions.run(context, access, (tx) => {
        current = tx;
        return work(tx);
      }),
  };
  const apart = { turn, together: <T>(all: readonly T[]) => all.map((one) => [one]) };
  return { transactions: gatedTransactions(inner, apart), isLost: () => isLost };
}

/** Every row of the vault. */
async function content({ accountId, vaultId }: TestVault): Promise<string> {
  return transactions.run(testContext, { kind: "account", accountId }, async (tx) => {
    const rows = async (text: string, values: readonly unknown[] = []) =>
      (await tx.db.executeQuery<{ rows: string }>(CompiledQuery.raw(text, [...values]))).rows[0]?.rows;
    await rows("select use_vault($1) as rows", [vaultId]);
    const all = [await rows("select row_to_json(c)::text as rows from catalogs c where vault_id = $1", [vaultId])];
    for (const table of vaultTables)
      all.push(await rows(`select json_agg(t order by t::text)::text as rows from ${table} t`));
    return all.join("\n");
  });
}

/** A vault with a snapshot, a condemned pack and two running uploads, and what a step on it needs. */
async function preparedVault(): Promise<TestVault & { readonly catalog: Catalog; readonly marking: number }> {
  const vault = await makeVault(transactions);
  const catalog = openCatalog(transactions, vault);
  await begin(catalog, "u1");
  const packs = ["p1", "p2"].map((pack) => ({ pack, session: 1, size: 100, state: "live" as const }));
  const items = [itemRow(1, 10), itemRow(2, 20)];
  await catalog.addUnit("u1", 1, { ...unitOf("p1", [frameRow(10, "p1"), frameRow(20, "p2")], items), packs });
  await catalog.commit("u1", 1, snapshotOf("s1", [1]));
  await begin(catalog, "u2", { leaseUntil: 100 });
  await catalog.acquire("u2", [idOf(1)]);
  await begin(catalog, "up", { owner: "upkeep" });
  const marking = await catalog.revision();
  await catalog.condemn(["p2"], marking);
  return { ...vault, catalog, marking };
}

const fresh = unitOf("p3", [frameRow(30, "p3")], [itemRow(3, 30)]);
const replacing = unitOf("p3", [frameRow(30, "p3")], [itemRow(1, 30)]);
const moved = frameRow(20, "p3", { generation: 1 });

const steps: Readonly<Record<string, (catalog: Catalog, marking: number) => Promise<unknown>>> = {
  beginUpload: (catalog) => catalog.beginUpload({ upload: "u3", owner: "b", leaseUntil: 9, base: "s1", ordinals: 4 }),
  settleClaim: (catalog) => catalog.settleClaim(1, false),
  renewUpload: (catalog) => catalog.renewUpload("u2", 1, 200),
  reserveOrdinals: (catalog) => catalog.reserveOrdinals(5, { upload: "u2", request: 1 }),
  acquire: (catalog) => catalog.acquire("u2", [idOf(2)]),
  acquireOrdinals: (catalog) => catalog.acquireOrdinals("u2", [2]),
  acquireFrames: (catalog) => catalog.acquireFrames("u2", [20]),
  addUnit: (catalog) => catalog.addUnit("u2", 1, fresh, 1),
  "addUnit with a new recipe": (catalog) => catalog.addUnit("u2", 1, replacing),
  commit: (catalog) => catalog.commit("u2", 1, snapshotOf("s2", [1])),
  endUpload: (catalog) => catalog.endUpload("u2"),
  expireUploads: (catalog) => catalog.expireUploads(100),
  changeRetention: (catalog) => catalog.changeRetention("s1", { expiresAt: 9, lockedUntil: null, hold: false }, 1),
  beginDeleteSnapshot: (catalog) => catalog.beginDeleteSnapshot("s1", 1),
  advanceChain: (catalog) => catalog.advanceChain({ sequence: 1, hash: Buffer.alloc(32) }, 2),
  revokeWriter: (catalog) => catalog.revokeWriter("w", 1),
  setVerified: (catalog) => catalog.setVerified([1]),
  addRebuilt: (catalog) => catalog.addRebuilt({ unit: fresh, snapshots: [snapshotOf("s2", [3])], nextOrdinal: 50 }),
  deleteSnapshot: (catalog) => catalog.deleteSnapshot("s1", 1),
  condemn: (catalog, marking) => catalog.condemn(["p2"], marking),
  beginDelete: (catalog, marking) => catalog.beginDelete("p2", marking, [2]),
  moveFrames: (catalog, marking) => {
    const from = { pack: "p2", generation: 0, marking };
    return catalog.moveFrames("up", 1, unitOf("p3", [], []), [{ from, to: moved }], []);
  },
  clear: (catalog) => catalog.clear({ now: () => 0, random: (length) => Buffer.alloc(length, 1) }),
};

/** The other steps are tried in heavy runs: each takes a connection per statement. */
const everyday = ["acquire", "addUnit with a new recipe", "commit", "moveFrames"];
const isHeavy = scaled(0, 1) === 1;

test("a connection that is lost while a damage mark is set: the next upload gets all items of the frame, or the mark is not set", {
  skip: !isHeavy,
}, async () => {
  const answers = new Set<string>();
  for (let at = 0; ; at++) {
    const vault = await preparedVault();
    const { transactions: losing, isLost } = losingConnection(at);
    const mark = openCatalog(losing, vault).setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
    await mark.catch(() => undefined);
    const frames = await vault.catalog.damagedFrames();
    const { damaged } = await begin(vault.catalog, "u3");
    assert.deepEqual(damaged, frames.length === 0 ? [] : [1]);
    answers.add(String(frames));
    if (!isLost()) break;
  }
  assert.deepEqual([...answers], ["", "10"]);
});

describe("a connection that is lost before any statement of a step leaves the old state, and the step can be repeated", () => {
  for (const [name, step] of Object.entries(steps)) {
    test(name, { skip: !isHeavy && !everyday.includes(name) }, async () => {
      const vault = await preparedVault();
      const before = await content(vault);
      let at = 0;
      for (; ; at++) {
        const { transactions: losing, isLost } = losingConnection(at);
        const run = step(openCatalog(losing, vault), vault.marking);
        const error = await run.then(
          () => null,
          (thrown: unknown) => thrown,
        );
        if (!isLost()) {
          assert.equal(error, null);
          break;
        }
        assert.ok(error instanceof Problem && error.code === "unavailable", String(error));
        assert.equal(await content(vault), before, `before statement ${at}`);
      }
      assert.ok(at >= 3, `the step has only ${at} statements`);
      if (name !== "condemn") assert.notEqual(await content(vault), before);
    });
  }
});
