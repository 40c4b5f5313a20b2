import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { test } from "node:test";
import { isDense, isDenseAllOver } from "./density.ts";

/** Bytes without any pattern, the same in every run. */
function noise(length: number): Buffer {
  return createCipheriv("aes-256-ctr", Buffer.alloc(32, 3), Buffer.alloc(16)).update(Buffer.alloc(length));
}

test("random bytes are dense at any length that can be judged, base64 and text never are", () => {
  for (const length of [512, 700, 1024, 1500, 100_000]) {
    assert.equal(isDense(noise(length)), true, `${length}`);
    assert.equal(isDense(Buffer.from(noise(length).toString("base64"))), false, `base64 of ${length}`);
    assert.equal(isDense(Buffer.alloc(length, "Fatura No 2026, tutar 1.250,00 TL; ")), false, `text of ${length}`);
  }
});

test("what is too short to be judged is not dense", () => {
  for (const length of [0, 1, 511]) {
    assert.equal(isDense(noise(length)), false);
    assert.equal(isDenseAllOver(noise(length)), false);
  }
});

test("one compressible end, or the middle, is enough for the whole not to be dense", () => {
  const length = 300_000;
  assert.equal(isDenseAllOver(noise(length)), true);
  for (const at of [0, length / 2 - 1024, length - 2048]) {
    const bytes = noise(length);
    bytes.fill(0x20, at, at + 2048);
    assert.equal(isDenseAllOver(bytes), false, `${at}`);
  }
});
