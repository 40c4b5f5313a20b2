import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { begin, frameRow, itemRow, snapshotOf, unitOf } from "@emanet/engine/testing";
import type { Kysely } from "kysely";
import type { Tx } from "../kernel/tx.ts";
import { testDatabase } from "../testing/database.ts";
import { createNotesTable } from "../testing/notes.ts";
import type { CatalogListeners } from "./index.ts";
import { makeVault, openCatalog, testContext, testTransactions } from "./testing/vaults.ts";

const { app, owner } = await testDatabase({ after });
await createNotesTable(owner);
const transactions = testTransactions(app);

interface Notes {
  test_notes: { id: string; account_id: string; text: string; created_at: Date };
}

const notes = (tx: Pick<Tx, "db">) => tx.db as unknown as Kysely<Notes>;

/** A catalog whose listeners write down what they are told, and then fail if `fault` is set. */
async function listenedVault() {
  const vault = await makeVault(transactions);
  const access = { kind: "account", accountId: vault.accountId } as const;
  const told: { fault: Error | null } = { fault: null };
  const note = async (tx: Tx, text: string) => {
    const row = { id: crypto.randomUUID(), account_id: vault.accountId, text, created_at: tx.now };
    await notes(tx).insertInto("test_notes").values(row).execute();
    if (told.fault !== null) throw told.fault;
  };
  const listeners: CatalogListeners = {
    unitAdded: (tx, { vaultId, upload, storedBytes }) => {
      assert.equal(vaultId, vault.vaultId);
      return note(tx, `unit of ${upload}, ${storedBytes} bytes`);
    },
    committed: (tx, { vaultId, upload, snapshot }) => {
      assert.equal(vaultId, vault.vaultId);
      return note(tx, `${upload} is snapshot ${snapshot.id}`);
    },
    ended: (tx, { vaultId, uploads, reason }) => {
      assert.equal(vaultId, vault.vaultId);
      return note(tx, `${reason}: ${uploads.toSorted().join(" ")}`);
    },
  };
  const catalog = openCatalog(transactions, vault, listeners);
  const written = async () => {
    const rows = await transactions.run(testContext, access, (tx) =>
      notes(tx).selectFrom("test_notes").select("text").orderBy("created_at").execute(),
    );
    return rows.map(({ text }) => text).toSorted();
  };
  return { catalog, told, written };
}

const unit = unitOf("p1", [frameRow(10, "p1")], [itemRow(1, 10)]);

describe("listeners run in the transaction of the step", () => {
  test("they are told of units, snapshots and ends, each once", async () => {
    const { catalog, written } = await listenedVault();
    await begin(catalog, "u1");
    await catalog.addUnit("u1", 1, unit, 1);
    await catalog.addUnit("u1", 1, unit, 1);
    const replacing = unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]);
    await catalog.addUnit("u1", 1, replacing);
    await catalog.commit("u1", 1, snapshotOf("s1", [1]));
    await begin(catalog, "u2");
    await catalog.endUpload("u2");
    await catalog.endUpload("u2");
    await begin(catalog, "u3", { leaseUntil: 50 });
    await begin(catalog, "u4", { leaseUntil: 50 });
    await begin(catalog, "u5", { leaseUntil: 51 });
    await catalog.expireUploads(50);
    await catalog.expireUploads(50);
    await catalog.clear({ now: () => 0, random: (length) => Buffer.alloc(length) });
    assert.deepEqual(
      await written(),
      [
        "unit of u1, 100 bytes",
        "unit of u1, 100 bytes",
        "u1 is snapshot s1",
        "ended: u2",
        "expired: u3 u4",
        "ended: u5",
      ].toSorted(),
    );
  });

  test("one that throws undoes the step, and the caller gets its error", async () => {
    const { catalog, told, written } = await listenedVault();
    await begin(catalog, "u1", { leaseUntil: 100 });
    const fault = new Error("the quota is used up");
    const fails = async (step: () => Promise<unknown>) => {
      told.fault = fault;
      await assert.rejects(step, (error) => error === fault);
      told.fault = null;
    };
    await fails(() => catalog.addUnit("u1", 1, unit, 1));
    assert.deepEqual(await Array.fromAsync(catalog.allPacks()), []);
    assert.deepEqual(await catalog.itemsByOrdinal([1]), [null]);
    await catalog.addUnit("u1", 1, unit, 1);
    const revision = await catalog.revision();
    await fails(() => catalog.commit("u1", 1, snapshotOf("s1", [1])));
    await fails(() => catalog.endUpload("u1"));
    await fails(() => catalog.expireUploads(100));
    assert.deepEqual([await catalog.revision(), await catalog.snapshotPage()], [revision, []]);
    assert.deepEqual((await catalog.condemn(["p1"], revision)).condemned, [], "the pins are there");
    await catalog.commit("u1", 1, snapshotOf("s1", [1]));
    assert.deepEqual(await written(), ["u1 is snapshot s1", "unit of u1, 100 bytes"]);
  });

  test("they learn whether another snapshot has the same content: tree, place, items and counts, all whole", async () => {
    const vault = await makeVault(transactions);
    const asked: { id: string; answer: boolean | null } = { id: "s1", answer: null };
    const catalog = openCatalog(transactions, vault, {
      committed: async (_tx, { hasContentOf }) => {
        // The answer about another snapshot does not change it.
        assert.equal(await hasContentOf("none"), false);
        asked.answer = await hasContentOf(asked.id);
      },
    });
    await begin(catalog, "u1");
    const items = [itemRow(1, 10), itemRow(2, 10)];
    await catalog.addUnit("u1", 1, unitOf("p1", [frameRow(10, "p1")], items), 1);
    await catalog.commit("u1", 1, snapshotOf("s1", [1, 2]));
    let number = 1;
    const answerTo = async (ordinals: number[], more: Parameters<typeof snapshotOf>[2] = {}) => {
      const name = `${++number}`;
      await begin(catalog, `u${name}`, { base: "s1" });
      await catalog.commit(`u${name}`, 1, snapshotOf(`s${name}`, ordinals, more));
      return asked.answer;
    };
    assert.equal(await answerTo([1, 2], { warnings: 3, storedBytes: 9, session: 5, completedAt: 77 }), true);
    assert.equal(await answerTo([1]), false, "other items");
    for (const more of [{ rootId: Buffer.alloc(32, 9) }, { rootOrdinal: 2 }, { size: 1 }, { files: 1 }])
      assert.equal(await answerTo([1, 2], more), false, JSON.stringify(more));
    asked.id = "unknown";
    assert.equal(await answerTo([1, 2]), false, "there is no such snapshot");
    asked.id = "s1";
    await catalog.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
    assert.equal(await answerTo([1, 2]), false, "a frame is damaged");
    await catalog.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], false);
    assert.equal(await answerTo([1, 2]), true);
    await catalog.beginDeleteSnapshot("s1", 1);
    assert.equal(await answerTo([1, 2]), false, "it is being deleted");
  });
});
