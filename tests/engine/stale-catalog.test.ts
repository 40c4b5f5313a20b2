import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FaultyStore } from "@emanet/storage/testing";
import type { FramePlace } from "../../packages/engine/src/catalog/catalog.ts";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { openSqliteCatalog } from "../../packages/engine/src/catalog/sqlite/sqlite.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
  testEnvironmentOf,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewriteManifests } from "../../packages/engine/src/upkeep/rewrite-manifests.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { setRetention } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { identityOf } from "../../packages/engine/src/vault.ts";

interface Bench {
  readonly folder: string;
  readonly from: string;
  readonly store: MemoryStore;
  readonly bytes: (length: number) => Uint8Array;
}

function prepare(t: { after(fn: () => void): void }): Bench {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  return { folder, from, store: new MemoryStore(), bytes: seededBytes(41) };
}

function write({ from, bytes }: Bench, name: string): void {
  writeFileSync(path.join(from, name), bytes(60_000));
  settleTimes(from);
}

async function namesUnder(store: MemoryStore, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of store.list(prefix)) names.push(name);
  return names;
}

/** Packs and snapshots: a refused operation must not change them. It may add claims. */
async function content({ store }: Bench, env: TestEnvironment): Promise<string[]> {
  return [...(await namesUnder(store, env.vault.names.packs)), ...(await namesUnder(store, env.vault.names.snapshots))];
}

async function assertRestores(
  bench: Bench,
  env: TestEnvironment,
  expected: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const rows = await listSnapshots(env.vault.catalog);
  assert.deepEqual(rows.map(({ id }) => id).sort(), [...expected.keys()].sort());
  for (const row of rows) {
    const to = path.join(bench.folder, "to");
    assert.deepEqual((await env.restore(row, to)).failures, []);
    assert.deepEqual(describeTree(to), expected.get(row.id));
    rmSync(to, { recursive: true });
  }
}

/** Two backups; then the catalog file is replaced by its copy from after the first one. */
async function lastNightsCatalog(bench: Bench) {
  const files = { now: path.join(bench.folder, "now.db"), old: path.join(bench.folder, "old.db") };
  const ctx = testContext(5);
  const catalog = openSqliteCatalog(files.now, ctx);
  const first = await openTestEnvironment(bench.store, { seed: 5, catalog });
  const expected = new Map<string, readonly string[]>();
  write(bench, "a");
  expected.set((await first.backup(bench.from)).snapshot.id, describeTree(bench.from));
  await catalog.close();
  copyFileSync(files.now, files.old);
  const today = openSqliteCatalog(files.now, ctx);
  const second = testEnvironmentOf(first.ctx, { ...first.vault, catalog: today }, first.writer);
  write(bench, "b");
  first.ctx.advance(1000);
  expected.set((await second.backup(bench.from)).snapshot.id, describeTree(bench.from));
  await today.close();
  const old = openSqliteCatalog(files.old, ctx);
  return { env: testEnvironmentOf(first.ctx, { ...first.vault, catalog: old }, first.writer), expected, old };
}

describe("a catalog that is older than the store", () => {
  test("prunes nothing, rewrites nothing and backs nothing up; after a rebuild every snapshot restores", async (t) => {
    const bench = prepare(t);
    const { env, expected, old } = await lastNightsCatalog(bench);
    const before = await content(bench, env);
    await assert.rejects(prune(env.vault), { name: "IncompleteCatalogError", message: /rebuild/ });
    await assert.rejects(rewritePacks(env.vault, 0), { name: "IncompleteCatalogError" });
    // Tried several times: a session number that is free by chance must not be enough.
    for (let i = 0; i < 4; i++)
      await assert.rejects(env.backup(bench.from), { name: "IncompleteCatalogError", message: /rebuild/ });
    assert.deepEqual(await content(bench, env), before);
    await rebuild(env.vault);
    await prune(env.vault);
    await assertRestores(bench, env, expected);
    await old.close();
  });

  test("is found before it issues a number, also if it is older by one session only", async (t) => {
    const bench = prepare(t);
    const { env, old } = await lastNightsCatalog(bench);
    const { next } = await old.sessions();
    assert.deepEqual((await namesUnder(bench.store, env.vault.names.sessions)).at(-1), env.vault.names.session(next));
    await assert.rejects(env.backup(bench.from), { name: "IncompleteCatalogError", message: /would issue/ });
    const after = await old.sessions();
    assert.deepEqual([after.next, after.stale], [next, false]);
    await old.close();
  });

  test("is found by its own claim if the listing lags", async (t) => {
    const bench = prepare(t);
    const { env, old } = await lastNightsCatalog(bench);
    const before = await content(bench, env);
    const blind = new Proxy(bench.store, {
      get: (store, name) => {
        const value: unknown = Reflect.get(store, name, store);
        if (typeof value !== "function") return value;
        if (name !== "list") return value.bind(store);
        return (prefix: string) => (prefix === env.vault.names.sessions ? nothing() : store.list(prefix));
      },
    });
    await assert.rejects(prune({ ...env.vault, store: blind }), { name: "IncompleteCatalogError" });
    await assert.rejects(prune({ ...env.vault, store: blind }), { name: "IncompleteCatalogError" });
    assert.deepEqual(await content(bench, env), before);
    await old.close();
  });

  test("a session that was running when the catalog was copied, and has completed since, is not pruned", async (t) => {
    const bench = prepare(t);
    const file = path.join(bench.folder, "i.db");
    const copy = path.join(bench.folder, "copy.db");
    const catalog = openSqliteCatalog(file, testContext(5));
    const env = await openTestEnvironment(bench.store, { seed: 5, catalog });
    write(bench, "a");
    let copied = false;
    const store = new FaultyStore(bench.store, ({ operation, name }) => {
      if (!copied && operation === "put" && name.includes("/packs/")) {
        copied = true;
        for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${copy}${end}`);
      }
      return null;
    });
    const { snapshot } = await testEnvironmentOf(env.ctx, { ...env.vault, store }, env.writer).backup(bench.from);
    const tree = describeTree(bench.from);
    const old = openSqliteCatalog(copy, testContext(6));
    const late = testEnvironmentOf(env.ctx, { ...env.vault, catalog: old }, env.writer);
    env.ctx.advance(3 * 3_600_000);
    const before = await content(bench, env);
    await assert.rejects(prune(late.vault), { name: "IncompleteCatalogError" });
    assert.deepEqual(await content(bench, env), before);
    await rebuild(late.vault);
    await prune(late.vault);
    await assertRestores(bench, late, new Map([[snapshot.id, tree]]));
    await catalog.close();
    await old.close();
  });
});

describe("a new catalog over a used store", () => {
  test("issues no number that is taken: a backup is refused until a rebuild, then both restore", async (t) => {
    const bench = prepare(t);
    const first = await openTestEnvironment(bench.store);
    write(bench, "a");
    const expected = new Map([[(await first.backup(bench.from)).snapshot.id, describeTree(bench.from)]]);
    const catalog = new MemoryCatalog(testContext(9));
    const env = testEnvironmentOf(first.ctx, { ...first.vault, catalog }, first.writer);
    write(bench, "b");
    for (let i = 0; i < 4; i++) await assert.rejects(env.backup(bench.from), { name: "IncompleteCatalogError" });
    const report = await rebuild(env.vault);
    assert.deepEqual([report.refused, report.incomplete], [[], []]);
    first.ctx.advance(1000);
    expected.set((await env.backup(bench.from)).snapshot.id, describeTree(bench.from));
    await prune(env.vault);
    await assertRestores(bench, env, expected);
  });

  test("a rebuilt catalog issues numbers above every claim, used or not, and leaves ordinals free for what still comes", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    await env.backup(bench.from);
    await prune(env.vault);
    const claims = await namesUnder(bench.store, env.vault.names.sessions);
    assert.ok(claims.length >= 2, "a prune claims a number too");
    const { next } = await env.vault.catalog.sessions();
    const ordinal = await env.vault.catalog.reserveOrdinals(1);
    await rebuild({ ...env.vault, catalog: env.vault.catalog });
    assert.equal((await env.vault.catalog.sessions()).next, next);
    const catalog = new MemoryCatalog(testContext(9));
    await rebuild({ ...env.vault, catalog });
    assert.equal((await catalog.sessions()).next, next);
    assert.ok((await catalog.reserveOrdinals(1)) > ordinal + 1000);
  });
});

describe("what rebuild refused is no garbage", () => {
  test("after a flipped bit in a manifest and a rebuild, prune deletes nothing, and the repaired manifest restores", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    const { snapshot } = await env.backup(bench.from);
    const name = env.vault.names.manifest(snapshot.id);
    const good = Buffer.from(await bench.store.get(name));
    const bad = Buffer.from(good);
    bad[bad.length - 100] = (bad[bad.length - 100] ?? 0) ^ 1;
    await bench.store.put(name, bad);
    assert.equal((await rebuild(env.vault)).refused.length, 1);
    const before = await content(bench, env);
    await assert.rejects(prune(env.vault), { name: "IncompleteCatalogError", message: new RegExp(snapshot.id) });
    await assert.rejects(rewritePacks(env.vault, 0), { name: "IncompleteCatalogError" });
    assert.deepEqual(await content(bench, env), before);
    await bench.store.put(name, good);
    await rebuild(env.vault);
    await prune(env.vault);
    await assertRestores(bench, env, new Map([[snapshot.id, describeTree(bench.from)]]));
  });

  test("a manifest that cannot be repaired stops prune until it is given up by name", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    const { snapshot } = await env.backup(bench.from);
    await bench.store.put(env.vault.names.manifest(snapshot.id), Buffer.alloc(400, 1));
    await rebuild(env.vault);
    await assert.rejects(prune(env.vault, { giveUp: ["ef".repeat(16)] }), { name: "IncompleteCatalogError" });
    const report = await prune(env.vault, { giveUp: [snapshot.id] });
    assert.deepEqual(report.removedManifests, [snapshot.id]);
    assert.ok(report.deletedPacks.length > 0);
  });

  test("a flipped bit anywhere in a manifest, or a lost one, is found and named by scrub without secret keys", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    const { snapshot } = await env.backup(bench.from);
    const name = env.vault.names.manifest(snapshot.id);
    const good = Buffer.from(await bench.store.get(name));
    const scrubbed = async () => (await scrub({ ...env.vault, identity: identityOf(env.vault) })).manifests;
    assert.deepEqual(await scrubbed(), []);
    for (let at = 0; at < good.length; at += 53) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 4;
      await bench.store.put(name, bad);
      assert.deepEqual(
        (await scrubbed()).map((each) => [each.name, each.kind]),
        [[name, "damaged"]],
      );
    }
    await bench.store.delete(name);
    assert.deepEqual(
      (await scrubbed()).map((each) => [each.name, each.kind]),
      [[name, "missing"]],
    );
  });

  test("a damaged or lost manifest is rewritten from the row: a rebuild recovers the same snapshot", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    const { snapshot } = await env.backup(bench.from);
    await setRetention(env.vault, snapshot.id, { expiresAt: null, lockedUntil: null, hold: true });
    const name = env.vault.names.manifest(snapshot.id);
    const [before] = await listSnapshots(env.vault.catalog);
    assert.ok(before);
    const found = async () => (await scrub({ ...env.vault, identity: identityOf(env.vault) })).manifests;
    for (const damage of ["flipped", "gone"]) {
      const bad = Buffer.from(await bench.store.get(name));
      bad[1400] = (bad[1400] ?? 0) ^ 1;
      if (damage === "gone") await bench.store.delete(name);
      else await bench.store.put(name, bad);
      assert.deepEqual(await rewriteManifests(env.vault, await found()), [name], damage);
      assert.deepEqual(await found(), [], damage);
      const report = await rebuild(env.vault);
      assert.deepEqual([report.refused, report.incomplete], [[], []], damage);
      const [after] = await listSnapshots(env.vault.catalog);
      assert.deepEqual({ ...after, session: 0, status: "" }, { ...before, session: 0, status: "" }, damage);
      await assertRestores(bench, env, new Map([[snapshot.id, describeTree(bench.from)]]));
      await prune(env.vault);
      assert.equal((await listSnapshots(env.vault.catalog)).length, 1);
    }
  });

  test("a manifest that does not read stops prune", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    const { snapshot } = await env.backup(bench.from);
    const good = Buffer.from(await bench.store.get(env.vault.names.manifest(snapshot.id)));
    await bench.store.put(env.vault.names.manifest(snapshot.id), good.subarray(1));
    await rebuild(env.vault);
    const before = await content(bench, env);
    await assert.rejects(prune(env.vault), { name: "IncompleteCatalogError" });
    assert.deepEqual(await content(bench, env), before);
  });

  test("a rebuild loses one damaged metadata frame, not the others of its pack", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    await env.backup(bench.from);
    const frames: FramePlace[] = [];
    for await (const row of env.vault.catalog.allFrames()) if (row.kind === "meta") frames.push(row);
    const packs = new Set(frames.map(({ pack }) => pack));
    assert.deepEqual([frames.length > 1, packs.size], [true, 1]);
    for (const { frame, pack, offset } of frames) {
      const name = env.vault.names.pack(pack);
      const good = Buffer.from(await bench.store.get(name));
      const bad = Buffer.from(good);
      bad[offset + 60] = (bad[offset + 60] ?? 0) ^ 1;
      await bench.store.put(name, bad);
      assert.deepEqual(
        (await rebuild(env.vault)).refused.map((each) => each.name),
        [name],
      );
      const recordFrames = new Set<number>();
      for await (const item of env.vault.catalog.allItems()) recordFrames.add(item.recordFrame);
      assert.deepEqual(
        [...recordFrames].sort(),
        frames
          .map((each) => each.frame)
          .filter((each) => each !== frame)
          .sort(),
      );
      await bench.store.put(name, good);
    }
  });

  test("prune keeps the data packs of a snapshot whose metadata a rebuild could not read", async (t) => {
    const bench = prepare(t);
    const env = await openTestEnvironment(bench.store);
    write(bench, "a");
    await env.backup(bench.from, { settings: { packBytes: 20_000, unitBytes: 40_000 } });
    const meta: string[] = [];
    for await (const row of env.vault.catalog.allFrames()) if (row.kind === "meta") meta.push(row.pack);
    const name = env.vault.names.pack(meta[0] ?? "");
    const bad = Buffer.from(await bench.store.get(name));
    bad[1500] = (bad[1500] ?? 0) ^ 1;
    await bench.store.put(name, bad);
    const report = await rebuild(env.vault);
    assert.ok(report.refused.length > 0 && report.incomplete.length > 0, JSON.stringify(report));
    const before = await content(bench, env);
    await assert.rejects(prune(env.vault), { name: "IncompleteCatalogError" });
    assert.deepEqual(await content(bench, env), before);
  });
});

async function* nothing(): AsyncGenerator<never> {}
