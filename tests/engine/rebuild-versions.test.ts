/** Rebuild after repacks that ended in the middle, and after repacks that have left old records in the metadata. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { Catalog, FrameMove, Item, SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import type { FrameKind } from "../../packages/engine/src/format/frame.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import type { Vault } from "../../packages/engine/src/vault.ts";

interface Backups {
  readonly folder: string;
  readonly env: TestEnvironment;
  backup(files: Readonly<Record<string, Uint8Array>>): Promise<Night>;
}

interface Night {
  readonly snapshot: SnapshotRow;
  readonly lines: readonly string[];
}

async function prepare(t: { after(fn: () => void): void }, seed: number, settings: object): Promise<Backups> {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  const env = await openTestEnvironment(new MemoryStore(), { seed });
  const backup = async (files: Readonly<Record<string, Uint8Array>>) => {
    rmSync(from, { recursive: true, force: true });
    mkdirSync(from);
    for (const [name, bytes] of Object.entries(files)) writeFileSync(path.join(from, name), bytes);
    settleTimes(from);
    env.ctx.advance(1000);
    const { snapshot } = await env.backup(from, { settings });
    return { snapshot, lines: describeTree(from) };
  };
  return { folder, env, backup };
}

/** The catalog is lost and rebuilt, and prune deletes what looks dead: every snapshot is still whole. */
async function assertWholeAfterRebuild({ folder, env }: Backups, nights: readonly Night[]): Promise<void> {
  const { incomplete, lostFrames } = await rebuild(env.vault);
  assert.deepEqual([incomplete, lostFrames], [[], []]);
  await prune(env.vault);
  await rebuild(env.vault);
  const rows = await listSnapshots(env.vault.catalog);
  for (const [i, { snapshot, lines }] of nights.entries()) {
    const row = rows.find(({ id }) => id === snapshot.id);
    assert.ok(row);
    const to = path.join(folder, `to ${i}`);
    const { failures } = await env.restore(row, to);
    assert.deepEqual(
      failures.map(({ reason }) => reason),
      [],
    );
    assert.deepEqual(describeTree(to), lines);
  }
}

/** The vault as a process has it that ends before the catalog moves a frame of this kind. */
function endsBeforeMove(vault: Vault, kind: FrameKind): Vault {
  const catalog = new Proxy<Catalog>(vault.catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const moves = name === "moveFrames" ? (args[3] as readonly FrameMove[]) : [];
        if (moves.some(({ to }) => to.kind === kind)) throw new Error("the process ends");
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return { ...vault, catalog };
}

const small = { packBytes: 30_000, unitBytes: 60_000 };

function fileBytes(seed: number): [string, Uint8Array][] {
  const bytes = seededBytes(seed);
  return Array.from({ length: 20 }, (_, i) => [`f${i}`, bytes(4000)]);
}

/** Twenty files; then three of them; an interrupted repack drops the rest; then all of them again. */
async function interruptedRepack(backups: Backups, kind: FrameKind, seed: number): Promise<Night> {
  const all = Object.fromEntries(fileBytes(seed));
  const few = Object.fromEntries(Object.entries(all).slice(0, 3));
  const { env, backup } = backups;
  const { snapshot } = await backup(all);
  await backup(few);
  await deleteSnapshot(env.vault, snapshot.id);
  await assert.rejects(rewritePacks(endsBeforeMove(env.vault, kind), 0), /the process ends/);
  return backup(all);
}

/** Seeds in which the orphan's name is before that of the right pack, and others in which it is behind it. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

test("an orphan of an interrupted repack is not taken for the frame that a later repack has written with the same generation", async (t) => {
  for (const seed of seeds) {
    const backups = await prepare(t, seed, small);
    const night = await interruptedRepack(backups, "data", seed);
    await rewritePacks(backups.env.vault, -1);
    await assertWholeAfterRebuild(backups, [night]);
  }
});

test("of versions that have all that the known snapshots need, the one with more blocks is taken: a snapshot may be hidden", async (t) => {
  for (const kind of ["data", "meta"] as const)
    for (const seed of seeds.slice(0, 2)) {
      const backups = await prepare(t, seed, small);
      const { env, backup } = backups;
      const { vault } = env;
      const night = await interruptedRepack(backups, kind, seed);
      const manifest = vault.names.manifest(night.snapshot.id);
      const bytes = await vault.store.get(manifest);
      await vault.store.delete(manifest);
      assert.deepEqual((await rebuild(vault)).hidden, [night.snapshot.id]);
      const again = await backup(Object.fromEntries(fileBytes(seed)));
      assert.ok(again.snapshot.storedBytes < 20_000, `${again.snapshot.storedBytes} bytes: its content is still used`);
      await vault.store.put(manifest, bytes);
      await assertWholeAfterRebuild(backups, [night, again]);
    }
});

test("a version whose bytes are damaged is not taken if another one has all that the snapshots need, also if it has more blocks", async (t) => {
  const backups = await prepare(t, 2, small);
  const { env, backup } = backups;
  const { catalog, store, names } = env.vault;
  const all = fileBytes(2);
  const { snapshot } = await backup(Object.fromEntries(all));
  const few = await backup(Object.fromEntries(all.slice(0, 3)));
  await deleteSnapshot(env.vault, snapshot.id);
  const old = (await Array.fromAsync(catalog.allFrames())).find(({ kind }) => kind === "data");
  assert.ok(old);
  const bad = Buffer.from(await store.get(names.pack(old.pack)));
  bad[old.offset + 60] = (bad[old.offset + 60] ?? 0) ^ 1;
  assert.ok((await rewritePacks(env.vault, 0)).rewritten.includes(old.pack));
  // A disk comes back that was away while the pack was deleted.
  await store.put(names.pack(old.pack), bad);
  await assertWholeAfterRebuild(backups, [few]);
});

test("an orphan of an interrupted repack is not taken for the metadata that is still in its old pack", async (t) => {
  for (const seed of seeds) {
    const backups = await prepare(t, seed, small);
    const night = await interruptedRepack(backups, "meta", seed);
    await assertWholeAfterRebuild(backups, [night]);
  }
});

test("a segment whose blocks repack has dropped is not known after a rebuild: the next backup stores them again", async (t) => {
  const backups = await prepare(t, 3, small);
  const { env, backup } = backups;
  const bytes = seededBytes(3);
  const all = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i + 10}`, bytes(4000)]));
  const { snapshot } = await backup(all);
  const few = await backup(Object.fromEntries(Object.entries(all).slice(17)));
  await deleteSnapshot(env.vault, snapshot.id);
  // The data is rewritten. The metadata still has the records of what was dropped.
  await assert.rejects(rewritePacks(endsBeforeMove(env.vault, "meta"), 0.1), /the process ends/);
  assert.deepEqual((await rebuild(env.vault)).incompleteSegments, []);
  const again = await backup(all);
  assert.ok(again.snapshot.storedBytes > 17 * 4000);
  await assertWholeAfterRebuild(backups, [few, again]);
});

test("the record of a segment that repack has replaced does not count, also if its metadata frame was rewritten later", async (t) => {
  let moved = 0;
  for (const seed of seeds) {
    const backups = await prepare(t, seed, { packBytes: 1_000_000, unitBytes: 2_000_000 });
    const { env, backup } = backups;
    const bytes = seededBytes(seed);
    const big = bytes(900_000);
    const first = await backup({ big });
    const middle = await backup({ big: Buffer.concat([big.subarray(500_000, 800_000), bytes(50_000)]) });
    const start = await backup({ big: Buffer.concat([big.subarray(0, 300_000), bytes(50_000)]) });
    await deleteSnapshot(env.vault, first.snapshot.id);
    moved += (await repack(env.vault)).segments;
    await rewritePacks(env.vault, -1);
    await prune(env.vault);
    await assertWholeAfterRebuild(backups, [middle, start]);
  }
  assert.ok(moved > 0, "segments were moved");
});

test("prune deletes nothing while the catalog has recipes from before a repack, whose blocks were dropped since", async (t) => {
  let refused = 0;
  for (const seed of seeds) {
    const backups = await prepare(t, seed, { packBytes: 1_000_000, unitBytes: 2_000_000 });
    const { env, backup } = backups;
    const { catalog, store, names } = env.vault;
    const bytes = seededBytes(seed);
    const big = bytes(900_000);
    const first = await backup({ big });
    const middle = await backup({ big: Buffer.concat([big.subarray(500_000, 800_000), bytes(50_000)]) });
    const old: Item[] = [];
    for await (const item of catalog.allItems()) old.push(item);
    await deleteSnapshot(env.vault, first.snapshot.id);
    if ((await repack(env.vault)).segments === 0) continue;
    await rewritePacks(env.vault, -1);
    await prune(env.vault);
    // As a rebuild makes them if the pack with the new recipes is away.
    const nothing = { packs: [], header: Buffer.alloc(0), frames: [], hooks: [], follows: [] };
    const known = await catalog.itemsByOrdinal(old.map(({ ordinal }) => ordinal));
    await catalog.addRebuilt({ unit: { ...nothing, items: old.filter((_, i) => known[i]?.kind === "segment") } });
    await assert.rejects(prune(env.vault), { name: "IncompleteCatalogError", message: /need blocks of \d+ frames/ });
    refused++;
    for (const { pack } of await Array.fromAsync(catalog.allPacks()))
      assert.notEqual(await store.stat(names.pack(pack)), null);
    await assertWholeAfterRebuild(backups, [middle]);
  }
  assert.ok(refused > 0, "segments were moved");
});
