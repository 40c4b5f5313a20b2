import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteReader, ByteWriter, FormatError } from "./bytes.ts";
import { readFields, UnknownKindError, writeFields } from "./fields.ts";

function encoded(fields: readonly (readonly [number, Uint8Array | null])[]): Buffer {
  const writer = new ByteWriter();
  writeFields(writer, fields);
  return writer.take();
}

test("a field that a reader does not know is skipped by its length", () => {
  const bytes = encoded([
    [9, Buffer.from("of a later version")],
    [1, Buffer.from("known")],
    [2, null],
  ]);
  const reader = new ByteReader(bytes);
  const fields = readFields(reader);
  reader.done();
  assert.equal(Buffer.from(fields.get(1) ?? []).toString(), "known");
  assert.deepEqual([...fields.keys()], [1, 9]);
});

test("a repeated field, fields out of order, too many fields and a truncated field are refused", () => {
  const repeated = new ByteWriter().varint(2).varint(1).bytes(Buffer.alloc(1)).varint(1).bytes(Buffer.alloc(1)).take();
  const unordered = new ByteWriter().varint(2).varint(2).bytes(Buffer.alloc(1)).varint(1).bytes(Buffer.alloc(1)).take();
  const tooMany = new ByteWriter().varint(65).raw(Buffer.alloc(200)).take();
  const short = encoded([[1, Buffer.alloc(9)]]).subarray(0, 8);
  for (const bytes of [repeated, unordered, tooMany, short])
    assert.throws(() => readFields(new ByteReader(bytes)), FormatError);
});

test("an unknown kind is named", () => {
  const error = new UnknownKindError("slot", 7);
  assert.ok(error instanceof FormatError);
  assert.equal(error.message, "slot kind 7 is not known to this version");
});
