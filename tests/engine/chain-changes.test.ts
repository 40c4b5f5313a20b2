/** Revocations, holds and manifests against processes that end in the middle and processes that run at the same time. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FaultyStore, StoreCrash } from "@emanet/storage/testing";
import { appendToChain, chainWriter } from "../../packages/engine/src/catalog/vault-chain.ts";
import { encodeChainRecord } from "../../packages/engine/src/format/chain.ts";
import { sha256 } from "../../packages/engine/src/format/hash.ts";
import { signatureLength } from "../../packages/engine/src/format/signing.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { registeredWriter } from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewriteManifests } from "../../packages/engine/src/upkeep/rewrite-manifests.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { deleteSnapshot, setRetention } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import type { Vault } from "../../packages/engine/src/vault.ts";
import { identityOf, revokeWriter } from "../../packages/engine/src/vault.ts";
import {
  catalogs,
  copyOf,
  free,
  held,
  night,
  nightsOf,
  oncePut,
  prepare,
  processWith,
  takeAway,
  withNewCatalog,
} from "./testing/chain-environment.ts";

/** Adds a record of a kind that this version does not know. */
async function addUnknownRecord(vault: Vault): Promise<void> {
  const { head } = await vault.chain.read();
  const entry = { kind: "deleted", snapshot: "0a".repeat(16), by: "" } as const;
  const bytes = encodeChainRecord(vault.authority, vault.keys.vaultId, head, 1, entry);
  const body = Buffer.from(bytes.subarray(0, bytes.length - signatureLength));
  // Magic, vault, sequence, hash of the record before, time.
  body.writeUInt8(99, 8 + 16 + 8 + 32 + 8);
  const record = Buffer.concat([body, vault.authority.sign("chain", body)]);
  await vault.store.put(vault.names.chainRecord(head.sequence + 1), record, { ifAbsent: true });
}

const findingsOf = async (vault: Vault) => (await scrub({ ...vault, identity: identityOf(vault) })).manifests;

for (const [kind, newCatalog] of Object.entries(catalogs)) {
  describe(`revocations (${kind} catalog)`, () => {
    test("one whose process has ended after its record is enforced at the next upload", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const writer = registeredWriter(vault, 23);
      const crashing = new FaultyStore(prepared.store, ({ operation }) =>
        operation === "put" ? { kind: "crash", when: "after" } : null,
      );
      await assert.rejects(revokeWriter(processWith(vault, crashing), writer.id, "member 1"), StoreCrash);
      await assert.rejects(night(prepared, 1, { signer: writer }), /revoked/);
      assert.deepEqual(
        await Array.fromAsync(vault.catalog.allPacks()),
        [],
        "no unit of the revoked writer is registered",
      );
      await night(prepared, 2);
    });

    test("a revoked writer that has nothing new to store writes no manifest", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const writer = registeredWriter(vault, 23);
      await night(prepared, 1, { signer: writer });
      await revokeWriter(vault, writer.id, "member 1");
      const watched = new FaultyStore(prepared.store);
      const { env } = nightsOf(prepared, processWith(vault, watched));
      await assert.rejects(env.backup(prepared.from, { signer: writer }), /revoked/);
      assert.deepEqual(
        watched.calls.filter(({ name, operation }) => operation === "put" && name.includes("/snapshots/")),
        [],
      );
    });

    test("one that is recorded while a later session completes refuses it and leaves no manifest", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const writer = registeredWriter(vault, 23);
      const { next } = await vault.catalog.sessions();
      // The record of the completion finds its place taken by the revocation, which was decided before the session began.
      const racing = oncePut(prepared.store, "/chain/", () =>
        appendToChain(chainWriter(vault, vault.authority), () => ({
          kind: "revoked",
          writerId: writer.id,
          fromSession: next,
          by: "member 1",
        })),
      );
      const other = nightsOf(prepared, processWith(vault, racing));
      await assert.rejects(night(other, 1, { signer: writer }), /revoked/);
      const names: string[] = [];
      for await (const { name } of prepared.store.list(vault.names.snapshots)) names.push(name);
      assert.deepEqual([names, (await vault.chain.read()).snapshots.size], [[], 0]);
      await prune(vault);
    });

    test("an orphan manifest of a revoked session is not recovered; a rebuild refuses its packs and its manifest", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { vault } = prepared.env;
      const writer = registeredWriter(vault, 23);
      const { next } = await vault.catalog.sessions();
      const crashing = new FaultyStore(prepared.store, ({ operation, name }) =>
        operation === "put" && name.includes("/snapshots/") ? { kind: "crash", when: "after" } : null,
      );
      const other = nightsOf(prepared, processWith(vault, crashing));
      await assert.rejects(night(other, 1, { signer: writer }), StoreCrash);
      await appendToChain(chainWriter(vault, vault.authority), () => ({
        kind: "revoked",
        writerId: writer.id,
        fromSession: next,
        by: "member 1",
      }));
      prepared.env.ctx.advance(3 * 3_600_000);
      await assert.rejects(prune(vault), { name: "IncompleteCatalogError", message: /revoked/ });
      assert.equal((await vault.chain.read()).snapshots.size, 0);
      const again = await withNewCatalog(prepared);
      const report = await rebuild(again);
      assert.deepEqual(report.snapshots, []);
      const refused = report.refused
        .filter(({ reason }) => /revoked/.test(reason))
        .map(({ name }) => name.split("/")[2]);
      assert.deepEqual([...new Set(refused)].sort(), ["packs", "snapshots"]);
    });

    test("the authority cannot be revoked", async (t) => {
      const { env } = await prepare(t, newCatalog);
      await assert.rejects(
        revokeWriter(env.vault, env.vault.authority.id, "member 1"),
        /authority .* cannot be revoked/,
      );
      assert.equal((await env.vault.chain.read()).revoked.size, 0);
      await prune(env.vault);
    });
  });

  describe(`holds and deletions (${kind} catalog)`, () => {
    test("a hold that is recorded during a deletion wins: the row is set back, also if its process has ended", async (t) => {
      for (const ends of [true, false]) {
        const prepared = await prepare(t, newCatalog);
        const { id } = await night(prepared, 1);
        const { vault } = prepared.env;
        // The deletion begins after the hold was decided and before its record is written. It ends at its first store call.
        const dead = new FaultyStore(prepared.store, () => ({ kind: "crash", when: "before" }));
        const racing = oncePut(prepared.store, "/chain/", async () => {
          await vault.catalog.beginDeleteSnapshot(id, prepared.env.ctx.now());
          await assert.rejects(deleteSnapshot(processWith(vault, dead), id), StoreCrash);
        });
        const store = ends
          ? new FaultyStore(racing, ({ operation }) => (operation === "put" ? { kind: "crash", when: "after" } : null))
          : racing;
        const setting = setRetention(processWith(vault, store), id, held);
        if (ends) {
          await assert.rejects(setting, StoreCrash);
          assert.equal((await listSnapshots(vault.catalog))[0]?.status, "deleting");
          await assert.rejects(deleteSnapshot(vault, id), { code: "retained" });
        } else await setting;
        const [row] = await listSnapshots(vault.catalog);
        assert.deepEqual([row?.status, row?.retention], ["completed", held]);
        await prune(vault);
        await setRetention(vault, id, free);
        await deleteSnapshot(vault, id);
      }
    });

    test("prune sets the row back if the processes of both the hold and the deletion have ended", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      const racing = oncePut(prepared.store, "/chain/", () =>
        vault.catalog.beginDeleteSnapshot(id, prepared.env.ctx.now()),
      );
      const crashing = new FaultyStore(racing, ({ operation }) =>
        operation === "put" ? { kind: "crash", when: "after" } : null,
      );
      await assert.rejects(setRetention(processWith(vault, crashing), id, held), StoreCrash);
      await prune(vault);
      const [row] = await listSnapshots(vault.catalog);
      assert.deepEqual([row?.status, row?.retention.hold], ["completed", true]);
    });

    test("a change that protects nothing does not stop a deletion that began before its record", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      const racing = oncePut(prepared.store, "/chain/", () =>
        vault.catalog.beginDeleteSnapshot(id, prepared.env.ctx.now()),
      );
      const change = { ...free, expiresAt: 77 };
      await assert.rejects(setRetention(processWith(vault, racing), id, change), { code: "conflict" });
      await prune(vault);
      assert.deepEqual(await listSnapshots(vault.catalog), []);
    });

    test("a hold that only the chain has stops the record of a deletion, whatever the row says", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      await setRetention(vault, id, held);
      // An attacker lifts the hold in the database and begins the deletion there.
      await vault.catalog.changeRetention(id, free, 99);
      await vault.catalog.beginDeleteSnapshot(id, prepared.env.ctx.now());
      await assert.rejects(prune(vault), { name: "ChainMismatchError", message: /held or locked in the chain/ });
      assert.equal((await vault.chain.read()).snapshots.get(id)?.deleted, false);
      assert.notEqual(await prepared.store.stat(vault.names.manifest(id)), null);
    });

    test("a record of a later version stops deletions, prune and giving up", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const hidden = await night(prepared, 2);
      const { vault } = prepared.env;
      await addUnknownRecord(vault);
      await assert.rejects(deleteSnapshot(vault, id), { name: "ChainMismatchError", message: /later version/ });
      await assert.rejects(prune(vault), { name: "ChainMismatchError", message: /later version/ });
      const { snapshots } = await vault.chain.read();
      assert.deepEqual(
        [...snapshots.values()].map(({ deleted }) => deleted),
        [false, false],
      );
      await prepared.store.delete(vault.names.manifest(hidden.id));
      const again = await withNewCatalog(prepared);
      await rebuild(again);
      const differences = await prune(again, { giveUp: [hidden.id] }).catch(({ differences }) => differences);
      assert.deepEqual(differences, ["record 4 of the chain is of a later version"]);
      assert.equal((await again.chain.read()).snapshots.get(hidden.id)?.deleted, false);
    });

    test("prune applies a change that the store has and the catalog has not, and finds no difference", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      // The record arrives between the start of prune, which has caught up, and the comparison.
      const racing = oncePut(prepared.store, "/sessions/", async () => {
        const crashing = new FaultyStore(prepared.store, ({ operation }) =>
          operation === "put" ? { kind: "crash", when: "after" } : null,
        );
        await assert.rejects(setRetention(processWith(vault, crashing), id, held), StoreCrash);
      });
      await prune(processWith(vault, racing));
      assert.equal((await listSnapshots(vault.catalog))[0]?.retention.hold, true);
    });

    test("a change of retention over an older store is refused, and nothing is added behind the gap", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const yesterday = await copyOf(prepared.store);
      await night(prepared, 2);
      await night(prepared, 3);
      const vault = processWith(prepared.env.vault, yesterday);
      await assert.rejects(setRetention(vault, id, held), /store is older than the catalog/);
      await assert.rejects(revokeWriter(vault, Buffer.alloc(16, 4), "x"), /store is older than the catalog/);
      assert.equal(await yesterday.stat(vault.names.chainRecord(5)), null);
    });
  });

  describe(`manifests and the chain (${kind} catalog)`, () => {
    test("a manifest that has come back is not rewritten", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      const before = await prepared.store.get(vault.names.manifest(id));
      const putBack = await takeAway(prepared.store, vault.names.manifest(id));
      const findings = await findingsOf(vault);
      assert.equal(findings.length, 1);
      await putBack();
      const { head } = await vault.chain.read();
      assert.deepEqual(await rewriteManifests(vault, findings), []);
      assert.deepEqual(await prepared.store.get(vault.names.manifest(id)), before);
      assert.equal((await vault.chain.read()).head.sequence, head.sequence);
    });

    test("of two processes that rewrite a manifest at once, the store and the chain keep the same one", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      await prepared.store.delete(vault.names.manifest(id));
      const findings = await findingsOf(vault);
      // The other process records and writes between the record and the manifest of this one.
      const racing = oncePut(prepared.store, "/snapshots/", () => rewriteManifests(vault, findings));
      await rewriteManifests(processWith(vault, racing), findings);
      const known = (await vault.chain.read()).snapshots.get(id);
      assert.deepEqual(
        sha256(await prepared.store.get(vault.names.manifest(id))),
        Buffer.from(known?.manifestHash ?? []),
      );
      assert.deepEqual(await findingsOf(vault), []);
      const again = await withNewCatalog(prepared);
      const report = await rebuild(again);
      assert.deepEqual([report.snapshots, report.hidden], [[id], []]);
    });

    test("the manifest of before a rewriting is refused by rebuild, by scrub and as an orphan", async (t) => {
      const prepared = await prepare(t, newCatalog);
      const { id } = await night(prepared, 1);
      const { vault } = prepared.env;
      const old = await prepared.store.get(vault.names.manifest(id));
      await prepared.store.delete(vault.names.manifest(id));
      await rewriteManifests(vault, await findingsOf(vault));
      assert.deepEqual(await findingsOf(vault), []);
      // Its signatures are valid. Only the chain knows that it was replaced.
      await prepared.store.put(vault.names.manifest(id), old);
      assert.match((await findingsOf(vault))[0]?.reason ?? "", /another manifest than the chain has/);
      const again = await withNewCatalog(prepared);
      const report = await rebuild(again);
      assert.deepEqual([report.snapshots, report.hidden], [[], [id]]);
      assert.match(report.refused[0]?.reason ?? "", /another manifest than the chain has/);
      await assert.rejects(prune(again), {
        name: "IncompleteCatalogError",
        message: /another manifest than the chain has/,
      });
    });
  });
}
