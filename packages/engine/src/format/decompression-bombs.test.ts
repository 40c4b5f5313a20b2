import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { constants, zstdCompressSync } from "node:zlib";
import { Bitmap } from "./bitmap.ts";
import { decodeBlockList } from "./block-list.ts";
import { ByteWriter, FormatError } from "./bytes.ts";
import { readFrameHeader, storedFrameNumber } from "./frame.ts";
import { readMetadataItems } from "./metadata-items.ts";
import { decodeRecipe } from "./recipe.ts";
import type { SessionHeader } from "./session-header.ts";
import { openContentKey } from "./session-header.ts";
import { nodeKinds } from "./tree-builder.ts";
import { writeSegmentReference } from "./tree-entry.ts";
import { entriesOf, findEntry, segmentsOf } from "./tree-reader.ts";

/** What a lying writer can send: few bytes that claim to stand for very many. All of it is an error of the format. */
const huge = 2 ** 40;

test("a recipe with too many zeros or slots is refused", () => {
  const zeros = (count: number, bytes: number) => new ByteWriter().varint(1).u8(0).varint(count).varint(bytes).take();
  const stored = (count: number, bytes: number) =>
    new ByteWriter().varint(1).u8(1).zigzag(5).varint(0).varint(count).varint(bytes).take();
  assert.equal(decodeRecipe(zeros(4, 1024))[0]?.bytes, 4096);
  for (const recipe of [zeros(1, huge), zeros(huge, 1), stored(huge, 10), stored(1, huge)])
    assert.throws(() => decodeRecipe(recipe), FormatError);
  const many = new ByteWriter().varint(100);
  for (let i = 0; i < 100; i++) many.u8(0).varint(1024).varint(1024);
  assert.throws(() => decodeRecipe(many.take()), FormatError);
});

test("a block list with more slots than bytes is refused before memory is allocated for them", () => {
  for (const shape of [0, 1]) {
    const bytes = new ByteWriter()
      .varint(1 << 24)
      .u8(shape)
      .varint(100)
      .take();
    assert.throws(() => decodeBlockList(bytes), FormatError);
  }
  const long = new ByteWriter().varint(1).u8(0).varint(huge).raw(Buffer.alloc(16)).take();
  assert.throws(() => decodeBlockList(long), FormatError);
});

test("a bitmap that decompresses to more ordinals than the reader allows is refused, as is one that does not decompress", () => {
  const fine = new Bitmap();
  fine.add(999);
  assert.equal(Bitmap.decode(fine.encode(), 1000).has(999), true);
  assert.throws(() => Bitmap.decode(fine.encode(), 900), FormatError);
  const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024), {
    params: { [constants.ZSTD_c_compressionLevel]: 1 },
  });
  assert.throws(() => Bitmap.decode(bomb, 1_000_000), FormatError);
  assert.throws(() => Bitmap.decode(randomBytes(100)), FormatError);
});

test("a segment with more hooks than bytes is refused", () => {
  const item = new ByteWriter().u8(1).varint(1).raw(Buffer.alloc(32)).bytes(Buffer.alloc(0)).varint(huge).take();
  assert.throws(() => readMetadataItems(item), FormatError);
});

test("an encapsulation with a point of low order is a FormatError", () => {
  // X25519 of the all-zero point gives an all-zero secret, which OpenSSL refuses.
  const header = { epoch: 1, encapsulation: Buffer.alloc(1120), commitment: Buffer.alloc(32) };
  const keys = { privateSeeds: new Map([[1, randomBytes(32)]]) };
  assert.throws(() => openContentKey(keys, header as unknown as SessionHeader), FormatError);
});

test("a node that claims more rows than it has bytes, or names one entry twice, is refused", async () => {
  const inner = new ByteWriter().u8(nodeKinds.inner).varint(huge).take();
  const reference = { ordinal: 1, id: Buffer.alloc(32) };
  const of = (bytes: Buffer) => ({ node: async () => bytes });
  await assert.rejects(async () => findEntry(of(inner), reference, Buffer.from("a")), FormatError);
  const link = (name: string) =>
    new ByteWriter()
      .u8(2)
      .text(name)
      .varint(0)
      .varint(0)
      .varint(0)
      .zigzag(0)
      .varint(0)
      .text("x")
      .varint(0)
      .varint(0)
      .take();
  const leaf = (...names: string[]) =>
    new ByteWriter()
      .u8(nodeKinds.leaf)
      .varint(names.length)
      .raw(Buffer.concat(names.map(link)))
      .take();
  assert.equal((await Array.fromAsync(entriesOf(of(leaf("a", "b")), reference))).length, 2);
  for (const names of [
    ["a", "a"],
    ["b", "a"],
  ])
    await assert.rejects(() => Array.fromAsync(entriesOf(of(leaf(...names)), reference)), FormatError);
});

test("a metadata frame of dropped items, one byte each, is refused before they fill the memory", () => {
  assert.equal(readMetadataItems(Buffer.alloc(1000, 3)).length, 1000);
  assert.throws(() => readMetadataItems(Buffer.alloc(16 * 1024 * 1024, 3)), FormatError);
});

test("a frame number that no session can have is an error of the format, in a frame and in the footer of a pack", () => {
  assert.throws(() => storedFrameNumber(1, 2 ** 24), FormatError);
  assert.throws(() => storedFrameNumber(2 ** 29, 1), FormatError);
  const header = Buffer.alloc(40);
  header.write("EMF2");
  header.writeUInt32LE(2 ** 24, 20);
  assert.throws(() => readFrameHeader(header), FormatError);
});

test("a segment list that repeats its nodes without end is refused, and each node is read and kept once", async () => {
  const reference = (ordinal: number) => ({ ordinal, id: Buffer.alloc(32, ordinal), bytes: 1 });
  const rowsOf = (kind: number, count: number, ordinal: number) => {
    const writer = new ByteWriter(1 << 20).u8(kind).varint(count);
    for (let i = 0; i < count; i++) writeSegmentReference(writer, reference(ordinal));
    return writer.take();
  };
  const listOf = (lengths: readonly number[]) => {
    let reads = 0;
    const nodes = lengths.map((count, depth) =>
      rowsOf(depth === 0 ? nodeKinds.segments : nodeKinds.lists, count, depth),
    );
    const node = async ({ ordinal }: { ordinal: number }) => {
      reads++;
      return nodes[ordinal - 1] ?? assert.fail("no such node");
    };
    const depth = lengths.length - 1;
    const segments = segmentsOf({ node }, { kind: "list", depth, root: reference(lengths.length) });
    return { segments, reads: () => reads };
  };
  const fine = listOf([100, 50]);
  const segments = await Array.fromAsync(fine.segments);
  assert.deepEqual([segments.length, new Set(segments).size, fine.reads()], [5000, 100, 2]);
  for (const lengths of [
    [16_384, 16_384, 16_384],
    [0, 16_384, 16_384],
    [20_000, 1],
  ]) {
    const { segments: endless, reads } = listOf(lengths);
    let seen = 0;
    await assert.rejects(async () => {
      for await (const segment of endless) seen += segment.bytes;
    }, FormatError);
    assert.ok(reads() <= lengths.length && seen <= 2 ** 22 + 2 ** 14, `${seen} segments`);
  }
});
