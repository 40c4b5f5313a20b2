import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { test } from "node:test";
import { areAllSamplesIncompressible, isIncompressible } from "./compressibility.ts";

/** Bytes without any pattern, the same in every run. */
function noise(length: number): Buffer {
  return createCipheriv("aes-256-ctr", Buffer.alloc(32, 3), Buffer.alloc(16)).update(Buffer.alloc(length));
}

test("random bytes of every sufficient length are incompressible; base64 and text are not", () => {
  for (const length of [512, 700, 1024, 1500, 100_000]) {
    assert.equal(isIncompressible(noise(length)), true, `${length}`);
    assert.equal(isIncompressible(Buffer.from(noise(length).toString("base64"))), false, `base64 of ${length}`);
    assert.equal(
      isIncompressible(Buffer.alloc(length, "Fatura No 2026, tutar 1.250,00 TL; ")),
      false,
      `text of ${length}`,
    );
  }
});

test("bytes that are too short for a sample count as compressible", () => {
  for (const length of [0, 1, 511]) {
    assert.equal(isIncompressible(noise(length)), false);
    assert.equal(areAllSamplesIncompressible(noise(length)), false);
  }
});

test("bytes with a compressible start, middle or end are not incompressible as a whole", () => {
  const length = 300_000;
  assert.equal(areAllSamplesIncompressible(noise(length)), true);
  for (const at of [0, length / 2 - 1024, length - 2048]) {
    const bytes = noise(length);
    bytes.fill(0x20, at, at + 2048);
    assert.equal(areAllSamplesIncompressible(bytes), false, `${at}`);
  }
});
