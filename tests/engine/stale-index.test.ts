import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FaultyStore } from "@emanet/storage/testing";
import { MemoryIndex } from "../../packages/engine/src/index/memory.ts";
import type { FrameRow } from "../../packages/engine/src/index/port.ts";
import { openSqliteIndex } from "../../packages/engine/src/index/sqlite.ts";
import type { Lab } from "../../packages/engine/src/testing/lab.ts";
import {
  describeTree,
  labContext,
  labOf,
  openLab,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/lab.ts";
import { collect } from "../../packages/engine/src/upkeep/collect.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { restateManifests } from "../../packages/engine/src/upkeep/restate.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { setRetention } from "../../packages/engine/src/upkeep/snapshots.ts";
import { readWriters } from "../../packages/engine/src/vault.ts";

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

/** Packs and snapshots: what a refusal must leave alone. Claims may be added. */
async function content({ store }: Bench, lab: Lab): Promise<string[]> {
  return [...(await namesUnder(store, lab.vault.names.packs)), ...(await namesUnder(store, lab.vault.names.snapshots))];
}

async function assertRestores(bench: Bench, lab: Lab, expected: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const rows = await lab.vault.index.snapshots();
  assert.deepEqual(rows.map(({ id }) => id).sort(), [...expected.keys()].sort());
  for (const row of rows) {
    const to = path.join(bench.folder, "to");
    assert.deepEqual((await lab.restore(row, to)).failures, []);
    assert.deepEqual(describeTree(to), expected.get(row.id));
    rmSync(to, { recursive: true });
  }
}

/** Two nights; the index file as it was after the first one is put back. */
async function lastNightsIndex(bench: Bench) {
  const files = { now: path.join(bench.folder, "now.db"), old: path.join(bench.folder, "old.db") };
  const ctx = labContext(5);
  const index = openSqliteIndex(files.now, ctx);
  const first = await openLab(bench.store, { seed: 5, index });
  const expected = new Map<string, readonly string[]>();
  write(bench, "a");
  expected.set((await first.backup(bench.from)).snapshot.id, describeTree(bench.from));
  await index.close();
  copyFileSync(files.now, files.old);
  const today = openSqliteIndex(files.now, ctx);
  const second = labOf(first.ctx, { ...first.vault, index: today }, first.writer);
  write(bench, "b");
  first.ctx.advance(1000);
  expected.set((await second.backup(bench.from)).snapshot.id, describeTree(bench.from));
  await today.close();
  const old = openSqliteIndex(files.old, ctx);
  return { lab: labOf(first.ctx, { ...first.vault, index: old }, first.writer), expected, old };
}

describe("an index that is older than the store", () => {
  test("collects nothing, rewrites nothing and backs nothing up; after a rebuild every snapshot restores", async (t) => {
    const bench = prepare(t);
    const { lab, expected, old } = await lastNightsIndex(bench);
    const before = await content(bench, lab);
    await assert.rejects(collect(lab.vault), { name: "IncompleteIndexError", message: /rebuild/ });
    await assert.rejects(rewritePacks(lab.vault, 0), { name: "IncompleteIndexError" });
    // However often it tries: a number that is free by chance must not let it through.
    for (let i = 0; i < 4; i++)
      await assert.rejects(lab.backup(bench.from), { name: "IncompleteIndexError", message: /rebuild/ });
    assert.deepEqual(await content(bench, lab), before);
    await rebuild(lab.vault);
    await collect(lab.vault);
    await assertRestores(bench, lab, expected);
    await old.close();
  });

  test("is found out by its own claim where the listing lags", async (t) => {
    const bench = prepare(t);
    const { lab, old } = await lastNightsIndex(bench);
    const before = await content(bench, lab);
    const blind = new Proxy(bench.store, {
      get: (store, name) => {
        const value: unknown = Reflect.get(store, name, store);
        if (typeof value !== "function") return value;
        if (name !== "list") return value.bind(store);
        return (prefix: string) => (prefix === lab.vault.names.sessions ? nothing() : store.list(prefix));
      },
    });
    await assert.rejects(collect({ ...lab.vault, store: blind }), { name: "IncompleteIndexError" });
    await assert.rejects(collect({ ...lab.vault, store: blind }), { name: "IncompleteIndexError" });
    assert.deepEqual(await content(bench, lab), before);
    await old.close();
  });

  test("a session that was running when the index was copied, and was completed since, is not garbage", async (t) => {
    const bench = prepare(t);
    const file = path.join(bench.folder, "i.db");
    const copy = path.join(bench.folder, "copy.db");
    const index = openSqliteIndex(file, labContext(5));
    const lab = await openLab(bench.store, { seed: 5, index });
    write(bench, "a");
    let copied = false;
    const store = new FaultyStore(bench.store, ({ operation, name }) => {
      if (!copied && operation === "put" && name.includes("/packs/")) {
        copied = true;
        for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${copy}${end}`);
      }
      return null;
    });
    const { snapshot } = await labOf(lab.ctx, { ...lab.vault, store }, lab.writer).backup(bench.from);
    const tree = describeTree(bench.from);
    const old = openSqliteIndex(copy, labContext(6));
    const late = labOf(lab.ctx, { ...lab.vault, index: old }, lab.writer);
    lab.ctx.advance(3 * 3_600_000);
    const before = await content(bench, lab);
    await assert.rejects(collect(late.vault), { name: "IncompleteIndexError" });
    assert.deepEqual(await content(bench, lab), before);
    await rebuild(late.vault);
    await collect(late.vault);
    await assertRestores(bench, late, new Map([[snapshot.id, tree]]));
    await index.close();
    await old.close();
  });
});

describe("a new index over a used store", () => {
  test("gives out no number that is taken: a backup is refused until a rebuild, then both restore", async (t) => {
    const bench = prepare(t);
    const first = await openLab(bench.store);
    write(bench, "a");
    const expected = new Map([[(await first.backup(bench.from)).snapshot.id, describeTree(bench.from)]]);
    const index = new MemoryIndex(labContext(9));
    const lab = labOf(first.ctx, { ...first.vault, index }, first.writer);
    write(bench, "b");
    for (let i = 0; i < 4; i++) await assert.rejects(lab.backup(bench.from), { name: "IncompleteIndexError" });
    const report = await rebuild(lab.vault);
    assert.deepEqual([report.refused, report.incomplete], [[], []]);
    first.ctx.advance(1000);
    expected.set((await lab.backup(bench.from)).snapshot.id, describeTree(bench.from));
    await collect(lab.vault);
    await assertRestores(bench, lab, expected);
  });

  test("a rebuilt index gives out numbers above every claim, used or not, and leaves ordinals free for what still comes", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    await lab.backup(bench.from);
    await collect(lab.vault);
    const claims = await namesUnder(bench.store, lab.vault.names.sessions);
    assert.ok(claims.length >= 2, "a collection claims a number too");
    const { next } = await lab.vault.index.sessions();
    const ordinal = await lab.vault.index.reserveOrdinals(1);
    await rebuild({ ...lab.vault, index: lab.vault.index });
    assert.equal((await lab.vault.index.sessions()).next, next);
    const index = new MemoryIndex(labContext(9));
    await rebuild({ ...lab.vault, index });
    assert.equal((await index.sessions()).next, next);
    assert.ok((await index.reserveOrdinals(1)) > ordinal + 1000);
  });
});

describe("what rebuild refused is no garbage", () => {
  test("a flipped bit in a manifest, a rebuild, a collection: nothing is deleted, and the repaired manifest restores", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    const { snapshot } = await lab.backup(bench.from);
    const name = lab.vault.names.manifest(snapshot.id);
    const good = Buffer.from(await bench.store.get(name));
    const bad = Buffer.from(good);
    bad[bad.length - 100] = (bad[bad.length - 100] ?? 0) ^ 1;
    await bench.store.put(name, bad);
    assert.equal((await rebuild(lab.vault)).refused.length, 1);
    const before = await content(bench, lab);
    await assert.rejects(collect(lab.vault), { name: "IncompleteIndexError", message: new RegExp(snapshot.id) });
    await assert.rejects(rewritePacks(lab.vault, 0), { name: "IncompleteIndexError" });
    assert.deepEqual(await content(bench, lab), before);
    await bench.store.put(name, good);
    await rebuild(lab.vault);
    await collect(lab.vault);
    await assertRestores(bench, lab, new Map([[snapshot.id, describeTree(bench.from)]]));
  });

  test("a manifest that nobody can repair stops collection until it is given up by name", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    const { snapshot } = await lab.backup(bench.from);
    await bench.store.put(lab.vault.names.manifest(snapshot.id), Buffer.alloc(400, 1));
    await rebuild(lab.vault);
    await assert.rejects(collect(lab.vault, { givenUp: ["ef".repeat(16)] }), { name: "IncompleteIndexError" });
    const report = await collect(lab.vault, { givenUp: [snapshot.id] });
    assert.deepEqual(report.removedManifests, [snapshot.id]);
    assert.ok(report.deletedPacks.length > 0);
  });

  test("a flipped bit anywhere in a manifest, or a lost one, is found by scrubbing without secrets and named", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    const { snapshot } = await lab.backup(bench.from);
    const name = lab.vault.names.manifest(snapshot.id);
    const good = Buffer.from(await bench.store.get(name));
    const { authorityPublicKey, vaultId } = lab.vault.keys;
    const judge = { vaultId, writers: await readWriters(lab.vault) };
    const scrubbed = async () => (await scrub({ ...lab.vault, judge, authorityPublicKey })).manifests;
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

  test("a manifest that is damaged or gone is written anew from the row: rebuild brings the same snapshot back", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    const { snapshot } = await lab.backup(bench.from);
    await setRetention(lab.vault, snapshot.id, { expiresAt: null, lockedUntil: null, hold: true });
    const name = lab.vault.names.manifest(snapshot.id);
    const [before] = await lab.vault.index.snapshots();
    assert.ok(before);
    const judge = { vaultId: lab.vault.keys.vaultId, writers: await readWriters(lab.vault) };
    const { authorityPublicKey } = lab.vault.keys;
    const found = async () => (await scrub({ ...lab.vault, judge, authorityPublicKey })).manifests;
    for (const damage of ["flipped", "gone"]) {
      const bad = Buffer.from(await bench.store.get(name));
      bad[1400] = (bad[1400] ?? 0) ^ 1;
      if (damage === "gone") await bench.store.delete(name);
      else await bench.store.put(name, bad);
      assert.deepEqual(await restateManifests(lab.vault, await found()), [name], damage);
      assert.deepEqual(await found(), [], damage);
      const report = await rebuild(lab.vault);
      assert.deepEqual([report.refused, report.incomplete], [[], []], damage);
      const [after] = await lab.vault.index.snapshots();
      assert.deepEqual({ ...after, session: 0, status: "" }, { ...before, session: 0, status: "" }, damage);
      await assertRestores(bench, lab, new Map([[snapshot.id, describeTree(bench.from)]]));
      await collect(lab.vault);
      assert.equal((await lab.vault.index.snapshots()).length, 1);
    }
  });

  test("a forged tombstone does not make an unknown snapshot garbage", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    const { snapshot } = await lab.backup(bench.from);
    await bench.store.put(lab.vault.names.tombstone(snapshot.id), Buffer.alloc(120, 1));
    const good = Buffer.from(await bench.store.get(lab.vault.names.manifest(snapshot.id)));
    await bench.store.put(lab.vault.names.manifest(snapshot.id), good.subarray(1));
    await rebuild(lab.vault);
    const before = await content(bench, lab);
    await assert.rejects(collect(lab.vault), { name: "IncompleteIndexError" });
    assert.deepEqual(await content(bench, lab), before);
  });

  test("one damaged metadata frame costs a rebuild that frame, not the others of its pack", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    await lab.backup(bench.from);
    const frames: FrameRow[] = [];
    for await (const row of lab.vault.index.allFrames()) if (row.kind === "meta") frames.push(row);
    const packs = new Set(frames.map(({ pack }) => pack));
    assert.deepEqual([frames.length > 1, packs.size], [true, 1]);
    for (const { frame, pack, offset } of frames) {
      const name = lab.vault.names.pack(pack);
      const good = Buffer.from(await bench.store.get(name));
      const bad = Buffer.from(good);
      bad[offset + 60] = (bad[offset + 60] ?? 0) ^ 1;
      await bench.store.put(name, bad);
      assert.deepEqual(
        (await rebuild(lab.vault)).refused.map((each) => each.name),
        [name],
      );
      const rested = new Set<number>();
      for await (const item of lab.vault.index.allItems()) rested.add(item.record);
      assert.deepEqual(
        [...rested].sort(),
        frames
          .map((each) => each.frame)
          .filter((each) => each !== frame)
          .sort(),
      );
      await bench.store.put(name, good);
    }
  });

  test("metadata that rebuild could not read: the snapshot's data packs stay", async (t) => {
    const bench = prepare(t);
    const lab = await openLab(bench.store);
    write(bench, "a");
    await lab.backup(bench.from, { settings: { packBytes: 20_000, unitBytes: 40_000 } });
    const meta: string[] = [];
    for await (const row of lab.vault.index.allFrames()) if (row.kind === "meta") meta.push(row.pack);
    const name = lab.vault.names.pack(meta[0] ?? "");
    const bad = Buffer.from(await bench.store.get(name));
    bad[1500] = (bad[1500] ?? 0) ^ 1;
    await bench.store.put(name, bad);
    const report = await rebuild(lab.vault);
    assert.ok(report.refused.length > 0 && report.incomplete.length > 0, JSON.stringify(report));
    const before = await content(bench, lab);
    await assert.rejects(collect(lab.vault), { name: "IncompleteIndexError" });
    assert.deepEqual(await content(bench, lab), before);
  });
});

async function* nothing(): AsyncGenerator<never> {}
