/** Every check between a snapshot and a byte. Each test breaks one thing that only one check can find. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import type { Item } from "../../packages/engine/src/catalog/catalog.ts";
import { itemFrames } from "../../packages/engine/src/catalog/rules.ts";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { findEntry } from "../../packages/engine/src/format/tree-reader.ts";
import { FileReader } from "../../packages/engine/src/restore/file-reader.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import { resolveSegments } from "../../packages/engine/src/restore/resolve-segments.ts";
import { rootEntry } from "../../packages/engine/src/restore/root-entry.ts";
import {
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { dataFrames, replaceAllRecipes, storeFalseFrame } from "./testing/lying-client.ts";

async function prepare(t: { after(fn: () => void): void }) {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), seededBytes(71)(50_000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  return { env, snapshot };
}

test("a download returns no block that does not match its id", async (t) => {
  const { env, snapshot } = await prepare(t);
  const [victim] = await dataFrames(env);
  assert.ok(victim);
  const planted = await storeFalseFrame(env, decodeBlockList(victim.blockList));
  await replaceAllRecipes(env, (run) => (run.frame === victim.frame ? { ...run, frame: planted } : run));
  const files = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const entry = await findEntry(files.frames, (await rootEntry(files.frames, snapshot)).root, Buffer.from("a"));
  assert.ok(entry?.type === "file");
  await assert.rejects(async () => {
    for await (const part of files.read(entry)) assert.fail(`${part.length} wrong bytes`);
  }, /slot 0 does not match its id/);
});

test("restore and download find a recipe that gives other blocks than those of its segment", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (const [i, name] of ["a", "b"].entries()) writeFileSync(path.join(from, name), seededBytes(80 + i)(300_000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const segments: Item[] = [];
  for await (const item of env.vault.catalog.allItems()) if (item.kind === "segment") segments.push(item);
  const [one, two, ...more] = segments;
  assert.ok(one !== undefined && two !== undefined && more.length === 0, "a segment each");
  // Every block matches the block list, and the files have the same length. Only the segment id differs.
  const swapped = [
    { ...one, recipe: two.recipe },
    { ...two, recipe: one.recipe },
  ];
  const nothing = { packs: [], header: Buffer.alloc(0), frames: [], hooks: [], follows: [] };
  await env.vault.catalog.addRebuilt({ unit: { ...nothing, items: swapped } });
  const restored = await env.restore(snapshot, path.join(folder, "to"));
  assert.deepEqual([restored.failures.length, restored.files], [2, 0]);
  for (const { reason } of restored.failures) assert.match(reason, /a recipe has other blocks than its segment/);
  const files = new FileReader({ port: new LocalReadPort(env.vault), pool: inlineRestorePool });
  const entry = await findEntry(files.frames, (await rootEntry(files.frames, snapshot)).root, Buffer.from("a"));
  assert.ok(entry?.type === "file");
  await assert.rejects(async () => {
    for await (const part of files.read(entry)) assert.fail(`${part.length} wrong bytes`);
  }, /a recipe has other blocks than its segment/);
});

test("a segment is marked as verified only if all its frames are intact, also those that no file of the snapshot needs", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const write = (name: string, seed: number) => writeFileSync(path.join(from, name), seededBytes(seed)(1900));
  const env = await openTestEnvironment(new MemoryStore());
  const { catalog, store, names } = env.vault;
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const backup = async (more = {}) => {
    env.ctx.advance(1000);
    return (await env.backup(from, more)).snapshot;
  };
  write("a", 82);
  settleTimes(from);
  await backup();
  // A segment of both files: the block of the first is in a frame of the backup before.
  write("b", 83);
  settleTimes(from);
  await backup({ cache });
  rmSync(path.join(from, "b"));
  // The file cache has the remaining file as a part of the segment that held both.
  const snapshot = await backup({ cache });
  const [used, unused, ...others] = await dataFrames(env);
  assert.ok(used !== undefined && unused !== undefined && others.length === 0, "a frame for each file");
  const items = await Array.fromAsync(catalog.allItems());
  const bundle = items.find((item) => itemFrames(item).length === 2);
  const verify = async () => {
    const options = { pool: inlineRestorePool, vault: env.vault, snapshots: [snapshot], readData: true };
    const { findings, damagedFrames } = await verifySnapshots(options);
    const [item] = await catalog.itemsByOrdinal([bundle?.ordinal ?? 0]);
    return { findings, damaged: damagedFrames.map(({ frame }) => frame), verified: item?.verified };
  };
  const whole = await store.get(names.pack(unused.pack));
  const bad = Buffer.from(whole);
  bad[unused.offset + 60] = (bad[unused.offset + 60] ?? 0) ^ 1;
  await store.put(names.pack(unused.pack), bad);
  // Nothing of this snapshot is wrong.
  assert.deepEqual(await verify(), { findings: [], damaged: [unused.frame], verified: false });
  await store.put(names.pack(unused.pack), whole);
  assert.deepEqual(await verify(), { findings: [], damaged: [], verified: true });
});

test("a resolved segment holds for one id of its ordinal only, in any order of calls", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), seededBytes(12)(300_000));
  settleTimes(from);
  const { vault, backup } = await openTestEnvironment(new MemoryStore());
  await backup(from);
  for await (const { kind, ordinal, id } of vault.catalog.allItems()) {
    if (kind !== "segment") continue;
    const own = { ordinal, id };
    const other = { ordinal, id: Buffer.alloc(32, 1) };
    for (const asked of [
      [own, other],
      [other, own],
    ]) {
      const answers = await resolveSegments(vault.catalog, vault.keys.blockIdKey, asked);
      for (const [i, answer] of answers.entries())
        if (asked[i] === own) assert.notEqual(typeof answer, "string");
        else assert.equal(answer, "a segment is not stored");
    }
  }
});
