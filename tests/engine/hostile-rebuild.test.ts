/** Rebuild with what lying writers have put into their packs. Nobody but the liar loses anything, and backups go on. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { mock } from "node:test";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { FramePlace, Item, SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import { decodeBlockList, emptyBlockList, encodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { ByteWriter } from "../../packages/engine/src/format/bytes.ts";
import type { MetadataItem } from "../../packages/engine/src/format/metadata-items.ts";
import { writeMetadataItem } from "../../packages/engine/src/format/metadata-items.ts";
import { PackBuilder } from "../../packages/engine/src/format/pack.ts";
import { encodeRecipe } from "../../packages/engine/src/format/recipe.ts";
import { startSession } from "../../packages/engine/src/format/session-header.ts";
import { MetadataWriter } from "../../packages/engine/src/packing/metadata-writer.ts";
import { appendBlockList } from "../../packages/engine/src/packing/open-data-frame.ts";
import { frameReaderOf } from "../../packages/engine/src/restore/local-read-port.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  registeredWriter,
  scratch,
  seededBytes,
  settleTimes,
  testEnvironmentOf,
} from "../../packages/engine/src/testing/test-environment.ts";
import { putBlockList } from "../../packages/engine/src/upkeep/copy-blocks.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { withUpkeepSession } from "../../packages/engine/src/upkeep/upkeep-session.ts";
import { dataFrames } from "./testing/lying-client.ts";

type Test = { after(fn: () => void): void; readonly mock: { method: typeof mock.method } };

const small = { packBytes: 30_000, unitBytes: 60_000 };

function folderOf(t: Test, files: Readonly<Record<string, Uint8Array>>): string {
  const folder = path.join(scratch(t), "from");
  mkdirSync(folder);
  for (const [name, bytes] of Object.entries(files)) writeFileSync(path.join(folder, name), bytes);
  settleTimes(folder);
  return folder;
}

const oneFile = (t: Test, seed: number) => folderOf(t, { a: seededBytes(seed)(50_000) });

/** Runs `work` with a client that changes what it writes into its metadata frames. What it registers stays as it is. */
async function lyingInMetadata<T>(
  t: Test,
  lie: (item: MetadataItem) => MetadataItem,
  work: () => Promise<T>,
): Promise<T> {
  const { add } = MetadataWriter.prototype;
  const mocked = t.mock.method(
    MetadataWriter.prototype,
    "add",
    function (this: MetadataWriter, ...args: Parameters<typeof add>) {
      return add.call(this, args[0], lie(args[1]));
    },
  );
  try {
    return await work();
  } finally {
    mocked.mock.restore();
  }
}

const shiftedBy = (by: number) => (item: MetadataItem) =>
  "ordinal" in item ? { ...item, ordinal: item.ordinal + by } : item;

function liarOf(env: TestEnvironment): TestEnvironment {
  return testEnvironmentOf(env.ctx, env.vault, registeredWriter(env.vault, 10));
}

async function assertRestores(t: Test, env: TestEnvironment, { id }: SnapshotRow, from: string): Promise<void> {
  const row = (await listSnapshots(env.vault.catalog)).find((each) => each.id === id);
  const to = path.join(scratch(t), "to");
  const { failures } = await env.restore(row ?? assert.fail("no row"), to);
  assert.deepEqual(
    failures.map(({ reason }) => reason),
    [],
  );
  assert.deepEqual(describeTree(to), describeTree(from));
}

test("a session that records ordinals of later sessions in its metadata takes nothing from them", async (t) => {
  for (const completes of [true, false]) {
    const env = await openTestEnvironment(new MemoryStore());
    const liar = liarOf(env);
    const attempt = lyingInMetadata(t, shiftedBy(32), () => liar.backup(oneFile(t, 7)));
    const { snapshot: own } = await attempt;
    // Without its record in the chain a session is like one that was never completed.
    if (!completes) await deleteSnapshot(env.vault, own.id);
    env.ctx.advance(1000);
    const from = oneFile(t, 6);
    const { snapshot } = await env.backup(from);
    const report = await rebuild(env.vault);
    assert.ok(report.refused.length > 0, "the lie is named");
    assert.equal(report.incomplete.includes(snapshot.id), false);
    await assertRestores(t, env, snapshot, from);
  }
});

test("false records of a client do not become records of the authority when upkeep rewrites their frame", async (t) => {
  for (const completes of [true, false]) {
    const env = await openTestEnvironment(new MemoryStore());
    const from = oneFile(t, 6);
    const { snapshot } = await env.backup(from);
    const reached = [...Bitmap.decode(snapshot.reach)];
    let i = 0;
    // Its nodes stay true. The records of its segments name ordinals of the other snapshot.
    const lie = (item: MetadataItem) =>
      item.kind === "segment" ? { ...item, ordinal: reached[i++ % reached.length] ?? 0 } : item;
    env.ctx.advance(1000);
    const { snapshot: own } = await lyingInMetadata(t, lie, () => liarOf(env).backup(oneFile(t, 7)));
    const before = (await env.vault.chain.read()).reserved.size;
    assert.equal(before, 2, "the chain has the ordinals of both");
    assert.ok((await rewritePacks(env.vault, -1)).rewritten.length > 0);
    if (!completes) await deleteSnapshot(env.vault, own.id);
    await rebuild(env.vault);
    await assertRestores(t, env, snapshot, from);
  }
});

interface MetadataFrame {
  readonly row: FramePlace;
  readonly items: readonly MetadataItem[];
}

/** The metadata frames that a session has written. */
async function metadataOf({ vault }: TestEnvironment, session: number): Promise<MetadataFrame[]> {
  const frames: MetadataFrame[] = [];
  for await (const row of vault.catalog.allFrames())
    if (row.kind === "meta" && row.session === session)
      frames.push({ row, items: await frameReaderOf(vault).metaItems(row.frame) });
  return frames;
}

/** Rewrites metadata frames with all their items, as upkeep did before it compared them with the catalog. */
async function rewriteUnchecked({ vault }: TestEnvironment, frames: readonly MetadataFrame[]): Promise<void> {
  await withUpkeepSession(vault, async (session) => {
    for (const { row, items } of frames) {
      const plain = new ByteWriter(1 << 16);
      for (const item of items) writeMetadataItem(plain, item);
      session.putFrame("meta", row.frame, row.generation + 1, plain.view(), "fast");
    }
    await session.flush();
  });
}

/** A vault with a snapshot, and one of a liar whose metadata records a segment and a block list of the other snapshot. */
async function falseRecords(t: Test) {
  const env = await openTestEnvironment(new MemoryStore());
  const from = oneFile(t, 6);
  const { snapshot } = await env.backup(from);
  const reached = [...Bitmap.decode(snapshot.reach)];
  const [frame] = await dataFrames(env);
  assert.ok(frame !== undefined);
  let segments = 0;
  const lie = (item: MetadataItem): MetadataItem => {
    if (item.kind !== "segment" || ++segments > 2) return item;
    if (segments === 1) return { ...item, ordinal: reached[0] ?? 0 };
    return { kind: "blockList", frame: frame.frame, generation: 0, blockList: encodeBlockList(emptyBlockList) };
  };
  env.ctx.advance(1000);
  const bytes = seededBytes(7);
  const files = Object.fromEntries(["a", "b", "c"].map((name) => [name, bytes(300_000)]));
  const { snapshot: own } = await lyingInMetadata(t, lie, () => liarOf(env).backup(folderOf(t, files)));
  assert.ok(segments > 2);
  const isFalse = (item: MetadataItem) =>
    (item.kind === "segment" && item.ordinal === reached[0]) ||
    (item.kind === "blockList" && item.frame === frame.frame);
  return { env, from, snapshot, records: await metadataOf(env, own.session), isFalse };
}

test("upkeep that rewrites a metadata frame of a client drops its false records and keeps the right ones", async (t) => {
  const { env, records, isFalse } = await falseRecords(t);
  assert.ok((await rewritePacks(env.vault, -1)).rewritten.length > 0);
  for (const { row, items } of records) {
    const [place] = await env.vault.catalog.framePlaces([row.frame]);
    assert.equal(place?.generation, row.generation + 1);
    const kept = await frameReaderOf(env.vault).metaItems(row.frame);
    const expected = items.map((item) => (isFalse(item) ? "dropped" : item.kind));
    assert.deepEqual(
      kept.map(({ kind }) => kind),
      expected,
    );
  }
});

test("a client's false records count for nothing also if the authority has rewritten and signed their frame", async (t) => {
  const { env, from, snapshot, records } = await falseRecords(t);
  await rewriteUnchecked(env, records);
  assert.ok(
    (await rebuild(env.vault)).refused.some(({ reason }) => /another session has recorded or reserved/.test(reason)),
  );
  const rewritten = await env.vault.catalog.framePlaces(records.map(({ row }) => row.frame));
  for (const place of rewritten) assert.equal(place?.generation, 1, "the rebuild has taken the rewritten frame");
  await assertRestores(t, env, snapshot, from);
});

test("a session that completed nothing records no ordinal that another session has reserved", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const from = oneFile(t, 6);
  // Its session has a higher number than the liar's, and ordinals that the liar can guess.
  const unregistered = { ...env.vault, authority: registeredWriter(env.vault, 10) };
  await withUpkeepSession(unregistered, async (session) => {
    for (let ordinal = 1; ordinal < 100; ordinal++)
      session.putRecord({ kind: "segment", ordinal, id: Buffer.alloc(32, 9), recipe: encodeRecipe([]), hooks: [] });
    await session.flush();
  });
  const { snapshot } = await env.backup(from);
  await rebuild(env.vault);
  await assertRestores(t, env, snapshot, from);
});

test("a record with a huge ordinal, or a pack of a huge session number, does not use up the numbers of the vault", async (t) => {
  for (const ordinal of [2 ** 50, 2 ** 30 - 2]) {
    const env = await openTestEnvironment(new MemoryStore());
    await env.backup(oneFile(t, 6));
    env.ctx.advance(1000);
    await lyingInMetadata(
      t,
      (item) => ("ordinal" in item ? { ...item, ordinal } : item),
      () => liarOf(env).backup(oneFile(t, 7)),
    );
    const unfinished = { ...env.vault, authority: registeredWriter(env.vault, 10) };
    await withUpkeepSession(unfinished, async (session) => {
      session.putRecord({ kind: "segment", ordinal, id: Buffer.alloc(32, 9), recipe: encodeRecipe([]), hooks: [] });
      await session.flush();
    });
    const { header } = startSession(env.ctx, env.vault.keys, env.writer, { session: 2 ** 29 - 1, nonce: 5 });
    const pack = new PackBuilder("data", Buffer.alloc(16, 9), header);
    const body = Buffer.concat([pack.head, pack.finish(env.writer)]);
    await env.vault.store.put(env.vault.names.pack(pack.name), body);
    const { refused } = await rebuild(env.vault);
    assert.ok(refused.some(({ reason }) => /no catalog can have issued/.test(reason)));
    assert.ok((await env.vault.catalog.reserveOrdinals(0)) < 2 ** 26);
    env.ctx.advance(1000);
    const from = oneFile(t, 8);
    await assertRestores(t, env, (await env.backup(from)).snapshot, from);
  }
});

test("a pack whose claim is lost is accepted: only numbers far above every claim are refused", async (t) => {
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const from = oneFile(t, 6);
  const { snapshot } = await env.backup(from);
  for (const name of [...store.objects.keys()]) if (name.includes("/sessions/")) store.objects.delete(name);
  assert.deepEqual((await rebuild(env.vault)).refused, []);
  await assertRestores(t, env, snapshot, from);
});

/** Twenty files of a frame each slot; only the last three are needed, and only their slots are kept. */
async function rewrittenFrame(t: Test) {
  const bytes = seededBytes(3);
  const all = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i + 10}`, bytes(4000)]));
  const env = await openTestEnvironment(new MemoryStore(), { seed: 3 });
  const { snapshot: first } = await env.backup(folderOf(t, all), {
    settings: { packBytes: 300_000, unitBytes: 600_000 },
  });
  env.ctx.advance(1000);
  const from = folderOf(t, Object.fromEntries(Object.entries(all).slice(17)));
  const { snapshot } = await env.backup(from, { settings: small });
  const [before] = await dataFrames(env);
  assert.ok(before !== undefined);
  const full = decodeBlockList(before.blockList);
  const content = Buffer.concat(Object.values(all));
  await deleteSnapshot(env.vault, first.id);
  assert.ok((await rewritePacks(env.vault, 0.1)).rewritten.length > 0);
  const [row] = await env.vault.catalog.frames([before.frame]);
  assert.ok(row?.generation === 1 && decodeBlockList(row.blockList).lengths[0] === 0, "slots were dropped");
  return { env, from, snapshot, row, full, content };
}

/** Leaves an orphan of a repack of later number: the same frame and generation, with these slots only. */
async function leaveOrphan({ env, row, full, content }: Awaited<ReturnType<typeof rewrittenFrame>>, kept: number) {
  const lengths = full.lengths.map((length, slot) => (slot < kept ? length : 0));
  const ids = Buffer.from(full.ids);
  ids.fill(0, kept * 16);
  await withUpkeepSession(env.vault, async (session) => {
    const plain = new ByteWriter(1 << 16);
    plain.raw(
      content.subarray(
        0,
        lengths.reduce((sum, length) => sum + length, 0),
      ),
    );
    putBlockList(session, row.frame, row.generation, { ids, lengths });
    appendBlockList(plain, { ids, lengths });
    session.putFrame("data", row.frame, row.generation, plain.view(), "none");
    await session.flush();
  });
}

test("the block list of a frame is that of its own version, also if an orphan of a later session has another one", async (t) => {
  const rewritten = await rewrittenFrame(t);
  const { env, from, snapshot } = rewritten;
  await leaveOrphan(rewritten, 2);
  await rebuild(env.vault);
  await assertRestores(t, env, snapshot, from);
  await prune(env.vault);
  await assertRestores(t, env, snapshot, from);
});

test("a writer's record of another's segment does not decide which version of a frame is needed", async (t) => {
  const rewritten = await rewrittenFrame(t);
  const { env, from, snapshot, row } = rewritten;
  // The orphan has more slots than the right version, and none that the snapshot needs.
  await leaveOrphan(rewritten, 10);
  const segments: Item[] = [];
  for await (const item of env.vault.catalog.allItems()) if (item.kind === "segment") segments.push(item);
  const liar = { ...env.vault, authority: registeredWriter(env.vault, 10) };
  await withUpkeepSession(liar, async (session) => {
    const recipe = encodeRecipe([{ kind: "stored", frame: row.frame, slot: 0, count: 10, bytes: 40_000 }]);
    for (const { ordinal, id } of segments) session.putRecord({ kind: "segment", ordinal, id, recipe, hooks: [] });
    await session.flush();
  });
  await rebuild(env.vault);
  await assertRestores(t, env, snapshot, from);
});

test("a writer's record of another's segment does not decide that either if the authority has rewritten its frame", async (t) => {
  const rewritten = await rewrittenFrame(t);
  const { env, from, snapshot, row } = rewritten;
  await leaveOrphan(rewritten, 10);
  const [segment] = (await Array.fromAsync(env.vault.catalog.allItems())).filter(({ kind }) => kind === "segment");
  assert.ok(segment !== undefined);
  const recipe = encodeRecipe([{ kind: "stored", frame: row.frame, slot: 0, count: 10, bytes: 40_000 }]);
  const { ordinal, id } = segment;
  const lie = (item: MetadataItem) => (item.kind === "segment" ? { ...item, ordinal, id, recipe } : item);
  env.ctx.advance(1000);
  const { snapshot: own } = await lyingInMetadata(t, lie, () => liarOf(env).backup(oneFile(t, 7)));
  await rewriteUnchecked(env, await metadataOf(env, own.session));
  await rebuild(env.vault);
  await assertRestores(t, env, snapshot, from);
});

test("rebuild names segments that need dropped blocks, and prune goes on once their snapshot is deleted", async (t) => {
  const { env, from, snapshot, row } = await rewrittenFrame(t);
  assert.deepEqual((await rebuild(env.vault)).incompleteSegments, []);
  const recipe = encodeRecipe([{ kind: "stored", frame: row.frame, slot: 0, count: 1, bytes: 4000 }]);
  const lie = (item: MetadataItem) => (item.kind === "segment" ? { ...item, recipe } : item);
  env.ctx.advance(1000);
  const { snapshot: own } = await lyingInMetadata(t, lie, () => liarOf(env).backup(oneFile(t, 7)));
  const { incompleteSegments, incomplete } = await rebuild(env.vault);
  assert.deepEqual([incompleteSegments.length, incomplete], [1, []]);
  assert.ok(Bitmap.decode(own.reach).has(incompleteSegments[0] ?? 0));
  await assert.rejects(prune(env.vault), { name: "IncompleteCatalogError" });
  await deleteSnapshot(env.vault, own.id);
  await prune(env.vault);
  await assertRestores(t, env, snapshot, from);
});
