import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { test } from "node:test";
import { blockId, digestBlock, digestBlocks, digestLength, keyBlockIds, sha256 } from "./hash.ts";

const key = Buffer.alloc(32, 5);

test("a block id depends on every bit of the digest and on the key", () => {
  const digest = sha256(Buffer.from("a block"));
  const id = keyBlockIds(key, digest);
  for (let bit = 0; bit < 256; bit++) {
    const other = Buffer.from(digest);
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.notDeepEqual(keyBlockIds(key, other), id, `bit ${bit}`);
  }
  assert.notDeepEqual(keyBlockIds(Buffer.alloc(32, 6), digest), id);
});

test("a block id is AES-256-CBC-MAC of the block's SHA-256, alone or in a list", () => {
  const blocks = Array.from({ length: 9 }, (_, i) => Buffer.from(`block ${i}`));
  const digests = Buffer.alloc(blocks.length * digestLength);
  for (const [i, block] of blocks.entries()) digestBlock(block, digests, i);
  const ids = keyBlockIds(key, digests);
  for (const [i, block] of blocks.entries()) {
    const cbc = createCipheriv("aes-256-cbc", key, Buffer.alloc(16)).setAutoPadding(false);
    const mac = cbc.update(sha256(block)).subarray(16);
    assert.deepEqual(ids.subarray(i * 16, (i + 1) * 16), mac);
    assert.deepEqual(blockId(key, block), mac);
  }
});

test("consecutive blocks have the same digests together and one by one", () => {
  const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i) & 0xff));
  const ends = Uint32Array.of(12, 13, 900, 4999);
  const together = Buffer.alloc(6 * digestLength, 0xee);
  digestBlocks(bytes, 10, ends, ends.length, together, 1);
  const single = Buffer.alloc(6 * digestLength, 0xee);
  for (const [i, end] of ends.entries()) digestBlock(bytes.subarray(i === 0 ? 10 : ends[i - 1], end), single, i + 1);
  assert.deepEqual(together, single);
});

test("ids do not depend on the memory alignment of the digests", () => {
  const digests = Buffer.concat([sha256(Buffer.from("a")), sha256(Buffer.from("b"))]);
  const memory = Buffer.alloc(digests.length + 3);
  for (let shift = 0; shift < 4; shift++) {
    const moved = memory.subarray(shift, shift + digests.length);
    moved.set(digests);
    assert.deepEqual(keyBlockIds(key, moved), keyBlockIds(key, digests));
  }
});
