import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../testing/random-tree.ts";
import { CutBlocks, Cutter } from "./cutter.ts";
import { EmbeddedTextCache } from "./embedded-text-cache.ts";

const bufferBytes = 1 << 20;
const secret = Buffer.alloc(32, 1);
const cutter = new Cutter(Buffer.alloc(32, 7), bufferBytes, 1);

/** Adds a text to the list, with or without the cache. Returns whether the text was cut. */
function add(list: CutBlocks, text: Uint8Array, cache?: EmbeddedTextCache): boolean {
  let isCut = false;
  const cut = () => {
    isCut = true;
    const buffer = cutter.buffer(0);
    buffer.set(text);
    const ends = cutter.cut(0, 0, text.length, true);
    list.push(buffer, 0, ends, ends.length, (from, to) => cutter.isZero(0, from, to));
  };
  if (cache === undefined) cut();
  else cache.add(text, list, cut);
  return isCut;
}

test("a text that occurs again gets the same blocks and is not cut again", () => {
  const cache = new EmbeddedTextCache(secret);
  const random = new SeededRandom(3);
  // One text is all zeros: the cache also keeps which blocks are zero.
  const texts = [random.bytes(117_000), Buffer.alloc(90_000), random.bytes(16 * 1024), random.bytes(40_000)];
  const withCache = new CutBlocks(1);
  const without = new CutBlocks(1);
  const cut = [0, 1, 0, 2, 1, 3, 0, 3].map((i) => {
    add(without, texts[i] ?? Buffer.alloc(0));
    return add(withCache, texts[i] ?? Buffer.alloc(0), cache);
  });
  assert.deepEqual(cut, [true, true, false, true, false, true, false, false]);
  assert.deepEqual(withCache.copyFrom(0), without.copyFrom(0));
});

test("a text that differs in one bit or in its length is cut", () => {
  const cache = new EmbeddedTextCache(secret);
  const text = new SeededRandom(4).bytes(20_000);
  const list = new CutBlocks(64);
  assert.ok(add(list, text, cache));
  for (let at = 0; at < text.length; at += 997) {
    const other = Buffer.from(text);
    other[at] = (other[at] ?? 0) ^ (1 << (at & 7));
    assert.ok(add(list, other, cache), `bit of byte ${at}`);
  }
  assert.ok(add(list, text.subarray(1), cache));
  assert.ok(add(list, text.subarray(0, -1), cache));
  assert.ok(add(list, Buffer.concat([text, Buffer.alloc(1)]), cache));
  assert.ok(!add(list, text, cache));
});

test("a cache of another session does not have the text: timing must not reveal it", () => {
  const text = new SeededRandom(5).bytes(50_000);
  const list = new CutBlocks(64);
  for (const cache of [new EmbeddedTextCache(secret), new EmbeddedTextCache(secret)]) assert.ok(add(list, text, cache));
});

test("with more texts than the cache holds, some are cut again and none gets the blocks of another", () => {
  const cache = new EmbeddedTextCache(secret, 4);
  const random = new SeededRandom(6);
  const texts = Array.from({ length: 9 }, () => random.bytes(17_000));
  const withCache = new CutBlocks(64);
  const without = new CutBlocks(64);
  for (const text of [...texts, ...texts.toReversed(), ...texts]) {
    add(withCache, text, cache);
    add(without, text);
  }
  assert.deepEqual(withCache.copyFrom(0), without.copyFrom(0));
});
