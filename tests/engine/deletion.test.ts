import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FaultyStore, StoreCrash } from "@emanet/storage/testing";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { appendToChain, chainWriter } from "../../packages/engine/src/catalog/vault-chain.ts";
import { sha256 } from "../../packages/engine/src/format/hash.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import {
  openTestEnvironment,
  scratch,
  seededBytes,
  testContext,
  testEnvironmentOf,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { deleteSnapshot, setRetention } from "../../packages/engine/src/upkeep/snapshot-changes.ts";

const held = { expiresAt: null, lockedUntil: null, hold: true };

async function prepare(t: { after(fn: () => void): void }) {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), seededBytes(61)(9000));
  const store = new MemoryStore();
  const env = await openTestEnvironment(store, { catalog: new MemoryCatalog(testContext(8)) });
  const { snapshot } = await env.backup(from);
  return { store, env, id: snapshot.id };
}

/** Runs `before` when the store is about to write an object whose name contains `part`. */
function whenPut(inner: MemoryStore, part: string, before: () => Promise<unknown>): MemoryStore {
  return new Proxy(inner, {
    get: (store, name) => {
      const value: unknown = Reflect.get(store, name, store);
      if (typeof value !== "function") return value;
      if (name !== "put") return value.bind(store);
      return async (...args: Parameters<MemoryStore["put"]>) => {
        if (args[0].includes(part)) await before();
        return store.put(...args);
      };
    },
  });
}

describe("holds against deletions", () => {
  test("a hold that is set while a snapshot is deleted is refused or kept: a held snapshot is never deleted in the chain", async (t) => {
    const { store, env, id } = await prepare(t);
    let promised = false;
    let raced = false;
    const racing = whenPut(store, "/chain/", async () => {
      if (raced) return;
      raced = true;
      await setRetention(env.vault, id, held).then(
        () => {
          promised = true;
        },
        () => {},
      );
    });
    await deleteSnapshot({ ...env.vault, store: racing }, id).catch(() => {
      // Refused or done: the chain shows which.
    });
    const dead = (await env.vault.chain.read()).snapshots.get(id)?.deleted === true;
    assert.notEqual(promised, dead);
    const { snapshots } = await rebuild(env.vault);
    assert.deepEqual(snapshots, promised ? [id] : []);
  });

  test("an interrupted deletion is finished by the next prune, and its packs are deleted", async (t) => {
    for (let call = 1; call <= 14; call++) {
      for (const when of ["before", "after"] as const) {
        const { store, env, id } = await prepare(t);
        const faulty = new FaultyStore(store, ({ number }) => (number === call ? { kind: "crash", when } : null));
        const died = await deleteSnapshot({ ...env.vault, store: faulty }, id).then(
          () => false,
          (error: unknown) => error instanceof StoreCrash,
        );
        const decided = (await listSnapshots(env.vault.catalog)).every(({ status }) => status === "deleting");
        await prune(env.vault);
        const left = await listSnapshots(env.vault.catalog);
        assert.equal(left.length, decided ? 0 : 1, `${when} ${call}`);
        assert.equal((await store.stat(env.vault.names.manifest(id))) === null, decided, `${when} ${call}`);
        assert.ok(died || decided);
      }
    }
  });

  test("a hold that the store has and the catalog has lost is applied before a deletion", async (t) => {
    const { store, env, id } = await prepare(t);
    const faulty = new FaultyStore(store, ({ operation }) =>
      operation === "put" ? { kind: "crash", when: "after" } : null,
    );
    await assert.rejects(setRetention({ ...env.vault, store: faulty }, id, held), StoreCrash);
    assert.equal((await listSnapshots(env.vault.catalog))[0]?.retention.hold, false);
    await assert.rejects(deleteSnapshot(env.vault, id), { code: "retained" });
    assert.equal((await env.vault.chain.read()).snapshots.get(id)?.deleted, false);
  });
});

test("after two changes at once the catalog has the one with the highest number, and a lock stays", async (t) => {
  const { store, env, id } = await prepare(t);
  const locked = { expiresAt: null, lockedUntil: env.ctx.now() + 5000, hold: false };
  let raced = false;
  const racing = whenPut(store, "/chain/", async () => {
    if (raced) return;
    raced = true;
    await setRetention(env.vault, id, locked);
  });
  await assert.rejects(setRetention({ ...env.vault, store: racing }, id, held), { code: "retained" });
  assert.deepEqual((await listSnapshots(env.vault.catalog))[0]?.retention, locked);
  await rebuild(env.vault);
  assert.deepEqual((await listSnapshots(env.vault.catalog))[0]?.retention, locked);
  await setRetention(env.vault, id, { ...locked, hold: true });
  const { changes } = (await listSnapshots(env.vault.catalog))[0] ?? {};
  assert.equal(changes, (await env.vault.chain.read()).head.sequence);
});

test("a recovered snapshot has the hold that the store has for it", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), seededBytes(62)(9000));
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const faulty = new FaultyStore(store, ({ operation, name }) =>
    operation === "put" && name.includes("/snapshots/") ? { kind: "crash", when: "after" } : null,
  );
  await assert.rejects(
    testEnvironmentOf(env.ctx, { ...env.vault, store: faulty }, env.writer).backup(from),
    StoreCrash,
  );
  const manifests: string[] = [];
  for await (const { name } of store.list(env.vault.names.snapshots)) manifests.push(name);
  const id = manifests[0]?.split("/").at(-1) ?? "";
  const manifestHash = sha256(await store.get(env.vault.names.manifest(id)));
  await appendToChain(chainWriter(env.vault, env.vault.authority), () => ({
    kind: "completed",
    snapshot: id,
    manifestHash,
    retention: held,
  }));
  env.ctx.advance(3 * 3_600_000);
  assert.deepEqual((await prune(env.vault)).recoveredSnapshots, [id]);
  const [row] = await listSnapshots(env.vault.catalog);
  assert.deepEqual([row?.status, row?.retention, row?.changes], ["recovered", held, 2]);
});

test("a prune with a bound deletes so many packs; the next runs delete the others, and one that is aborted deletes none", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store, { catalog: new MemoryCatalog(testContext(9)) });
  for (let i = 0; i < 3; i++) {
    writeFileSync(path.join(from, "a"), seededBytes(70 + i)(9000));
    await deleteSnapshot(env.vault, (await env.backup(from)).snapshot.id);
  }
  const packs = async () => (await Array.fromAsync(store.list(env.vault.names.packs))).length;
  const all = await packs();
  assert.ok(all >= 3);
  await assert.rejects(prune(env.vault, { signal: AbortSignal.abort(new Error("stop")) }), /stop/);
  assert.equal(await packs(), all);
  const first = await prune(env.vault, { maxPacks: 2 });
  assert.deepEqual([first.deletedPacks.length, first.leftPacks, await packs()], [2, all - 2, all - 2]);
  const last = await prune(env.vault, { maxPacks: all });
  assert.deepEqual([last.leftPacks, await packs()], [0, 0]);
});
