/** When content counts as verified: once every block was read back from its sealed form and hashed, and not before. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { Item } from "../../packages/engine/src/catalog/catalog.ts";
import { ByteWriter } from "../../packages/engine/src/format/bytes.ts";
import { blockId, blockIdLength, fileHash, segmentId } from "../../packages/engine/src/format/hash.ts";
import type { FileEntry } from "../../packages/engine/src/format/tree-entry.ts";
import { entriesOf } from "../../packages/engine/src/format/tree-reader.ts";
import { frameReaderOf } from "../../packages/engine/src/restore/local-read-port.ts";
import { resolveSegments } from "../../packages/engine/src/restore/resolve-segments.ts";
import { rootEntry } from "../../packages/engine/src/restore/root-entry.ts";
import type { PlannedFile } from "../../packages/engine/src/restore/window.ts";
import { planWindow } from "../../packages/engine/src/restore/window.ts";
import { folderSource } from "../../packages/engine/src/source/folder-source.ts";
import type { SourceEvent } from "../../packages/engine/src/source/source.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { sealData } from "../../packages/engine/src/upkeep/copy-blocks.ts";
import { withUpkeepSession } from "../../packages/engine/src/upkeep/upkeep-session.ts";

/** Backs up files. A file in `refused` gets a name that this file system refuses, as if it came from another one. */
async function prepare(
  t: { after(fn: () => void): void },
  files: Readonly<Record<string, Uint8Array>>,
  refused: readonly string[] = [],
) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (const [name, bytes] of Object.entries(files)) writeFileSync(path.join(from, name), bytes);
  settleTimes(from);
  const source = {
    async *walk(): AsyncGenerator<SourceEvent> {
      for await (const event of folderSource(from).walk()) {
        const isRefused = event.type === "file" && refused.includes(Buffer.from(event.path).toString());
        const name = Buffer.concat([Buffer.from(event.type === "file" ? event.stat.name : ""), Buffer.alloc(300, "n")]);
        yield isRefused ? { ...event, stat: { ...event.stat, name } } : event;
      }
    },
  };
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from, { source });
  return { folder, env, snapshot };
}

async function segments(env: TestEnvironment): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of env.vault.catalog.allItems()) if (item.kind === "segment") items.push(item);
  return items;
}

const smallFiles = Object.fromEntries(["a", "b", "c"].map((name, i) => [name, seededBytes(90 + i)(6000)]));

test("a bundle is verified when all of its files were restored, not when some of them were", async (t) => {
  const { folder, env, snapshot } = await prepare(t, smallFiles);
  const paths = (names: readonly string[]) => ({ paths: names.map((name) => Buffer.from(name)) });
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "two"), paths(["a", "c"]))).failures, []);
  assert.deepEqual(
    (await segments(env)).map(({ verified }) => verified),
    [false],
  );
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "all"), paths(["a", "b", "c"]))).failures, []);
  assert.deepEqual(
    (await segments(env)).map(({ verified }) => verified),
    [true],
  );
});

test("a bundle of which one file failed is not verified by the others", async (t) => {
  const { folder, env, snapshot } = await prepare(t, smallFiles, ["b"]);
  assert.equal((await env.restore(snapshot, path.join(folder, "to"))).failures.length, 1);
  assert.deepEqual(
    (await segments(env)).map(({ verified }) => verified),
    [false],
  );
});

test("a segment that two files share is verified by the one that was restored", async (t) => {
  const bytes = seededBytes(95)(2_000_000);
  const { folder, env, snapshot } = await prepare(t, { a: bytes, b: bytes }, ["b"]);
  assert.equal((await env.restore(snapshot, path.join(folder, "to"))).failures.length, 1);
  assert.ok((await segments(env)).every(({ verified }) => verified));
});

/** The bundle of a snapshot of small files, and a planned file for any range of its blocks. */
async function openBundle(env: TestEnvironment, snapshot: Parameters<typeof rootEntry>[1]) {
  const { catalog, keys } = env.vault;
  const reader = frameReaderOf(env.vault);
  const entries: FileEntry[] = [];
  for await (const entry of entriesOf(reader, (await rootEntry(reader, snapshot)).root))
    if (entry.type === "file") entries.push(entry);
  const [entry] = entries;
  assert.ok(entry?.content.kind === "part");
  const { segment } = entry.content;
  const [bundle] = await resolveSegments(catalog, keys.blockIdKey, [segment]);
  assert.ok(bundle !== undefined && typeof bundle !== "string");
  const part = (first: number, count: number): PlannedFile => {
    const lengths = bundle.lengths.slice(first, first + count);
    const ids = bundle.ids.subarray(first * blockIdLength, (first + count) * blockIdLength);
    const size = lengths.reduce((sum, length) => sum + length, 0);
    const hash = fileHash(size, [segmentId(ids, lengths)]);
    const content = { kind: "part", segment, first, count } as const;
    return { path: Buffer.from("x"), segments: [], entry: { ...entry, size, hash, content } };
  };
  const unverified = async (files: readonly PlannedFile[]) => {
    const plan = await planWindow(catalog, keys.blockIdKey, files);
    assert.equal(plan.failed.size, 0);
    return plan.unverified.map(({ fileSets }) => fileSets);
  };
  return { blocks: bundle.lengths.length, part, unverified };
}

test("parts that overlap do not verify the blocks of a bundle that none of them has", async (t) => {
  const { env, snapshot } = await prepare(t, smallFiles);
  const { blocks, part, unverified } = await openBundle(env, snapshot);
  assert.ok(blocks >= 3, `${blocks} blocks`);
  const allButLast = part(0, blocks - 1);
  // Together they have as many blocks as the bundle, or more.
  assert.deepEqual(await unverified([allButLast, part(1, blocks - 2)]), []);
  assert.deepEqual(await unverified([allButLast, part(blocks - 2, 1)]), []);
  assert.deepEqual(await unverified([allButLast, allButLast]), []);
  assert.deepEqual(await unverified([allButLast]), []);
  assert.deepEqual(await unverified([allButLast, part(blocks - 1, 1)]), [[[0, 1]]]);
  assert.deepEqual(await unverified([part(0, blocks), part(1, 1)]), [[[0, 1]]]);
});

test("upkeep opens what it has sealed: a bit that flipped between hashing and sealing is not written", async (t) => {
  const { env } = await prepare(t, smallFiles);
  const blocks = [seededBytes(96)(5000), seededBytes(97)(3000)].map((bytes) => Buffer.from(bytes));
  const blockList = {
    ids: Buffer.concat(blocks.map((block) => blockId(env.vault.keys.blockIdKey, block))),
    lengths: Uint32Array.from(blocks.map(({ length }) => length)),
  };
  const seal = (flipAt: number | null) =>
    withUpkeepSession(env.vault, async (session) => {
      const plain = new ByteWriter();
      for (const block of blocks) plain.raw(block);
      if (flipAt !== null) plain.view().writeUInt8(plain.view().readUInt8(flipAt) ^ 1, flipAt);
      sealData(session, session.nextFrame(), 0, plain, blockList);
    });
  await seal(null);
  for (const at of [0, 4999, 5000, 7999]) await assert.rejects(seal(at), /changed while it was sealed/);
});
