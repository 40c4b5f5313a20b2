/** The epochs of a vault's keys: re-wrapping, rotation, and key objects that are damaged or of another time. */

import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";
import { FaultyStore, StoreCrash } from "@emanet/storage/testing";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import { restoreSnapshot } from "../../packages/engine/src/restore/folder/restore.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import {
  describeTree,
  inlineRestorePool,
  masterKey,
  testContext,
  vaultId,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { openVault, rewrapVault, rotateVaultKeys } from "../../packages/engine/src/vault.ts";
import type { Prepared } from "./testing/chain-environment.ts";
import {
  catalogs,
  copyOf,
  lagging,
  night,
  nightsOf,
  prepare,
  processWith,
  withNewCatalog,
} from "./testing/chain-environment.ts";

const nextMasterKey = Buffer.alloc(32, 70);

/** The vault as a new process opens it, with the same catalog; and the key objects that did not open. */
async function opened({ env, store }: Prepared, key: Uint8Array = masterKey) {
  const refused: string[] = [];
  const access = { ctx: env.ctx, store, catalog: env.vault.catalog };
  const vault = await openVault(access, key, vaultId, (name) => refused.push(name));
  return { vault, refused };
}

for (const [kind, newCatalog] of Object.entries(catalogs)) {
  describe(`the epochs of a vault (${kind} catalog)`, () => {
    test("re-wrapping leaves no key object under the old master key, of no epoch", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const rotated = await rotateVaultKeys(prepared.env.vault, masterKey);
      await rewrapVault(rotated, nextMasterKey);
      await assert.rejects(opened(prepared), { name: "FormatError" });
      const { vault, refused } = await opened(prepared, nextMasterKey);
      assert.deepEqual([refused, vault.keys.epoch, [...vault.keys.privateSeeds.keys()]], [[], 2, [1, 2]]);
      for (const name of [vault.names.keyObject(2), vault.names.keyCopy(2)]) await prepared.store.delete(name);
      assert.deepEqual((await opened(prepared, nextMasterKey)).vault.keys.publicKey, prepared.env.vault.keys.publicKey);
    });

    test("re-wrapping by a process that was open before a rotation is refused, also if the listing lags", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      await rotateVaultKeys(vault, masterKey);
      const blind = processWith(
        vault,
        lagging(prepared.store, (name) => name.includes("/keys/")),
      );
      for (const each of [vault, blind])
        await assert.rejects(rewrapVault(each, nextMasterKey), { name: "OutdatedKeysError" });
      assert.equal((await opened(prepared)).vault.keys.epoch, 2);
    });

    test("re-wrapping is refused if a rotation has ended before its record, until the vault is opened again", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const crashing = new FaultyStore(prepared.store, ({ operation, name }) =>
        operation === "put" && name.endsWith("/00000002") ? { kind: "crash", when: "after" } : null,
      );
      await assert.rejects(rotateVaultKeys(processWith(vault, crashing), masterKey), StoreCrash);
      // Neither the chain nor a listing that lags has the new epoch: its object is found by its name.
      const blind = processWith(
        vault,
        lagging(prepared.store, (name) => name.includes("/keys/")),
      );
      for (const each of [vault, blind])
        await assert.rejects(rewrapVault(each, nextMasterKey), { name: "OutdatedKeysError" });
      const again = await opened(prepared);
      await rewrapVault(again.vault, nextMasterKey);
      assert.equal((await opened(prepared, nextMasterKey)).vault.keys.epoch, 2);
    });

    test("a rotation that has ended before its record enters the chain with the next one", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const crashing = new FaultyStore(prepared.store, ({ operation, name }) =>
        operation === "put" && name.includes("/chain/") ? { kind: "crash", when: "before" } : null,
      );
      await assert.rejects(rotateVaultKeys(processWith(vault, crashing), masterKey), StoreCrash);
      assert.equal((await vault.chain.read()).newestEpoch, 1);
      const rotated = await rotateVaultKeys(vault, masterKey);
      assert.deepEqual([rotated.keys.epoch, [...rotated.keys.privateSeeds.keys()]], [3, [1, 2, 3]]);
      assert.deepEqual([...(await vault.chain.read()).epochs.keys()], [2, 3]);
      assert.equal(await vault.catalog.newestEpoch(), 3);
    });

    test("with both objects of the newest epoch damaged, old snapshots are read and nothing is written", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const first = await night(prepared, 1);
      const tree = describeTree(prepared.from);
      const rotated = await rotateVaultKeys(prepared.env.vault, masterKey);
      const second = await night(nightsOf(prepared, rotated), 2);
      const { names } = rotated;
      for (const name of [names.keyObject(2), names.keyCopy(2)]) await prepared.store.put(name, Buffer.alloc(99, 1));
      const { vault, refused } = await opened(prepared);
      assert.deepEqual([vault.keys.epoch, refused.sort()], [1, [names.keyObject(2), names.keyCopy(2)]]);
      const packs = (await Array.fromAsync(vault.catalog.allPacks())).length;
      await assert.rejects(night(nightsOf(prepared, vault), 3), { name: "OutdatedKeysError" });
      await assert.rejects(prune(vault), { name: "OutdatedKeysError" });
      assert.equal((await Array.fromAsync(vault.catalog.allPacks())).length, packs);
      const target = path.join(prepared.folder, "to");
      const result = await restoreSnapshot({
        port: new LocalReadPort(vault),
        snapshot: first,
        target,
        pool: inlineRestorePool,
      });
      assert.deepEqual([result.failures, describeTree(target)], [[], tree]);
      // A rebuilt catalog knows the newest epoch too, from the chain.
      const rebuilt = await withNewCatalog({ ...prepared, store: await copyOf(prepared.store) });
      await rebuild(rebuilt);
      await assert.rejects(night(nightsOf(prepared, rebuilt), 4), { name: "OutdatedKeysError" });
      // A new epoch is the way out; the number of the lost one is not used again.
      const third = await rotateVaultKeys(vault, masterKey);
      assert.deepEqual([third.keys.epoch, [...third.keys.privateSeeds.keys()]], [3, [1, 3]]);
      await night(nightsOf(prepared, third), 5);
      assert.ok((await listSnapshots(third.catalog)).some(({ id }) => id === second.id));
    });

    test("an upload that began before a rotation writes nothing under the old epoch", async (t) => {
      const prepared = await prepare(t, newCatalog);
      await rotateVaultKeys(prepared.env.vault, masterKey);
      // The first process goes on with the keys of epoch 1.
      await assert.rejects(night(prepared, 1), { name: "OutdatedKeysError" });
      assert.deepEqual(await Array.fromAsync(prepared.env.vault.catalog.allPacks()), []);
      assert.deepEqual(await listSnapshots(prepared.env.vault.catalog), []);
    });

    test("a rotation after an upload's last unit refuses its completion, and no manifest is written", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      await night(prepared, 1);
      const target = new LocalTarget({ access: vault, upload: "late", owner: "late", authority: vault.authority });
      const complete = target.complete.bind(target);
      target.complete = async (draft) => {
        await rotateVaultKeys(vault, masterKey);
        return complete(draft);
      };
      await assert.rejects(night(prepared, 2, { target, owner: "late" }), { name: "OutdatedKeysError" });
      const manifests = await Array.fromAsync(prepared.store.list(vault.names.snapshots));
      assert.deepEqual([manifests.length, (await listSnapshots(vault.catalog)).length], [1, 1]);
    });

    test("keys that are not those that the chain names are not wrapped", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const rotated = await rotateVaultKeys(prepared.env.vault, masterKey);
      const seeds = new Map([...rotated.keys.privateSeeds, [2, testContext(5).random(32)] as const]);
      const other = { ...rotated, keys: { ...rotated.keys, privateSeeds: seeds } };
      await assert.rejects(rewrapVault(other, nextMasterKey), /not those that the chain names/);
    });
  });
}
