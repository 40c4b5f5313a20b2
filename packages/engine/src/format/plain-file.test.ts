import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { PlainFile } from "./plain-file.ts";
import type { FileContent, FileEntry, TreeEntry } from "./tree-entry.ts";
import { readEntry, writeContent, writeEntry } from "./tree-entry.ts";

const id = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const ordinal = fc.nat(2 ** 30);
const content: fc.Arbitrary<FileContent> = fc.oneof(
  fc.constant({ kind: "empty" as const }),
  fc.record({
    kind: fc.constant("segments" as const),
    segments: fc.array(fc.record({ ordinal, id, bytes: fc.nat() }), { maxLength: 5 }),
  }),
  fc.record({ kind: fc.constant("list" as const), root: fc.record({ ordinal, id }), depth: fc.nat(3) }),
  fc.record({
    kind: fc.constant("part" as const),
    segment: fc.record({ ordinal, id }),
    first: fc.nat(5000),
    count: fc.nat(300),
  }),
);
const stat = {
  name: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  ...{ mode: fc.nat(0o177777), uid: fc.nat(), gid: fc.nat() },
  ...{ mtimeSeconds: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }), mtimeNanos: fc.nat(999_999_999) },
  attributes: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constant([[Buffer.from("a"), Buffer.from("b")] as const]) },
  ),
};
const file: fc.Arbitrary<FileEntry> = fc.record({
  ...stat,
  ...{ type: fc.constant("file" as const), size: fc.nat({ max: 2 ** 31 - 1 }), hash: id, content },
  sha256: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: id }),
});
const entry: fc.Arbitrary<TreeEntry> = fc.oneof(
  { weight: 4, arbitrary: file },
  { weight: 1, arbitrary: fc.record({ ...stat, type: fc.constant("link" as const), target: id }) },
);

const seed = { seed: 640, numRuns: 500 };

/** Bytes before the entry: its offset in a node is not zero. */
const before = 5;

function encoded(of: TreeEntry): Buffer {
  const writer = new ByteWriter().raw(Buffer.alloc(before, 0xff));
  writeEntry(writer, of);
  return writer.take();
}

function isPlain(of: TreeEntry): of is FileEntry {
  return of.type === "file" && of.content.kind !== "list" && of.attributes.length === 0 && of.sha256 === undefined;
}

test("the places of a plain file's parts are those that decoding reads; any other entry is left to decoding", () => {
  const found = new PlainFile();
  let plain = 0;
  fc.assert(
    fc.property(entry, (of) => {
      const node = Buffer.concat([encoded(of), Buffer.from([7, 7])]);
      assert.equal(found.read(node, before), isPlain(of));
      if (!isPlain(of)) return;
      plain++;
      const writer = new ByteWriter().varint(of.size).raw(of.hash);
      writeContent(writer, of.content);
      assert.deepEqual(node.subarray(found.nameStart, found.nameEnd), Buffer.from(of.name));
      assert.deepEqual(node.subarray(found.contentStart, found.contentEnd), writer.take());
      assert.equal(found.end, node.length - 2);
      const { content: has } = of;
      const segments = has.kind === "segments" ? has.segments : has.kind === "part" ? [has.segment] : [];
      assert.deepEqual(
        found.ordinals,
        segments.map((each) => each.ordinal),
      );
    }),
    seed,
  );
  assert.ok(plain > 100, `${plain} plain files`);
});

test("bytes that decoding refuses are never a plain file, wherever they end and whatever bit changes", () => {
  const found = new PlainFile();
  fc.assert(
    fc.property(file, fc.nat(), fc.nat(7), (of, place, bit) => {
      const whole = encoded(of);
      const cut = whole.subarray(0, before + (place % (whole.length - before)));
      assert.equal(found.read(cut, before), false);
      const at = before + (place % (whole.length - before));
      whole.writeUInt8(whole.readUInt8(at) ^ (1 << bit), at);
      if (!found.read(whole, before)) return;
      const reader = new ByteReader(whole, before);
      const read = readEntry(reader);
      assert.ok(isPlain(read));
      assert.equal(found.end, reader.at);
    }),
    seed,
  );
});
