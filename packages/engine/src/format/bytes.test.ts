import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ByteReader, ByteWriter, varintAt, varintLength } from "./bytes.ts";

test("a varint is read the same with and without a reader, and has the length that varintLength returns", () => {
  const edges = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER];
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(...edges), fc.maxSafeNat()), fc.nat(9), (value, before) => {
      const written = new ByteWriter().raw(Buffer.alloc(before, 0xff)).varint(value).u8(0xff).view();
      assert.equal(new ByteReader(written, before).varint(), value);
      assert.equal(varintAt(written, before), value);
      assert.equal(varintLength(value), written.length - before - 1);
    }),
    { seed: 6, numRuns: 500 },
  );
});
