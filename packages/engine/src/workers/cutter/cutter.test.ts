import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../testing/random-tree.ts";
import { type BlockSizes, Cutter, coarseBlocks, cutSegments, fineBlocks } from "./cutter.ts";

const cutter = new Cutter(Buffer.alloc(32, 7), 1 << 20, 1);

test("pages end at multiples of the page size from the start of the first page", () => {
  const ends = (from: number, to: number, before: number, final: boolean) => [
    ...cutter.pages(from, to, 4096, before, final),
  ];
  assert.deepEqual(ends(0, 12_288, 0, false), [4096, 8192, 12_288]);
  assert.deepEqual(ends(100, 9000, 96, false), [4100, 8196]);
  assert.deepEqual(ends(100, 9000, 96, true), [4100, 8196, 9000]);
  assert.deepEqual(ends(100, 4100, 96, true), [4100]);
});

test("an empty range has no page", () => {
  for (const before of [0, 1, 4095]) assert.deepEqual([...cutter.pages(500, 500, 4096, before, true)], []);
});

const randomBytes = new SeededRandom(8).bytes(900_000);

/** The lengths of the blocks of some bytes. */
function lengthsOf(bytes: Uint8Array, sizes: BlockSizes): number[] {
  cutter.buffer(0).set(bytes);
  const ends = [...cutter.cut(0, 0, bytes.length, true, sizes)];
  return ends.map((end, i) => end - (ends[i - 1] ?? 0));
}

test("fine and coarse blocks have their lengths, whichever sizes were cut before", () => {
  for (const sizes of [coarseBlocks, fineBlocks, coarseBlocks]) {
    const lengths = lengthsOf(randomBytes, sizes);
    const mean = randomBytes.length / lengths.length;
    assert.ok(lengths.slice(0, -1).every((length) => length > sizes.minBytes && length <= 65_536));
    assert.ok(mean > sizes.normalBytes * 0.9 && mean < sizes.normalBytes * 1.4, `mean ${mean}`);
  }
});

test("at most two coarse blocks change after an insertion", () => {
  const changed = Buffer.concat([
    randomBytes.subarray(0, 400_000),
    Buffer.from("inserted"),
    randomBytes.subarray(400_000),
  ]);
  const endsFromBack = (bytes: Uint8Array) => {
    let left = bytes.length;
    return lengthsOf(bytes, coarseBlocks).map((length) => {
      left -= length;
      return left;
    });
  };
  const before = new Set(endsFromBack(randomBytes));
  const missing = endsFromBack(changed).filter((end) => end < 500_000 && !before.has(end));
  assert.ok(missing.length <= 2, `${missing.length} blocks have other ends`);
});

test("a segment ends at the maximum length of 4 MiB if no block id ends it before", () => {
  const count = 200;
  const lengths = new Uint32Array(count).fill(60_000);
  const segments = cutSegments(new Uint8Array(count * 16).fill(255), lengths, count, true, fineBlocks);
  // 69 blocks have 4 140 000 bytes, and 70 have more than 4 MiB.
  assert.deepEqual([...segments], [69, 69, 62]);
});

test("a segment of fine or coarse blocks has about a megabyte", () => {
  const count = 40_000;
  const ids = new SeededRandom(9).bytes(count * 16);
  for (const sizes of [fineBlocks, coarseBlocks]) {
    const segments = cutSegments(ids, new Uint32Array(count).fill(sizes.normalBytes), count, true, sizes);
    const mean = (count * sizes.normalBytes) / segments.length;
    assert.ok(mean > 0.8 * 2 ** 20 && mean < 1.6 * 2 ** 20, `${sizes.normalBytes}: ${mean}`);
  }
});
