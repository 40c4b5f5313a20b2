import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { assertSameTree, openLab, scratch, seededBytes } from "../src/testing/lab.ts";

test("what was backed up comes back byte for byte: small, large, sparse, empty, links, odd names", async (t) => {
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
  const lab = await openLab(new MemoryStore());
  const { snapshot, warnings } = await lab.backup(from);
  assert.deepEqual(warnings, []);
  const to = path.join(folder, "to");
  const result = await lab.restore(snapshot, to);
  assert.deepEqual(result.failures, []);
  assert.equal(result.files, snapshot.files);
  assertSameTree(from, to);
});
