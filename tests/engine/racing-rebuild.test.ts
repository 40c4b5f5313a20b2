/** A rebuild that runs while prune, repack or another rebuild work: what it could not read must not look dead to them. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { Catalog } from "../../packages/engine/src/catalog/catalog.ts";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { openSqliteCatalog } from "../../packages/engine/src/catalog/sqlite/sqlite.ts";
import type { ObjectStore } from "../../packages/engine/src/object-store.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import type { Vault } from "../../packages/engine/src/vault.ts";
import { agedDump } from "./testing/aged-dump.ts";

const settings = { packBytes: 300_000, unitBytes: 600_000 };

/** Two snapshots: one of twenty files, and one that keeps three of them and has three others. */
async function prepare(t: { after(fn: () => void): void }, catalog?: Catalog) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const bytes = seededBytes(3);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store, catalog === undefined ? {} : { catalog });
  for (let i = 0; i < 20; i++) writeFileSync(path.join(from, `f${i}`), bytes(4000));
  settleTimes(from);
  const { snapshot } = await env.backup(from, { settings });
  const lines = describeTree(from);
  for (let i = 3; i < 20; i++) rmSync(path.join(from, `f${i}`));
  settleTimes(from);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  return { folder, store, env, snapshot, lines };
}

/** The catalog of a process that is overtaken by `before` when it has marked and is about to condemn. */
function overtaken(catalog: Catalog, before: () => Promise<void>): Catalog {
  let isFirst = true;
  return new Proxy<Catalog>(catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "condemn") return value.bind(target);
      return async (...args: Parameters<Catalog["condemn"]>) => {
        if (isFirst) await before();
        isFirst = false;
        return target.condemn(...args);
      };
    },
  });
}

for (const [name, upkeep] of Object.entries<(vault: Vault) => Promise<unknown>>({
  prune,
  rewrite: (vault) => rewritePacks(vault, 0.1),
}))
  test(`${name}: a rebuild that cannot read a manifest, after the catalog was checked, costs the snapshot nothing`, async (t) => {
    const { folder, store, env, snapshot, lines } = await prepare(t);
    const manifest = env.vault.names.manifest(snapshot.id);
    const catalog = overtaken(env.vault.catalog, async () => {
      const bytes = await store.get(manifest);
      await store.delete(manifest);
      await rebuild(env.vault);
      await store.put(manifest, bytes);
    });
    const packs = [...store.objects.keys()].filter((name) => name.includes("/packs/"));
    await assert.rejects(upkeep({ ...env.vault, catalog }), { name: "ChainMismatchError", message: /valid manifest/ });
    for (const pack of packs) assert.notEqual(await store.stat(pack), null);
    await rebuild(env.vault);
    const row = (await listSnapshots(env.vault.catalog)).find(({ id }) => id === snapshot.id);
    const to = path.join(folder, "to");
    assert.deepEqual((await env.restore(row ?? assert.fail("no row"), to)).failures, []);
    assert.deepEqual(describeTree(to), lines);
  });

/** The catalog of a process that is overtaken by `happens` around the first call of a method. */
function overtakenAt(
  catalog: Catalog,
  method: keyof Catalog,
  when: "before" | "after",
  happens: () => Promise<unknown>,
) {
  let isFirst = true;
  return new Proxy<Catalog>(catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== method) return value.bind(target);
      return async (...args: unknown[]) => {
        const isNow = isFirst;
        isFirst = false;
        if (isNow && when === "before") await happens();
        const answer: unknown = await Reflect.apply(value, target, args);
        if (isNow && when === "after") await happens();
        return answer;
      };
    },
  });
}

/** A dump after two nights. The first snapshot is deleted, so a part of its pack is dead. */
async function prepareDead(t: TestContext) {
  const ageing = { pages: 100, nights: 2, changes: 20, pick: (random: SeededRandom) => random.below(100) };
  const { env, from, newest } = await agedDump(t, 5, ageing);
  const [first] = await listSnapshots(env.vault.catalog);
  await deleteSnapshot(env.vault, first?.id ?? "");
  const lines = describeTree(from);
  const assertWhole = async () => {
    const row = await env.vault.catalog.snapshot(newest.id);
    const to = path.join(scratch(t), "to");
    assert.deepEqual((await env.restore(row ?? assert.fail("no row"), to)).failures, []);
    assert.deepEqual(describeTree(to), lines);
  };
  return { env, from, assertWhole };
}

/** Packs of which more than this is dead are rewritten here: only that of the first night. */
const deadShare = 0.1;

test("a pack that was rewritten is not deleted if a rebuild has taken its frames since", async (t) => {
  const { env, assertWhole } = await prepareDead(t);
  const catalog = overtakenAt(env.vault.catalog, "moveFrames", "after", () => rebuild(env.vault));
  assert.equal((await rewritePacks({ ...env.vault, catalog }, deadShare)).rewritten.length, 1);
  await assertWhole();
  await prune(env.vault);
  await assertWhole();
});

test("a dead pack is not deleted if a rebuild has made it live again and a backup uses it since", async (t) => {
  const { env, from } = await prepareDead(t);
  const assertStored = async () => {
    for await (const { pack } of env.vault.catalog.allPacks())
      assert.notEqual(await env.vault.store.stat(env.vault.names.pack(pack)), null);
  };
  writeFileSync(path.join(from, "new"), seededBytes(4)(30_000));
  settleTimes(from);
  env.ctx.advance(1000);
  const { snapshot: unwanted } = await env.backup(from, { settings });
  await deleteSnapshot(env.vault, unwanted.id);
  let stored = Number.NaN;
  const catalog = overtakenAt(env.vault.catalog, "beginDelete", "after", async () => {
    await rebuild(env.vault);
    env.ctx.advance(1000);
    stored = (await env.backup(from, { settings })).snapshot.storedBytes;
  });
  await prune({ ...env.vault, catalog });
  assert.ok(stored < 30_000, `${stored} bytes: the backup uses the pack`);
  await assertStored();
});

/** The store as a process sees it that ends before it deletes anything. */
function withoutDeletes(store: ObjectStore): ObjectStore {
  return {
    put: (...args) => store.put(...args),
    get: (...args) => store.get(...args),
    stat: (...args) => store.stat(...args),
    list: (...args) => store.list(...args),
    delete: async () => {},
  };
}

test("a rebuild is refused if upkeep has deleted a pack that it has read; the next one takes the other version of its frames", async (t) => {
  const { env, assertWhole } = await prepareDead(t);
  const { names, store } = env.vault;
  const { rewritten } = await rewritePacks({ ...env.vault, store: withoutDeletes(store) }, deadShare);
  assert.equal(rewritten.length, 1);
  const catalog = overtakenAt(env.vault.catalog, "clear", "before", async () => {
    for (const pack of rewritten) await store.delete(names.pack(pack));
  });
  const reason = /CatalogError: conflict: pack .* was deleted while the catalog was rebuilt/;
  await assert.rejects(rebuild({ ...env.vault, catalog }), reason);
  await assert.rejects(prune(env.vault), { name: "IncompleteCatalogError" });
  await rebuild(env.vault);
  await prune(env.vault);
  await assertWhole();
});

for (const kind of ["memory", "SQLite"])
  test(`two rebuilds at once (${kind}): the one that cleared the catalog last completes, the other is refused with a reason`, async (t) => {
    const folder = scratch(t);
    const file = path.join(folder, "catalog");
    const ctx = testContext(1);
    const catalog = kind === "memory" ? new MemoryCatalog(ctx) : openSqliteCatalog(file, ctx);
    const { env, snapshot, lines } = await prepare(t, catalog);
    // Two processes on one file.
    const other = kind === "memory" ? catalog : openSqliteCatalog(file, testContext(2));
    const both = await Promise.allSettled([rebuild(env.vault), rebuild({ ...env.vault, catalog: other })]);
    const refused = both.filter((each) => each.status === "rejected");
    assert.equal(refused.length, 1, "the two ran at the same time");
    assert.match(String(refused[0]?.reason), /CatalogError: conflict: another rebuild/);
    for (const [i, each] of [catalog, other].entries()) {
      const row = await each.snapshot(snapshot.id);
      const to = path.join(folder, `to ${i}`);
      assert.deepEqual((await env.restore(row ?? assert.fail("no row"), to)).failures, []);
      assert.deepEqual(describeTree(to), lines);
    }
    await prune(env.vault);
  });
