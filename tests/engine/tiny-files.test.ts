/** Very many tiny files: less than a pack of bytes, and many records. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import type { ClientUnit, UploadTarget } from "../../packages/engine/src/backup/upload-target.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { withCalls } from "../../packages/engine/src/testing/target-doubles.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

const fileCount = 20_000;
/** Of a frame with as many slots as a frame can have: 16 bytes each, 4 more where the files have different lengths. */
const frameBlockListBytes = 4096 * 20;
const settings = { maxBlockListBytes: frameBlockListBytes, maxUnregisteredBytes: 16 * 1024 * 1024 };

function blockListBytes({ blockLists }: ClientUnit): number {
  return blockLists.reduce((bytes, { blockList }) => bytes + blockList.length, 0);
}

function localTarget({ vault, writer }: TestEnvironment): UploadTarget {
  return new LocalTarget({ access: vault, upload: "u", owner: hex(writer.id), authority: vault.authority });
}

function writeTinyFiles(from: string): void {
  mkdirSync(from);
  for (let i = 0; i < fileCount; i++) writeFileSync(path.join(from, `${i}.xml`), `<a>${i}</a>`);
  settleTimes(from);
}

test("tiny files are registered while the backup goes on: no unit has the block lists of all of them", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  writeTinyFiles(from);
  const env = await openTestEnvironment(new MemoryStore());
  const units: number[] = [];
  const local = localTarget(env);
  const target = withCalls(local, {
    register: (unit) => {
      units.push(blockListBytes(unit));
      return local.register(unit);
    },
  });
  const { snapshot } = await env.backup(from, { target, settings });
  const all = units.reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(all > fileCount * 16, `${all} bytes of block lists`);
  // Two packs in turn, each with what was sealed until it ended.
  const most = Math.max(...units);
  assert.ok(most < all / 2, `${most} of ${all} bytes of block lists in one unit`);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("a unit of tiny files that is refused ends the backup with that error", async (t) => {
  const from = path.join(scratch(t), "from");
  writeTinyFiles(from);
  const env = await openTestEnvironment(new MemoryStore());
  const target = withCalls(localTarget(env), { register: () => Promise.reject(new Error("refused")) });
  await assert.rejects(env.backup(from, { target, settings }), /refused/);
});
