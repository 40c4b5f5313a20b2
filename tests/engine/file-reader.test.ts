import assert from "node:assert/strict";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { decodeRecipe, encodeRecipe, framesOf } from "../../packages/engine/src/format/recipe.ts";
import type { FileEntry } from "../../packages/engine/src/format/tree-entry.ts";
import { findEntry } from "../../packages/engine/src/format/tree-reader.ts";
import { FileReader } from "../../packages/engine/src/restore/file-reader.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import type { ReadPort } from "../../packages/engine/src/restore/read-port.ts";
import { rootEntry } from "../../packages/engine/src/restore/root-entry.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { RestoreWorkerPool } from "../../packages/engine/src/workers/restore-worker-pool.ts";
import { dump, pageBytes } from "./testing/dump.ts";
import { dataFrames, replaceAllRecipes, storeFalseFrame } from "./testing/lying-client.ts";

/** A port that counts what is read of packs. */
class CountingPort extends LocalReadPort {
  reads = 0;
  bytes = 0;

  override async readPack(...call: Parameters<ReadPort["readPack"]>): Promise<Uint8Array> {
    const bytes = await super.readPack(...call);
    this.reads++;
    this.bytes += bytes.length;
    return bytes;
  }
}

/** A dump after some nights: every night a few scattered pages change, and the dump gets a new name. */
async function agedDump(t: { after(fn: () => void): void }, pages: number, nights: number) {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const random = new SeededRandom(7);
  const bytes = dump(random, pages);
  const env = await openTestEnvironment(new MemoryStore());
  let snapshot: SnapshotRow | null = null;
  for (let night = 0; night < nights; night++) {
    for (let i = 0; night > 0 && i < pages / 50; i++)
      random.bytes(300).copy(bytes, random.below(pages) * pageBytes + 2000);
    if (night > 0) renameSync(path.join(from, `${night - 1}.bak`), path.join(from, `${night}.bak`));
    writeFileSync(path.join(from, `${night}.bak`), bytes);
    settleTimes(from);
    ({ snapshot } = await env.backup(from));
    env.ctx.advance(24 * 3_600_000);
  }
  assert.ok(snapshot);
  return { env, bytes, snapshot, name: `${nights - 1}.bak` };
}

async function entryOf(reader: FileReader, snapshot: SnapshotRow, name: string): Promise<FileEntry> {
  const entry = await findEntry(reader.frames, (await rootEntry(reader.frames, snapshot)).root, Buffer.from(name));
  return entry?.type === "file" ? entry : assert.fail("no such file");
}

async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return Buffer.concat(all);
}

/** Sealed bytes of all data frames that the file's segments need. */
async function frameBytes({ vault }: TestEnvironment, { content }: FileEntry): Promise<number> {
  assert.ok(content.kind === "segments");
  const items = await vault.catalog.itemsByOrdinal(content.segments.map(({ ordinal }) => ordinal));
  const frames = new Set(items.flatMap((item) => framesOf(decodeRecipe(item?.recipe ?? assert.fail("no item")))));
  const rows = await vault.catalog.frames([...frames]);
  return rows.reduce((sum, row) => sum + (row?.length ?? 0), 0);
}

test("a file whose blocks are in the frames of many nights is read whole, and each frame once", async (t) => {
  const { env, bytes, snapshot, name } = await agedDump(t, 2_000, 8);
  const port = new CountingPort(env.vault);
  const reader = new FileReader({ port, pool: inlineRestorePool });
  const entry = await entryOf(reader, snapshot, name);
  port.bytes = 0;
  assert.ok((await readAll(reader.read(entry))).equals(bytes));
  const needed = await frameBytes(env, entry);
  assert.ok(port.bytes <= 1.3 * needed, `${port.bytes} bytes were read of ${needed}`);
});

test("with a cache that holds one frame, a fragmented file is still read whole", async (t) => {
  const { env, bytes, snapshot, name } = await agedDump(t, 600, 4);
  const reader = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool, cacheBytes: 1 });
  assert.ok((await readAll(reader.read(await entryOf(reader, snapshot, name)))).equals(bytes));
});

test("any range returns its bytes: threads and no threads, one reader for all", async (t) => {
  const { env, bytes, snapshot, name } = await agedDump(t, 2_500, 3);
  const pool = new RestoreWorkerPool(2);
  t.after(() => pool.close());
  pool.startThreadsFor(1 << 30);
  for (const each of [pool, inlineRestorePool]) {
    const reader = new FileReader({ port: new LocalReadPort(env.vault), pool: each });
    const entry = await entryOf(reader, snapshot, name);
    const random = new SeededRandom(3);
    const ranges = Array.from({ length: 12 }, () => ({
      offset: random.below(bytes.length + 10),
      length: random.below(random.pick([10, 100_000, 9_000_000])),
    }));
    await Promise.all(
      ranges.map(async (range) => {
        const expected = bytes.subarray(range.offset, range.offset + range.length);
        assert.ok((await readAll(reader.read(entry, range))).equals(expected), JSON.stringify(range));
      }),
    );
  }
});

test("a range of a large file starts after two reads that depend on each other: its list and its data", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  // More segments than an entry holds, so that there is a list.
  const bytes = dump(new SeededRandom(9), 10_000);
  writeFileSync(path.join(from, "a.bak"), bytes);
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const known = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const entry = await entryOf(known, snapshot, "a.bak");
  assert.equal(entry.content.kind, "list");
  const port = new SteppedPort(env.vault);
  const reader = new FileReader({ port, pool: inlineRestorePool });
  const range = { offset: 70_000_000, length: 1000 };
  const first = readAll(reader.read(entry, range));
  let isDone = false;
  void first.then(() => {
    isDone = true;
  });
  let rounds = 0;
  while (!isDone && rounds < 10) {
    while (port.waiting.length === 0 && !isDone) await new Promise(setImmediate);
    if (isDone) break;
    rounds++;
    port.releaseAll();
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  }
  assert.ok((await first).equals(bytes.subarray(range.offset, range.offset + range.length)));
  assert.ok(rounds <= 2, `${rounds} rounds of reads`);
});

/** A port whose reads of packs wait until the test releases all of them together. */
class SteppedPort extends LocalReadPort {
  readonly waiting: (() => void)[] = [];

  override async readPack(...call: Parameters<ReadPort["readPack"]>): Promise<Uint8Array> {
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    return super.readPack(...call);
  }

  releaseAll(): void {
    for (const release of this.waiting.splice(0)) release();
  }
}

test("a wrong frame fails the ranges that need it and no other, and is read again the next time", async (t) => {
  const { env, bytes, snapshot, name } = await agedDump(t, 2_000, 1);
  let isBroken = true;
  let broken = "";
  const port = new LocalReadPort(env.vault);
  const read = port.readPack.bind(port);
  port.readPack = async (pack, range) => {
    const sealed = await read(pack, range);
    const place = `${pack} ${range.offset}`;
    if (broken === "" && range.length > 100_000) broken = place;
    if (isBroken && place === broken) sealed[sealed.length - 20] = (sealed[sealed.length - 20] ?? 0) ^ 1;
    return sealed;
  };
  const reader = new FileReader({ port, pool: inlineRestorePool });
  const entry = await entryOf(reader, snapshot, name);
  await assert.rejects(readAll(reader.read(entry)), { name: "DamageError" });
  const end = { offset: bytes.length - 10_000, length: 10_000 };
  assert.ok((await readAll(reader.read(entry, end))).equals(bytes.subarray(-10_000)));
  isBroken = false;
  assert.ok((await readAll(reader.read(entry))).equals(bytes));
});

test("a worker thread that dies fails its own job; the pool goes on", async (t) => {
  const { env, bytes, snapshot, name } = await agedDump(t, 600, 2);
  const pool = new RestoreWorkerPool(2);
  t.after(() => pool.close());
  pool.startThreadsFor(1 << 30);
  // A job that is none makes the thread throw.
  await assert.rejects(
    pool.open({ sealed: new Uint8Array(8), blockIdKey: new Uint8Array(32), frames: null as unknown as [] }),
  );
  const reader = new FileReader({ port: new LocalReadPort(env.vault), pool });
  assert.ok((await readAll(reader.read(await entryOf(reader, snapshot, name)))).equals(bytes));
});

test("an aborted read ends with the signal's reason", async (t) => {
  const { env, snapshot, name } = await agedDump(t, 600, 1);
  const reader = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const entry = await entryOf(reader, snapshot, name);
  const controller = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of reader.read(entry, undefined, controller.signal)) controller.abort(new Error("enough"));
  }, /enough/);
});

/** Two small files in one bundle. */
async function smallFiles(t: { after(fn: () => void): void }) {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  for (const [i, name] of ["a", "b"].entries())
    writeFileSync(path.join(from, name), new SeededRandom(60 + i).bytes(1900));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const reader = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const [a, b] = [await entryOf(reader, snapshot, "a"), await entryOf(reader, snapshot, "b")];
  return { env, snapshot, reader, a, b };
}

test("a small file whose entry names blocks of another file of its bundle is not returned", async (t) => {
  const { reader, a, b } = await smallFiles(t);
  assert.equal((await readAll(reader.read(a))).length, 1900);
  assert.ok(a.content.kind === "part" && b.content.kind === "part");
  const beyond = { ...a.content, first: 5000 };
  for (const content of [b.content, beyond])
    await assert.rejects(readAll(reader.read({ ...a, content })), { name: "DamageError", message: /match its hash/ });
});

test("small files of one bundle ask the catalog for it once, also with a reader that others used before", async (t) => {
  const { env, snapshot, reader, a, b } = await smallFiles(t);
  await readAll(reader.read(a));
  const { catalog } = env.vault;
  const asked = [t.mock.method(catalog, "itemsByOrdinal"), t.mock.method(catalog, "frames")];
  assert.ok((await readAll(reader.read(b))).equals(new SeededRandom(61).bytes(1900)));
  assert.deepEqual((await entryOf(reader, snapshot, "a")).hash, a.hash);
  assert.deepEqual(
    asked.map(({ mock }) => mock.callCount()),
    [0, 0],
  );
});

test("a bundle whose blocks were moved since it was resolved is resolved again", async (t) => {
  const { env, a } = await smallFiles(t);
  const port = new LocalReadPort(env.vault);
  const moved = t.mock.method(port, "itemsByOrdinal");
  moved.mock.mockImplementationOnce(async (ordinals) =>
    (await env.vault.catalog.itemsByOrdinal(ordinals)).map(
      (item) => item && { ...item, recipe: movedAway(item.recipe) },
    ),
  );
  const reader = new FileReader({ port, pool: inlineRestorePool });
  assert.equal((await readAll(reader.read(a))).length, 1900);
  assert.equal(moved.mock.callCount(), 2);
});

/** The same recipe with frames that do not exist. */
function movedAway(recipe: Uint8Array): Buffer {
  return encodeRecipe(
    decodeRecipe(recipe).map((run) => (run.kind === "stored" ? { ...run, frame: run.frame + 1 } : run)),
  );
}

test("a frame that was opened for verified content is hashed before it is used for other content", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  for (const [i, name] of ["a", "b"].entries())
    writeFileSync(path.join(from, name), new SeededRandom(70 + i).bytes(300_000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const [frame, ...others] = await dataFrames(env);
  assert.ok(frame !== undefined && others.length === 0, "one frame has both files");
  const planted = await storeFalseFrame(env, decodeBlockList(frame.blockList));
  await replaceAllRecipes(env, (run) => ({ ...run, frame: planted }));
  const reader = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const [a, b] = [await entryOf(reader, snapshot, "a"), await entryOf(reader, snapshot, "b")];
  assert.ok(a.content.kind === "segments");
  await env.vault.catalog.setVerified(a.content.segments.map(({ ordinal }) => ordinal));
  await readAll(reader.read(a));
  await assert.rejects(readAll(reader.read(b)), /does not match its id/);
});

test("the list of a file that is one node is compared with the file's hash, also for a range", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a.bak"), dump(new SeededRandom(9), 10_000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const reader = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const entry = await entryOf(reader, snapshot, "a.bak");
  assert.ok(entry.content.kind === "list" && entry.content.depth === 0);
  const range = { offset: 1_000_000, length: 1000 };
  assert.equal((await readAll(reader.read(entry, range))).length, 1000);
  await assert.rejects(readAll(reader.read({ ...entry, hash: Buffer.alloc(32) }, range)), /do not match its hash/);
});

/** A port that reads packs `first` times. Every later read waits for `open`. */
class WaitingPort extends LocalReadPort {
  readonly #first: number;
  readonly #opened = Promise.withResolvers<void>();
  #reads = 0;

  constructor(vault: TestEnvironment["vault"], first: number) {
    super(vault);
    this.#first = first;
  }

  override async readPack(...call: Parameters<ReadPort["readPack"]>): Promise<Uint8Array> {
    if (++this.#reads > this.#first) await this.#opened.promise;
    return super.readPack(...call);
  }

  open(): void {
    this.#opened.resolve();
  }
}

test("a download goes on if its blocks are moved and their old packs are deleted while it runs", async (t) => {
  const { env, bytes, snapshot, name } = await agedDump(t, 2_000, 8);
  const counting = new CountingPort(env.vault);
  const first = new FileReader({ port: counting, pool: inlineRestorePool, cacheBytes: 1 });
  const entry = await entryOf(first, snapshot, name);
  assert.ok(entry.content.kind === "segments");
  counting.reads = 0;
  await readAll(first.read(entry, { offset: 0, length: entry.content.segments[0]?.bytes ?? 0 }));
  // What is read after the first segment is planned before the move and fetched after it.
  const port = new WaitingPort(env.vault, counting.reads);
  const got: Buffer[] = [];
  let moved = 0;
  for await (const piece of new FileReader({ port, pool: inlineRestorePool, cacheBytes: 1 }).read(entry)) {
    got.push(Buffer.from(piece));
    if (got.length !== 1) continue;
    for (const row of await listSnapshots(env.vault.catalog))
      if (row.id !== snapshot.id) await deleteSnapshot(env.vault, row.id);
    moved = (await repack(env.vault)).segments;
    await rewritePacks(env.vault, -1);
    await prune(env.vault);
    port.open();
  }
  assert.ok(moved > 0, "blocks were moved");
  assert.ok(Buffer.concat(got).equals(bytes));
});
