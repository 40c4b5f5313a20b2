import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { runJob, type Task } from "../../bench/ofis/job.ts";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { sessionOfFrame } from "../../packages/engine/src/format/frame.ts";
import { allFrameRows } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import { openTestEnvironment, scratch } from "../../packages/engine/src/testing/test-environment.ts";

/** Block bytes that a snapshot's session stored. */
async function newBytes(env: TestEnvironment, snapshot: SnapshotRow): Promise<number> {
  let bytes = 0;
  for await (const row of allFrameRows(env.vault.catalog)) {
    if (row.kind !== "data" || sessionOfFrame(row.frame) !== snapshot.session) continue;
    bytes += decodeBlockList(row.blockList).lengths.reduce((sum, length) => sum + length, 0);
  }
  return bytes;
}

function make(root: string, at: string, task: Task) {
  return runJob(root, 11, { part: "oddities", path: at, task, mtime: 1_600_000_000, mode: 0o644, weight: 0 });
}

test("after an index rebuild of a third of a renamed database, little more than the moved pages is stored", async (t) => {
  const root = path.join(scratch(t), "from");
  mkdirSync(root);
  const database = { id: "LOGODB", firebirdPageBytes: 0, pages: 6400, stamp: "20260905" };
  make(root, "LOGODB_20260905.bak", { kind: "database", database });
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(root);
  env.ctx.advance(1000);
  const night = { day: 6, changed: 0, rebuilt: 0.33, grown: 0 };
  const tomorrow = { ...database, stamp: "20260906" };
  const task = { kind: "night", from: "LOGODB_20260905.bak", database: tomorrow, night } as const;
  const { changed } = make(root, "LOGODB_20260906.bak", task);
  const { snapshot } = await env.backup(root);
  const stored = await newBytes(env, snapshot);
  assert.ok(stored >= changed * 0.9 && stored <= changed * 1.08, `${stored} stored, ${changed} changed`);
});

test("a database that is added later is compressed better than in a first backup", async (t) => {
  const folder = scratch(t);
  const database = { id: "MIKRO", firebirdPageBytes: 0, pages: 1600, stamp: "20260905" };
  const storedAfter = async (root: string) => {
    const env = await openTestEnvironment(new MemoryStore());
    const cache = new FileCache(":memory:");
    t.after(() => cache.close());
    // A backup of an empty folder is a base too.
    if (root.endsWith("later")) await env.backup(root, { cache });
    env.ctx.advance(1000);
    make(root, "MIKRO_20260905.bak", { kind: "database", database });
    return (await env.backup(root, { cache })).snapshot.storedBytes;
  };
  const [first, later] = [path.join(folder, "first"), path.join(folder, "later")];
  for (const root of [first, later]) mkdirSync(root);
  const ratio = (await storedAfter(later)) / (await storedAfter(first));
  assert.ok(ratio < 0.95, `${ratio}`);
});

test("each style sheet is stored once, and of every other invoice little more than its own text", async (t) => {
  const root = path.join(scratch(t), "from");
  const issuers = 12;
  const count = 120;
  let sheets = 0;
  for (let i = 0; i < count; i++) {
    const ettn = `${i}`.padStart(8, "0");
    const invoice = { set: 60, issuer: i % issuers, ettn, date: "2026-09-01", number: ettn };
    const { size } = make(root, `${(i * 7919) % count}-${ettn}.xml`, { kind: "invoice", invoice });
    if (i < issuers) sheets += size;
  }
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(root);
  const stored = await newBytes(env, snapshot);
  // A style sheet is about 95 % of the smallest invoice; the rest of an invoice is at most 20 KB.
  assert.ok(stored < sheets + count * 20_000, `${stored} of ${snapshot.size}; the sheets are at most ${sheets}`);
});
