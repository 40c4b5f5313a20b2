/** The chain of a vault whose store lags, loses records and brings them back; and what a recovery does then. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FaultyStore, StoreCrash } from "@emanet/storage/testing";
import { applyNewRecords, chainWriter } from "../../packages/engine/src/catalog/vault-chain.ts";
import { encodeChainRecord } from "../../packages/engine/src/format/chain.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { recover } from "../../packages/engine/src/upkeep/recover.ts";
import { setRetention } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import type { Prepared } from "./testing/chain-environment.ts";
import {
  catalogs,
  copyOf,
  held,
  lagging,
  night,
  nightsOf,
  prepare,
  processWith,
  takeAway,
  withNewCatalog,
} from "./testing/chain-environment.ts";

const isRecord = (name: string) => name.includes("/chain/");

/** Names of the objects that a recovery or a rebuild has named. */
const namesOf = (faults: readonly { readonly name: string }[]) => faults.map(({ name }) => name);

/** The store of a process that ends when it has put the record of this number. */
const endsAfterPut = ({ store, env }: Prepared, sequence: number) =>
  new FaultyStore(store, ({ operation, name }) =>
    operation === "put" && name === env.vault.names.chainRecord(sequence) ? { kind: "crash", when: "after" } : null,
  );

/** The chain as a new process reads it. */
async function chainOf({ env, store }: Prepared) {
  return processWith(env.vault, store).chain.readAll();
}

for (const [kind, newCatalog] of Object.entries(catalogs)) {
  describe(`a listing that lags behind the store (${kind} catalog)`, () => {
    test("shows no record as missing: every record that can be read by its name is in the chain", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      await setRetention(prepared.env.vault, id, held);
      await night(prepared, 2);
      const { names } = prepared.env.vault;
      for (const hidden of [[2], [2, 3], [3, 4], [1, 2, 3, 4]]) {
        const hides = (name: string) => hidden.some((sequence) => name === names.chainRecord(sequence));
        const { state, faults } = await processWith(prepared.env.vault, lagging(prepared.store, hides)).chain.readAll();
        assert.deepEqual([faults, state.head.sequence], [[], 4], `hidden ${hidden}`);
        assert.equal(state.snapshots.get(id)?.retention.hold, true);
      }
    });

    test("hides no record from a process that has read the chain before", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const blind = processWith(prepared.env.vault, lagging(prepared.store, isRecord));
      assert.equal((await blind.chain.read()).head.sequence, 2);
      await setRetention(prepared.env.vault, id, held);
      assert.equal((await blind.chain.read()).snapshots.get(id)?.retention.hold, true);
    });

    test("makes a recovery skip no record that is there, and the hold stays", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      await setRetention(prepared.env.vault, id, held);
      await night(prepared, 2);
      const blind = processWith(prepared.env.vault, lagging(prepared.store, isRecord));
      const report = await recover(blind, "the listing was wrong");
      assert.deepEqual([report.chainFaults, report.hidden, report.unconfirmed], [[], [], []]);
      const { state, faults, ignored } = await chainOf(prepared);
      assert.deepEqual([faults, ignored, state.head.sequence, state.incarnation], [[], [], 5, 2]);
      assert.equal(state.snapshots.get(id)?.retention.hold, true);
      await night(nightsOf(prepared, blind), 3);
      await prune(blind);
    });

    test("makes a recovery find a record in every place up to the newest that the catalog knows", async (t) => {
      const prepared = await prepare(t, newCatalog);
      for (const number of [1, 2, 3]) await night(prepared, number);
      const { names } = prepared.env.vault;
      await prepared.store.delete(names.chainRecord(2));
      const blind = processWith(prepared.env.vault, lagging(prepared.store, isRecord));
      const report = await recover(blind, "record 2 is lost");
      assert.deepEqual(namesOf(report.chainFaults), [2, 3, 4].map(names.chainRecord));
      assert.equal((await chainOf(prepared)).state.head.sequence, 5, "behind every place that was used");
    });
  });

  describe(`records that return after a recovery (${kind} catalog)`, () => {
    test("are ignored and named: the chain goes on behind them", async (t) => {
      const prepared = await prepare(t, newCatalog);
      await night(prepared, 1);
      const { names } = prepared.env.vault;
      await night(prepared, 2);
      await night(prepared, 3);
      const putBack = await takeAway(prepared.store, names.chainRecord(3));
      const vault = await withNewCatalog(prepared);
      const report = await recover(vault, "record 3 is lost");
      assert.deepEqual(namesOf(report.chainFaults), [names.chainRecord(3), names.chainRecord(4)]);
      assert.deepEqual(namesOf(report.chainIgnored), [names.chainRecord(4)]);
      await prune(vault);
      await night(nightsOf(prepared, vault), 4);
      await putBack();
      const { faults, ignored } = await chainOf(prepared);
      assert.deepEqual([faults, namesOf(ignored)], [[], [names.chainRecord(3), names.chainRecord(4)]]);
      assert.match(ignored[0]?.reason ?? "", /recovery in record 5 has skipped it/);
      const again = await withNewCatalog(prepared);
      assert.deepEqual((await rebuild(again)).chainFaults, []);
      await night(nightsOf(prepared, again), 5);
      await prune(again);
    });

    test("are ignored also if they are those of an earlier recovery and follow the newest good record", async (t) => {
      const prepared = await prepare(t, newCatalog);
      await night(prepared, 1);
      await recover(prepared.env.vault, "first");
      const { names } = prepared.env.vault;
      await night(prepared, 2);
      const putBack = await takeAway(prepared.store, names.chainRecord(3));
      await recover(prepared.env.vault, "second");
      await putBack();
      const { state, faults, ignored } = await chainOf(prepared);
      assert.deepEqual([faults, namesOf(ignored)], [[], [3, 4].map(names.chainRecord)]);
      assert.deepEqual([state.incarnation, state.head.sequence], [2, 5]);
      await prune(prepared.env.vault);
    });

    test("skip nothing themselves if they are of a recovery that a later one has skipped", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const nights = [await night(prepared, 1), await night(prepared, 2), await night(prepared, 3)];
      const { names } = prepared.env.vault;
      const putBackRecord = await takeAway(prepared.store, names.chainRecord(2));
      await recover(prepared.env.vault, "record 2 is lost");
      const putBackRecovery = await takeAway(prepared.store, names.chainRecord(5));
      await putBackRecord();
      await recover(prepared.env.vault, "record 2 is back, and the recovery is lost");
      await putBackRecovery();
      const { state, faults, ignored } = await chainOf(prepared);
      assert.deepEqual([faults, namesOf(ignored)], [[], [names.chainRecord(5)]]);
      assert.deepEqual([...state.snapshots.keys()].sort(), nights.map(({ id }) => id).sort());
    });

    test("of a store that was older than the catalog get no place that is used again", async (t) => {
      const prepared = await prepare(t, newCatalog);
      await night(prepared, 1);
      const yesterday = await copyOf(prepared.store);
      await night(prepared, 2);
      const { names } = prepared.env.vault;
      const newest = await prepared.store.get(names.chainRecord(3));
      const vault = processWith(prepared.env.vault, yesterday);
      await assert.rejects(setRetention(vault, "0".repeat(32), held), /store is older than the catalog/);
      await recover(vault, "yesterday's bucket");
      assert.equal((await vault.chain.read()).head.sequence, 4);
      await yesterday.put(names.chainRecord(3), newest);
      const { faults, ignored } = await processWith(vault, yesterday).chain.readAll();
      assert.deepEqual([faults, namesOf(ignored)], [[], [names.chainRecord(3)]]);
    });
  });

  describe(`a rebuild while the newest records are missing (${kind} catalog)`, () => {
    test("is refused if the catalog knows them: the hold is there when they are back", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      await setRetention(vault, id, held);
      const putBack = await takeAway(prepared.store, vault.names.chainRecord(3));
      const other = processWith(vault, prepared.store);
      await assert.rejects(rebuild(other), /store is older than the catalog/);
      await assert.rejects(night(nightsOf(prepared, other), 2), /store is older than the catalog/);
      await putBack();
      await rebuild(other);
      await night(nightsOf(prepared, other), 3);
      await prune(other);
      const { state, faults } = await chainOf(prepared);
      assert.deepEqual([faults, state.snapshots.get(id)?.retention.hold], [[], true]);
    });

    test("is refused also if the chain has a gap: their places are not used again", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      await night(prepared, 2);
      const { vault } = prepared.env;
      await setRetention(vault, id, held);
      await prepared.store.delete(vault.names.chainRecord(2));
      const putBack = await takeAway(prepared.store, vault.names.chainRecord(4));
      const other = processWith(vault, prepared.store);
      await assert.rejects(rebuild(other), /store is older than the catalog/);
      await recover(other, "records 2 and 4 are lost");
      await putBack();
      const { faults, ignored, state } = await chainOf(prepared);
      assert.deepEqual([faults, namesOf(ignored)], [[], [3, 4].map(vault.names.chainRecord)]);
      assert.equal(state.head.sequence, 5);
    });

    test("does not stop a recovery, which fills their places", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      await setRetention(vault, id, held);
      await prepared.store.delete(vault.names.chainRecord(3));
      const other = processWith(vault, lagging(prepared.store, isRecord));
      await recover(other, "record 3 is lost");
      await night(nightsOf(prepared, processWith(vault, prepared.store)), 2);
      const [lost, recovery] = await Promise.all(
        [3, 4].map((each) => prepared.store.get(vault.names.chainRecord(each))),
      );
      assert.deepEqual(lost, recovery, "no record takes the place of the lost one");
      const { faults, ignored, state } = await chainOf(prepared);
      assert.deepEqual([faults, ignored, state.head.sequence], [[], [], 5]);
    });
  });

  describe(`a recovery that ends in the middle (${kind} catalog)`, () => {
    test("after its record: nothing is added to the places that it skips, and changes go on behind it", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      await night(prepared, 2);
      const { names } = prepared.env.vault;
      const { head } = await prepared.env.vault.chain.read();
      // The catalog knows two records. The third is lost and the fourth is damaged.
      const vault = await withNewCatalog(prepared);
      await prepared.store.delete(names.chainRecord(3));
      await prepared.store.put(names.chainRecord(4), Buffer.alloc(100, 5));
      await rebuild(vault);
      assert.equal((await vault.catalog.chainHead()).sequence, 2);
      await assert.rejects(setRetention(vault, id, held), /chain is broken/);
      await assert.rejects(recover(processWith(vault, endsAfterPut(prepared, 5)), "it ends"), StoreCrash);
      await setRetention(vault, id, held);
      const { state, faults } = await chainOf(prepared);
      assert.deepEqual([faults, state.head.sequence], [[], head.sequence + 3]);
      assert.equal(state.snapshots.get(id)?.retention.hold, true);
    });

    test("after its record, which a listing does not show: changes go on behind it, and none is lost", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      for (const number of [2, 3, 4]) await night(prepared, number);
      const { names } = prepared.env.vault;
      const vault = await withNewCatalog(prepared);
      // Records 3 and 4 are lost. The catalog knows two records.
      for (const sequence of [3, 4]) await prepared.store.delete(names.chainRecord(sequence));
      await rebuild(vault);
      await assert.rejects(recover(processWith(vault, endsAfterPut(prepared, 6)), "it ends"), StoreCrash);
      const blind = processWith(vault, lagging(prepared.store, isRecord));
      await setRetention(blind, id, held);
      const { state, faults, ignored } = await chainOf(prepared);
      assert.deepEqual([faults, namesOf(ignored), state.head.sequence], [[], [names.chainRecord(5)], 7]);
      assert.equal(state.snapshots.get(id)?.retention.hold, true);
      await rebuild(blind);
      await night(nightsOf(prepared, blind), 5);
      await prune(blind);
    });

    test("before its record: nothing is added to the broken chain, and the next recovery completes", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      for (const number of [2, 3]) await night(prepared, number);
      const { names } = prepared.env.vault;
      await prepared.store.delete(names.chainRecord(3));
      const vault = await withNewCatalog(prepared);
      await rebuild(vault);
      await assert.rejects(recover(processWith(vault, endsAfterPut(prepared, 3)), "it ends"), StoreCrash);
      assert.equal(await prepared.store.stat(names.chainRecord(5)), null);
      for (const store of [prepared.store, lagging(prepared.store, isRecord)])
        await assert.rejects(setRetention(processWith(vault, store), id, held), /chain is broken/);
      await recover(vault, "again");
      await setRetention(vault, id, held);
      const { state, faults } = await chainOf(prepared);
      assert.deepEqual([faults, state.head.sequence], [[], 6]);
      assert.equal(state.snapshots.get(id)?.retention.hold, true);
    });
  });

  describe(`a handle that is open while another process recovers the vault (${kind} catalog)`, () => {
    test("reads the chain again and goes on", async (t) => {
      const prepared = await prepare(t, newCatalog);
      await night(prepared, 1);
      await night(prepared, 2);
      const { names, chain } = prepared.env.vault;
      assert.equal((await chain.read()).head.sequence, 3);
      await prepared.store.delete(names.chainRecord(2));
      const other = await withNewCatalog(prepared);
      await recover(other, "record 2 is lost");
      assert.deepEqual([(await chain.read()).incarnation, (await chain.read()).head.sequence], [2, 4]);
      const vault = { ...other, chain };
      await prune(vault);
      await night(nightsOf(prepared, vault), 3);
    });

    test("throws at a store that has lost what it has read, and reads again once the vault is recovered", async (t) => {
      const prepared = await prepare(t, newCatalog);
      await night(prepared, 1);
      const { id } = await night(prepared, 2);
      const { names, chain } = prepared.env.vault;
      await chain.read();
      await prepared.store.delete(names.chainRecord(3));
      await assert.rejects(chain.read(), /000000000003: it is missing/);
      const other = await withNewCatalog(prepared);
      await recover(other, "record 3 is lost");
      // The place of the lost record has another record now.
      assert.equal((await chain.read()).incarnation, 2);
      assert.equal((await chain.read()).snapshots.has(id), false);
    });
  });

  describe(`objects under chain/ that are no records (${kind} catalog)`, () => {
    test("names that are not 12 digits are ignored and named, and block nothing", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { names, chain } = prepared.env.vault;
      const junk = ["0", "00000000000x", "0000000000009", "000000000003.tmp", "readme", "old/000000000003"];
      for (const name of junk) await prepared.store.put(`${names.chain}${name}`, Buffer.from("junk"));
      await chain.read();
      await setRetention(prepared.env.vault, id, held);
      await night(prepared, 2);
      await prune(prepared.env.vault);
      const { chainFaults, chainIgnored } = await rebuild(prepared.env.vault);
      assert.deepEqual([chainFaults, namesOf(chainIgnored)], [[], junk.map((name) => names.chain + name).sort()]);
    });

    test("a foreign object with a number far behind the chain stops a recovery, which names it", async (t) => {
      const prepared = await prepare(t, newCatalog);
      await night(prepared, 1);
      const { names } = prepared.env.vault;
      const far = names.chainRecord(999_999_999_999);
      await prepared.store.put(far, Buffer.from("junk"));
      await assert.rejects(night(prepared, 2), /chain is broken/);
      await assert.rejects(recover(prepared.env.vault, "?"), { message: new RegExp(`${far}.*delete it`) });
      await prepared.store.delete(far);
      await night(prepared, 3);
    });

    test("a record under the name of another number is a fault, also if it may skip places", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const { head } = await vault.chain.read();
      const entry = { kind: "incarnation", incarnation: 2, reason: "moved" } as const;
      const bytes = encodeChainRecord(vault.authority, vault.keys.vaultId, head, 1, entry, 7);
      await prepared.store.put(vault.names.chainRecord(5), bytes);
      const { state, faults } = await chainOf(prepared);
      assert.deepEqual([state.incarnation, namesOf(faults)], [1, [2, 5].map(vault.names.chainRecord)]);
      assert.match(faults[1]?.reason ?? "", /another record than its name says/);
      await assert.rejects(applyNewRecords(chainWriter(vault, vault.authority)), { name: "ChainMismatchError" });
    });

    test("an incarnation of another history is a fault", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const entry = { kind: "incarnation", incarnation: 2, reason: "another vault's bucket" } as const;
      const before = { sequence: 1, hash: Buffer.alloc(32, 9) };
      const bytes = encodeChainRecord(vault.authority, vault.keys.vaultId, before, 1, entry, 4);
      await prepared.store.put(vault.names.chainRecord(4), bytes);
      const { state, faults } = await chainOf(prepared);
      assert.deepEqual([state.incarnation, namesOf(faults)], [1, [2, 4].map(vault.names.chainRecord)]);
    });
  });
}
