import assert from "node:assert/strict";
import path from "node:path";
import type { TestContext } from "node:test";
import { test } from "node:test";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { ByteWriter } from "../../packages/engine/src/format/bytes.ts";
import { blockId } from "../../packages/engine/src/format/hash.ts";
import { decodeRecipe } from "../../packages/engine/src/format/recipe.ts";
import { allFrameRows, listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import { describeTree, inlineRestorePool, seededBytes } from "../../packages/engine/src/testing/test-environment.ts";
import { sealData } from "../../packages/engine/src/upkeep/copy-blocks.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { withUpkeepSession } from "../../packages/engine/src/upkeep/upkeep-session.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { RestoreWorkerPool } from "../../packages/engine/src/workers/restore-worker-pool.ts";
import { agedDump } from "./testing/aged-dump.ts";

/** A pool whose threads run, however little there is to do. */
function threads(t: TestContext): RestoreWorkerPool {
  const pool = new RestoreWorkerPool(2);
  t.after(() => pool.close());
  pool.startThreadsFor(Number.MAX_SAFE_INTEGER);
  assert.ok(pool.hasThreads);
  return pool;
}

/** Recipes and block lists, and the order of data frames in each pack: where each block is. */
async function layoutOf({ vault }: TestEnvironment): Promise<unknown[]> {
  const layout: unknown[] = [];
  for await (const item of vault.catalog.allItems())
    if (item.kind === "segment") layout.push(decodeRecipe(item.recipe));
  const rows = (await Array.fromAsync(allFrameRows(vault.catalog))).filter(({ kind }) => kind === "data");
  for (const { frame, generation, blockList } of rows) layout.push([frame, generation, decodeBlockList(blockList)]);
  const packs = Map.groupBy(
    rows.sort((a, b) => a.offset - b.offset),
    ({ pack }) => pack,
  );
  const orders = [...packs.values()].map((inPack) => inPack.map(({ frame }) => frame).join());
  return [...layout, orders.sort()];
}

async function assertIntact(env: TestEnvironment, from: string, to: string): Promise<void> {
  const { vault } = env;
  const snapshots = await listSnapshots(vault.catalog);
  const { findings } = await verifySnapshots({ vault, snapshots, pool: inlineRestorePool, readData: true });
  assert.deepEqual(findings, []);
  const newest = snapshots.at(-1) ?? assert.fail();
  assert.deepEqual((await env.restore(newest, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
}

test("repack and rewriting in threads put every block where they put it without threads", async (t) => {
  const pool = threads(t);
  const layouts: unknown[][] = [];
  for (const options of [{}, { pool }]) {
    const { folder, from, env } = await agedDump(t, 21);
    const { segments, isComplete } = await repack(env.vault, undefined, options);
    assert.ok(segments > 0 && isComplete);
    assert.ok((await rewritePacks(env.vault, 0.01, options)).rewritten.length > 0);
    await assertIntact(env, from, path.join(folder, "to"));
    layouts.push(await layoutOf(env));
  }
  assert.deepEqual(layouts[1], layouts[0]);
});

test("a run that reaches its limit stops, and later runs do the rest", async (t) => {
  const { folder, from, env } = await agedDump(t, 22);
  const all = await agedDump(t, 22);
  const { segments } = await repack(all.env.vault);
  let moved = 0;
  let runs = 0;
  for (let isComplete = false; !isComplete; runs++) {
    const seen: number[] = [];
    const report = await repack(env.vault, (progress) => seen.push(progress.segments), { maxBytes: 100_000 });
    assert.ok(report.isComplete || report.segments + report.rewrittenPacks.length > 0, "every run does something");
    assert.equal(Math.max(0, ...seen), report.segments);
    moved += report.segments;
    isComplete = report.isComplete;
    await assertIntact(env, from, path.join(folder, `to ${runs}`));
    await prune(env.vault);
  }
  assert.ok(runs > 1, `${runs} runs`);
  assert.ok(moved >= segments, `${moved} of ${segments} segments`);
  assert.deepEqual((await repack(env.vault)).segments, 0);
});

test("a bit that flips between hashing and sealing in a thread is found, and the session fails", async (t) => {
  const pool = threads(t);
  const { env } = await agedDump(t, 23, { pages: 100, nights: 1, changes: 0, pick: () => 0 });
  const blocks = [seededBytes(96)(5000), seededBytes(97)(3000)];
  const blockList = {
    ids: Buffer.concat(blocks.map((block) => blockId(env.vault.keys.blockIdKey, block))),
    lengths: Uint32Array.from(blocks.map(({ length }) => length)),
  };
  const seal = (flipAt: number | null, flushes: boolean) => {
    const work = async (session: Parameters<Parameters<typeof withUpkeepSession>[1]>[0]) => {
      const plain = new ByteWriter();
      for (const block of blocks) plain.raw(block);
      if (flipAt !== null) plain.view().writeUInt8(plain.view().readUInt8(flipAt) ^ 1, flipAt);
      sealData(session, session.nextFrame(), 0, plain, blockList);
      return flushes ? (await session.flush()).packs.length : 0;
    };
    return withUpkeepSession(env.vault, work, pool);
  };
  assert.equal(await seal(null, true), 1);
  for (const at of [0, 4999, 5000, 7999])
    for (const flushes of [true, false]) await assert.rejects(seal(at, flushes), /changed while it was sealed/);
});

test("a damaged frame is marked by repack in threads, and its segments keep their recipes", async (t) => {
  const pool = threads(t);
  const { env } = await agedDump(t, 24);
  const { catalog, store, names } = env.vault;
  const damaged = new Set<number>();
  for await (const { kind, frame, pack, offset, length } of allFrameRows(catalog)) {
    if (kind !== "data" || damaged.size > 3) continue;
    const bytes = Buffer.from(await store.get(names.pack(pack)));
    bytes[offset + length - 1] = (bytes[offset + length - 1] ?? 0) ^ 1;
    await store.put(names.pack(pack), bytes);
    damaged.add(frame);
  }
  const recipesOn = async () => {
    const recipes: unknown[] = [];
    for await (const item of catalog.allItems())
      if (
        item.kind === "segment" &&
        decodeRecipe(item.recipe).some((run) => run.kind === "stored" && damaged.has(run.frame))
      )
        recipes.push([item.ordinal, decodeRecipe(item.recipe)]);
    return recipes;
  };
  const before = (await recipesOn()).length;
  await repack(env.vault, undefined, { pool });
  const marked = new Set(await catalog.damagedFrames());
  assert.ok(marked.size > 0 && [...marked].every((frame) => damaged.has(frame)));
  assert.ok(before > 0 && (await recipesOn()).length > 0);
  const { findings } = await verifySnapshots({
    ...{ vault: env.vault, snapshots: await listSnapshots(catalog) },
    ...{ pool: inlineRestorePool, readData: true },
  });
  assert.ok(findings.every(({ frame }) => damaged.has(frame)));
});
