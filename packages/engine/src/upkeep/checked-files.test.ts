import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileEntry } from "../format/tree-entry.ts";
import { seededBytes } from "../testing/test-environment.ts";
import { CheckedFiles } from "./checked-files.ts";

function file(seed: number, more: Partial<FileEntry> = {}): FileEntry {
  const hash = seededBytes(seed)(32);
  return {
    ...{ type: "file", name: Buffer.from("x"), mode: 0, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0 },
    ...{ attributes: [], size: 10, hash, content: { kind: "empty" } },
    ...more,
  };
}

test("a file is known after it was added, whatever its name and times, and not with another size, hash or content", () => {
  const files = new CheckedFiles(1024 * 1024);
  const segment = { ordinal: 1, id: Buffer.alloc(32, 1) };
  const added = file(1, { content: { kind: "part", segment, first: 2, count: 3 } });
  assert.equal(files.has(added), false);
  files.add(added);
  assert.equal(files.has({ ...added, name: Buffer.from("y"), mtimeSeconds: 5 }), true);
  for (const other of [
    { ...added, size: 11 },
    { ...added, hash: Buffer.alloc(32, 9) },
    { ...added, content: { kind: "part", segment, first: 3, count: 3 } } as const,
    { ...added, content: { kind: "part", segment: { ...segment, ordinal: 2 }, first: 2, count: 3 } } as const,
  ])
    assert.equal(files.has(other), false);
});

test("files of many segments are told apart by each segment", () => {
  const files = new CheckedFiles(1024 * 1024);
  const segments = Array.from({ length: 60 }, (_, i) => ({ ordinal: i, id: Buffer.alloc(32, i), bytes: 1000 }));
  files.add(file(1, { content: { kind: "segments", segments } }));
  assert.equal(files.has(file(1, { content: { kind: "segments", segments: [...segments] } })), true);
  const other = segments.with(40, { ordinal: 40, id: Buffer.alloc(32, 99), bytes: 1000 });
  assert.equal(files.has(file(1, { content: { kind: "segments", segments: other } })), false);
});

test("files that do not fit are not known, and those that fit stay known while the set grows", () => {
  for (const [memoryBytes, least, most] of [
    [0, 0, 0],
    [100, 0, 1],
    [64 * 1024, 500, 1000],
    [1024 * 1024, 5000, 5000],
  ] as const) {
    const files = new CheckedFiles(memoryBytes);
    const all = Array.from({ length: 5000 }, (_, i) => file(i));
    for (const each of all) files.add(each);
    const known = all.filter((each) => files.has(each)).length;
    assert.ok(known >= least && known <= most, `${known} files in ${memoryBytes} bytes`);
  }
});
