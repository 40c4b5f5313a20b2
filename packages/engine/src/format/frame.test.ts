import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { test } from "node:test";
import { constants, zstdCompressSync } from "node:zlib";
import { compressBound, compressionOf, windowLogOf } from "./frame.ts";

test("the window covers a frame, except the block list that follows the blocks of a full one", () => {
  for (const blocks of [1 << 20, 2 << 20]) {
    assert.equal(1 << windowLogOf(blocks), blocks);
    assert.equal(1 << windowLogOf(blocks + 4096), blocks);
    assert.equal(1 << windowLogOf(blocks + blocks / 8), blocks * 2);
  }
  for (let length = 1; length < 8_000_000; length = Math.ceil(length * 1.3))
    assert.ok(2 ** windowLogOf(length) * (1 + 1 / 16) >= length, `${length}`);
});

test("windows are never larger than readers allow", () => {
  assert.equal(windowLogOf(0), 14);
  assert.equal(windowLogOf(16 * 1024 * 1024), 23);
});

test("bytes that do not compress fit the bound at any length", () => {
  const cipher = createCipheriv("aes-256-ctr", Buffer.alloc(32, 3), Buffer.alloc(16));
  const noise = cipher.update(Buffer.alloc(400_000));
  const params = { [constants.ZSTD_c_compressionLevel]: 1 };
  for (const length of [0, 1, 100, 4096, 131_071, 131_072, 400_000])
    assert.ok(zstdCompressSync(noise.subarray(0, length), { params }).length <= compressBound(length), `${length}`);
});

test("a frame of pages has a small window, a frame of text one that covers it", () => {
  const windowOf = (length: number) => compressionOf(length)[constants.ZSTD_c_windowLog];
  assert.equal(windowOf((1 << 20) + 2100), 18);
  assert.equal(windowOf(300_000), 18);
  assert.equal(windowOf((2 << 20) + 5000), 21);
  assert.equal(windowOf(100_000), 17);
});
