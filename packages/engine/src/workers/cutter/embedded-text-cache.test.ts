import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../testing/random-tree.ts";
import { CutBlocks, Cutter } from "./cutter.ts";
import { EmbeddedTextCache } from "./embedded-text-cache.ts";

const bufferBytes = 1 << 20;
const secret = Buffer.alloc(32, 1);
const cutter = new Cutter(Buffer.alloc(32, 7), bufferBytes, 1);

/** Adds a text to the list, by way of what is known or not, and tells whether it was cut. */
function add(list: CutBlocks, text: Uint8Array, known?: EmbeddedTextCache): boolean {
  let isCut = false;
  const cut = () => {
    isCut = true;
    const buffer = cutter.buffer(0);
    buffer.set(text);
    const ends = cutter.cut(0, 0, text.length, true);
    list.push(buffer, 0, ends, ends.length, (from, to) => cutter.isZero(0, from, to));
  };
  if (known === undefined) cut();
  else known.add(text, list, cut);
  return isCut;
}

test("a text that comes again has the blocks it had, and is not cut again", () => {
  const known = new EmbeddedTextCache(secret);
  const random = new SeededRandom(3);
  // Zeros in one of them: that a block is empty is remembered with it.
  const texts = [random.bytes(117_000), Buffer.alloc(90_000), random.bytes(16 * 1024), random.bytes(40_000)];
  const withMemory = new CutBlocks(1);
  const without = new CutBlocks(1);
  const cut = [0, 1, 0, 2, 1, 3, 0, 3].map((i) => {
    add(without, texts[i] ?? Buffer.alloc(0));
    return add(withMemory, texts[i] ?? Buffer.alloc(0), known);
  });
  assert.deepEqual(cut, [true, true, false, true, false, true, false, false]);
  assert.deepEqual(withMemory.from(0), without.from(0));
});

test("a text that differs in any bit, or is shorter or longer, is another one", () => {
  const known = new EmbeddedTextCache(secret);
  const text = new SeededRandom(4).bytes(20_000);
  const list = new CutBlocks(64);
  assert.ok(add(list, text, known));
  for (let at = 0; at < text.length; at += 997) {
    const other = Buffer.from(text);
    other[at] = (other[at] ?? 0) ^ (1 << (at & 7));
    assert.ok(add(list, other, known), `bit of byte ${at}`);
  }
  assert.ok(add(list, text.subarray(1), known));
  assert.ok(add(list, text.subarray(0, -1), known));
  assert.ok(add(list, Buffer.concat([text, Buffer.alloc(1)]), known));
  assert.ok(!add(list, text, known));
});

test("what one session has seen no other knows: its time would tell", () => {
  const text = new SeededRandom(5).bytes(50_000);
  const list = new CutBlocks(64);
  for (const known of [new EmbeddedTextCache(secret), new EmbeddedTextCache(secret)]) assert.ok(add(list, text, known));
});

test("more texts than are remembered: some are cut again, none gets another's blocks", () => {
  const known = new EmbeddedTextCache(secret, 4);
  const random = new SeededRandom(6);
  const texts = Array.from({ length: 9 }, () => random.bytes(17_000));
  const withMemory = new CutBlocks(64);
  const without = new CutBlocks(64);
  for (const text of [...texts, ...texts.toReversed(), ...texts]) {
    add(withMemory, text, known);
    add(without, text);
  }
  assert.deepEqual(withMemory.from(0), without.from(0));
});
