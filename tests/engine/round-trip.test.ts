import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { findEntry } from "../../packages/engine/src/format/tree-reader.ts";
import { FileReader } from "../../packages/engine/src/restore/file-reader.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import { rootEntry } from "../../packages/engine/src/restore/root-entry.ts";
import {
  assertSameTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

test("a restore gives back every byte: small, large, sparse and empty files, links, unusual names", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  const bytes = seededBytes(5);
  mkdirSync(path.join(from, "alt", "boş"), { recursive: true });
  writeFileSync(path.join(from, "empty"), "");
  writeFileSync(path.join(from, "one"), "x");
  writeFileSync(path.join(from, "big.bin"), bytes(9_000_001));
  writeFileSync(path.join(from, "alt", "İşğı.xml"), "<a/>".repeat(20_000));
  writeFileSync(Buffer.concat([Buffer.from(from), Buffer.from([0x2f, 0xff, 0xfe, 0x41])]), "not utf-8");
  writeFileSync(path.join(from, "sparse"), "head");
  truncateSync(path.join(from, "sparse"), 5_000_000);
  symlinkSync("../nowhere", path.join(from, "alt", "link"));
  utimesSync(Buffer.concat([Buffer.from(from), Buffer.from([0x2f, 0xff, 0xfe, 0x41])]), 1, 1);
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot, warnings } = await env.backup(from);
  assert.deepEqual(warnings, []);
  const to = path.join(folder, "to");
  const result = await env.restore(snapshot, to);
  assert.deepEqual(result.failures, []);
  assert.equal(result.files, snapshot.files);
  assertSameTree(from, to);
});

test("any range of a file can be read without a restore and equals the same range of the file", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const big = Buffer.concat([
    Buffer.from(seededBytes(9)(700_000)),
    Buffer.alloc(300_000),
    Buffer.from(seededBytes(10)(100_000)),
  ]);
  writeFileSync(path.join(from, "big"), big);
  writeFileSync(path.join(from, "small"), big.subarray(0, 20_000));
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const files = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const reader = files.frames;
  const root = await rootEntry(reader, snapshot);
  for (const [name, bytes] of [
    ["big", big],
    ["small", big.subarray(0, 20_000)],
  ] as const) {
    const entry = await findEntry(reader, root.root, Buffer.from(name));
    assert.equal(entry?.type, "file");
    if (entry?.type !== "file") continue;
    for (const [offset, length] of [
      [0, bytes.length],
      [0, 1],
      [8191, 3],
      [699_990, 20],
      [bytes.length - 5, 100],
      [bytes.length, 5],
    ] as const) {
      const parts: Uint8Array[] = [];
      for await (const part of files.read(entry, { offset, length })) parts.push(part);
      assert.deepEqual(Buffer.concat(parts), bytes.subarray(offset, offset + length));
    }
  }
});
