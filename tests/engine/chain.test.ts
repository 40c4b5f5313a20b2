/** The vault's chain against an attacker who changes the store or the database. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { Catalog, SnapshotQuery } from "../../packages/engine/src/catalog/catalog.ts";
import { writeRecoveryKit } from "../../packages/engine/src/format/recovery-kit.ts";
import { restoreSnapshot } from "../../packages/engine/src/restore/folder/restore.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  masterKey,
  openTestEnvironment,
  registeredWriter,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
  testEnvironmentOf,
  vaultId,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { recover } from "../../packages/engine/src/upkeep/recover.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { deleteSnapshot, setRetention } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import {
  identityOf,
  openReadableVault,
  openVault,
  revokeWriter,
  rotateVaultKeys,
} from "../../packages/engine/src/vault.ts";
import { catalogs } from "./testing/chain-environment.ts";

const held = { expiresAt: null, lockedUntil: null, hold: true };
const free = { expiresAt: null, lockedUntil: null, hold: false };

interface Prepared {
  readonly folder: string;
  readonly from: string;
  readonly store: MemoryStore;
  readonly env: TestEnvironment;
}

async function copyOf(store: MemoryStore): Promise<MemoryStore> {
  const copy = new MemoryStore();
  for await (const { name } of store.list("vaults/")) await copy.put(name, await store.get(name));
  return copy;
}

for (const [kind, newCatalog] of Object.entries(catalogs)) {
  async function prepare(t: { after(fn: () => void): void }): Promise<Prepared> {
    const folder = scratch(t);
    const from = path.join(folder, "from");
    mkdirSync(from);
    writeFileSync(path.join(from, "a"), seededBytes(41)(40_000));
    settleTimes(from);
    const store = new MemoryStore();
    const env = await openTestEnvironment(store, { catalog: newCatalog(testContext(8)) });
    return { folder, from, store, env };
  }

  /** Another night: one more file. */
  async function night({ from, env }: Prepared, number: number, more = {}) {
    writeFileSync(path.join(from, `night ${number}`), seededBytes(50 + number)(20_000));
    settleTimes(from);
    env.ctx.advance(1000);
    return (await env.backup(from, more)).snapshot;
  }

  /** A new process with the same store and another catalog. */
  async function reopened({ env, store }: Prepared, catalog: Catalog = newCatalog(testContext(99))) {
    return openVault({ ctx: env.ctx, store, catalog }, masterKey, vaultId);
  }

  describe(`after the loss of the catalog (${kind} catalog)`, () => {
    test("a hidden snapshot is named by rebuild: its manifest is gone, its record is not", async (t) => {
      const prepared = await prepare(t);
      const first = await night(prepared, 1);
      const second = await night(prepared, 2);
      await prepared.store.delete(prepared.env.vault.names.manifest(first.id));
      const vault = await reopened(prepared);
      const report = await rebuild(vault);
      assert.deepEqual([report.snapshots, report.hidden], [[second.id], [first.id]]);
      await assert.rejects(prune(vault), { name: "ChainMismatchError" });
      // The caller gives it up by name, and the chain keeps the record.
      await prune(vault, { giveUp: [first.id] });
      assert.equal((await vault.chain.read()).snapshots.get(first.id)?.deleted, true);
    });

    test("a dropped hold is named: the record that set it cannot be left out", async (t) => {
      const prepared = await prepare(t);
      const { id } = await night(prepared, 1);
      await setRetention(prepared.env.vault, id, held, { reason: "dava", by: "member 1" });
      const { head } = await prepared.env.vault.chain.read();
      await night(prepared, 2);
      const dropped = prepared.env.vault.names.chainRecord(head.sequence);
      await prepared.store.delete(dropped);
      const vault = await reopened(prepared);
      const report = await rebuild(vault);
      assert.ok(report.chainFaults.some(({ name }) => name === dropped));
      await assert.rejects(prune(vault), { name: "ChainMismatchError" });
      await assert.rejects(deleteSnapshot(vault, id), /chain is broken/);
      const { chain } = await scrub({ ...vault, identity: identityOf(vault) });
      assert.ok(
        chain.some(({ name }) => name === dropped),
        "scrub finds it without secret keys",
      );
    });

    test("a snapshot that is held, or whose manifest is there, cannot be given up", async (t) => {
      const prepared = await prepare(t);
      const first = await night(prepared, 1);
      const second = await night(prepared, 2);
      await setRetention(prepared.env.vault, first.id, held);
      for (const { id } of [first, second]) await prepared.store.delete(prepared.env.vault.names.manifest(id));
      const vault = await reopened(prepared);
      await rebuild(vault);
      const packs = (await Array.fromAsync(vault.catalog.allPacks())).length;
      await assert.rejects(prune(vault, { giveUp: [first.id, second.id] }), /held or locked in the chain/);
      assert.equal((await vault.chain.read()).snapshots.get(first.id)?.deleted, false);
      assert.equal((await Array.fromAsync(vault.catalog.allPacks())).length, packs);
    });

    test("a snapshot that is locked and has no row is named as such, whether it is given up or not", async (t) => {
      const prepared = await prepare(t);
      const { id } = await night(prepared, 1);
      const lockedUntil = prepared.env.ctx.now() + 1_000_000;
      await setRetention(prepared.env.vault, id, { expiresAt: null, lockedUntil, hold: false });
      await prepared.store.delete(prepared.env.vault.names.manifest(id));
      const vault = await reopened(prepared);
      await rebuild(vault);
      for (const giveUp of [[], [id]])
        await assert.rejects(prune(vault, { giveUp }), /held or locked in the chain and has no row/);
      prepared.env.ctx.advance(2_000_000);
      await prune(vault, { giveUp: [id] });
    });

    test("holds, locks, deletions and reasons come back as the chain has them", async (t) => {
      const prepared = await prepare(t);
      const first = await night(prepared, 1);
      const second = await night(prepared, 2);
      const lockedUntil = prepared.env.ctx.now() + 1_000_000;
      await setRetention(prepared.env.vault, second.id, { expiresAt: 5, lockedUntil, hold: true });
      await deleteSnapshot(prepared.env.vault, first.id);
      const vault = await reopened(prepared);
      assert.deepEqual((await rebuild(vault)).snapshots, [second.id]);
      const [row] = await listSnapshots(vault.catalog);
      assert.deepEqual(row?.retention, { expiresAt: 5, lockedUntil, hold: true });
      await assert.rejects(deleteSnapshot(vault, second.id), { code: "retained" });
    });

    test("a recovery goes on behind damaged records, and names what was lost with them", async (t) => {
      const prepared = await prepare(t);
      const { id } = await night(prepared, 1);
      const { head } = await prepared.env.vault.chain.read();
      await prepared.store.put(prepared.env.vault.names.chainRecord(head.sequence), Buffer.alloc(200, 7));
      const vault = await reopened(prepared);
      const report = await recover(vault, "the disk was replaced");
      assert.deepEqual([report.snapshots, report.unconfirmed], [[id], [id]]);
      assert.equal(report.chainFaults.length, 1);
      const again = await reopened(prepared);
      await recover(again, "once more");
      await prune(again);
      assert.equal((await again.chain.read()).incarnation, 3);
      const env = testEnvironmentOf(prepared.env.ctx, again, prepared.env.writer);
      await night({ ...prepared, env }, 2);
      await deleteSnapshot(again, id);
    });
  });

  describe(`an attacker with the database alone (${kind} catalog)`, () => {
    /** The catalog as the attacker has changed it: the row of a snapshot is removed. */
    function withoutRow(catalog: Catalog, removed: string): Catalog {
      return new Proxy(catalog, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (name === "snapshot") return async (id: string) => (id === removed ? null : target.snapshot(id));
          if (name === "snapshotPage")
            return async (query: SnapshotQuery) =>
              (await target.snapshotPage(query)).filter(({ id }) => id !== removed);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    }

    test("cannot lift a hold or shorten a lock: the chain in the store is stricter, and upkeep stops", async (t) => {
      const prepared = await prepare(t);
      const { id } = await night(prepared, 1);
      await night(prepared, 2);
      await setRetention(prepared.env.vault, id, held);
      await prepared.env.vault.catalog.changeRetention(id, free, 99);
      const { vault } = prepared.env;
      await assert.rejects(deleteSnapshot(vault, id), { name: "ChainMismatchError" });
      await assert.rejects(setRetention(vault, id, free), { name: "ChainMismatchError" });
      await assert.rejects(prune(vault), { name: "ChainMismatchError" });
      assert.equal((await vault.chain.read()).snapshots.get(id)?.deleted, false);
      assert.notEqual(await prepared.store.stat(vault.names.manifest(id)), null);
    });

    test("cannot make prune delete a snapshot's content by removing its row", async (t) => {
      const prepared = await prepare(t);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      const packs = (await Array.fromAsync(vault.catalog.allPacks())).length;
      await prepared.store.delete(vault.names.manifest(id));
      const catalog = withoutRow(vault.catalog, id);
      await assert.rejects(prune({ ...vault, catalog }), { name: "ChainMismatchError" });
      assert.equal((await Array.fromAsync(vault.catalog.allPacks())).length, packs);
    });
  });

  describe(`store and catalog of different times (${kind} catalog)`, () => {
    test("a store that is older than the catalog is noticed before anything is written or called known", async (t) => {
      const prepared = await prepare(t);
      await night(prepared, 1);
      const yesterday = await copyOf(prepared.store);
      await night(prepared, 2);
      const vault = { ...prepared.env.vault, store: yesterday };
      const env = testEnvironmentOf(prepared.env.ctx, vault, prepared.env.writer);
      await assert.rejects(night({ ...prepared, env }, 3), /store is older than the catalog/);
      await assert.rejects(prune(vault), /store is older than the catalog/);
    });

    test("a catalog that is older than the store is noticed by the sessions that it has not issued", async (t) => {
      const prepared = await prepare(t);
      await night(prepared, 1);
      const vault = await reopened(prepared);
      await assert.rejects(
        night({ ...prepared, env: testEnvironmentOf(prepared.env.ctx, vault, prepared.env.writer) }, 2),
        {
          name: "IncompleteCatalogError",
        },
      );
    });

    test("a store with another history at the same length is noticed", async (t) => {
      const prepared = await prepare(t);
      await night(prepared, 1);
      const { head } = await prepared.env.vault.chain.read();
      const name = prepared.env.vault.names.chainRecord(head.sequence);
      const other = Buffer.from(await prepared.store.get(name));
      other.writeUInt8(other.readUInt8(90) ^ 1, 90);
      await prepared.store.put(name, other);
      await assert.rejects(night(prepared, 2), /have different chains/);
    });
  });

  describe(`keys (${kind} catalog)`, () => {
    test("a vault with two epochs opens all of its frames, old and new", async (t) => {
      const prepared = await prepare(t);
      const first = await night(prepared, 1);
      const before = describeTree(prepared.from);
      const rotated = await rotateVaultKeys(prepared.env.vault, masterKey);
      const env = testEnvironmentOf(prepared.env.ctx, rotated, prepared.env.writer);
      const second = await night({ ...prepared, env }, 2);
      const vault = await reopened(prepared);
      assert.deepEqual((await rebuild(vault)).refused, []);
      assert.equal(vault.keys.epoch, 2);
      for (const [snapshot, tree] of [[first, before] as const, [second, describeTree(prepared.from)] as const]) {
        const target = path.join(prepared.folder, snapshot.id);
        const result = await restoreSnapshot({
          port: new LocalReadPort(vault),
          snapshot,
          target,
          pool: inlineRestorePool,
        });
        assert.deepEqual(result.failures, []);
        assert.deepEqual(describeTree(target), tree);
      }
      const sessions = await Promise.all([first, second].map(({ session }) => vault.catalog.session(session)));
      assert.ok(sessions.every((session) => session !== null));
    });

    test("with the store and a recovery kit alone everything is restored, and nothing can be signed", async (t) => {
      const prepared = await prepare(t);
      const snapshot = await night(prepared, 1);
      const kitKey = Buffer.alloc(32, 77);
      const kit = writeRecoveryKit(prepared.env.ctx, kitKey, prepared.env.vault.keys);
      const access = { ctx: prepared.env.ctx, store: prepared.store, catalog: newCatalog(testContext(98)) };
      const vault = openReadableVault(access, kitKey, kit);
      assert.deepEqual((await rebuild(vault)).snapshots, [snapshot.id]);
      assert.equal("authoritySeed" in vault.keys || "authority" in vault, false);
      const [row] = await listSnapshots(vault.catalog);
      assert.ok(row);
      const target = path.join(prepared.folder, "to");
      const result = await restoreSnapshot({
        port: new LocalReadPort(vault),
        snapshot: row,
        target,
        pool: inlineRestorePool,
      });
      assert.deepEqual(result.failures, []);
      assert.deepEqual(describeTree(target), describeTree(prepared.from));
    });
  });

  describe(`writers (${kind} catalog)`, () => {
    test("there is no registration object: packs are checked with the authority's key alone", async (t) => {
      const prepared = await prepare(t);
      const { id } = await night(prepared, 1);
      const names: string[] = [];
      for await (const { name } of prepared.store.list("vaults/")) names.push(name.split("/")[2] ?? "");
      assert.deepEqual([...new Set(names)].sort(), ["chain", "keys", "packs", "sessions", "snapshots"]);
      assert.deepEqual((await rebuild(await reopened(prepared))).snapshots, [id]);
    });

    test("a revocation concerns later sessions: old snapshots stay, a new backup is refused, also after a rebuild", async (t) => {
      const prepared = await prepare(t);
      const { vault } = prepared.env;
      const writer = registeredWriter(vault, 23);
      const { id } = await night(prepared, 1, { signer: writer });
      await revokeWriter(vault, writer.id, "member 1");
      await assert.rejects(night(prepared, 2, { signer: writer }), /revoked/);
      await night(prepared, 3);
      const again = await reopened(prepared);
      const report = await rebuild(again);
      assert.ok(report.snapshots.includes(id));
      assert.equal(report.snapshots.length, 2);
      const env = testEnvironmentOf(prepared.env.ctx, again, prepared.env.writer);
      await assert.rejects(night({ ...prepared, env }, 4, { signer: writer }), /revoked/);
    });
  });
}
