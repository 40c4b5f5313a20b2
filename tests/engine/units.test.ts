import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore, openFileStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import { readStoredPack } from "../../packages/engine/src/backup/stored-pack.ts";
import type { ClientUnit, UploadTarget } from "../../packages/engine/src/backup/upload-target.ts";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import { framesNeededBy } from "../../packages/engine/src/catalog/rules.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { withCalls } from "../../packages/engine/src/testing/target-doubles.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";

/** A target that stores packs slowly, and calls `onUnit` before it registers a unit. */
function slowTarget(env: TestEnvironment, onUnit: (unit: ClientUnit) => void | Promise<void>): UploadTarget {
  const { vault, writer } = env;
  const local = new LocalTarget({ access: vault, upload: "u", owner: hex(writer.id), authority: vault.authority });
  return withCalls(local, {
    putPack: async (name, body) => {
      // Long enough for the tree writer to go on while a pack is stored.
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      await local.putPack(name, body);
    },
    register: async (unit) => {
      await onUnit(unit);
      return local.register(unit);
    },
  });
}

/** The frames of a stored pack. */
async function framesOf({ vault }: TestEnvironment, name: string) {
  const identity = { vaultId: vault.keys.vaultId, authorityPublicKey: vault.authority.publicKey };
  return (await readStoredPack(vault.store, vault.names.pack(name), name, identity)).frames;
}

test("nothing is registered before its pack is durable: a crash leaves no item without its frames", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  // One long sequence of random bytes: generating it by the kilobyte would take longer than the backup.
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 31), Buffer.alloc(16)).update(Buffer.alloc(15_000_000));
  let at = 0;
  for (let d = 0; d < 60; d++) {
    mkdirSync(path.join(from, `d${d}`), { recursive: true });
    for (let f = 0; f < 40; f++) {
      writeFileSync(path.join(from, `d${d}`, `f${f}`), noise.subarray(at, at + 6000));
      at += 6000;
    }
  }
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const durable = new Set<number>();
  let units = 0;
  const target = slowTarget(env, async ({ packs, items }) => {
    units++;
    for (const name of packs) for (const { frame } of await framesOf(env, name)) durable.add(frame);
    for (const item of items)
      for (const frame of framesNeededBy(item)) assert.ok(durable.has(frame), `unit ${units}: item ${item.ordinal}`);
  });
  const settings = { packBytes: 60_000, unitBytes: 120_000 };
  const { snapshot } = await env.backup(from, { target, settings });
  assert.ok(units > 3, `${units} units`);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("if the file cache cannot be written, the snapshot stays and the next backup uses no cache", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), seededBytes(32)(5000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const commit = t.mock.method(cache, "commit", () => {
    throw new Error("disk full");
  });
  const { snapshot, cacheError } = await env.backup(from, { cache });
  assert.match(cacheError?.message ?? "", /disk full/);
  assert.deepEqual(
    (await listSnapshots(env.vault.catalog)).map(({ id }) => id),
    [snapshot.id],
  );
  commit.mock.restore();
  env.ctx.advance(1000);
  const next = await env.backup(from, { cache });
  assert.deepEqual([next.cacheError, next.unchanged], [null, 0]);
  env.ctx.advance(1000);
  assert.equal((await env.backup(from, { cache })).unchanged, 1);
});

test("a backup that fails in the middle leaves no half pack, and the next one with the same worker pool works", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const noise = seededBytes(33);
  for (let i = 0; i < 40; i++) writeFileSync(path.join(from, `f${i}`), noise(200_000));
  settleTimes(from);
  const root = path.join(folder, "store");
  const store = await openFileStore({ root, now: Date.now, randomBytes: seededBytes(34) });
  const env = await openTestEnvironment(store);
  const failing = slowTarget(env, () => {
    throw new Error("the catalog is gone");
  });
  const settings = { packBytes: 400_000, unitBytes: 800_000 };
  await assert.rejects(env.backup(from, { target: failing, settings }), /the catalog is gone/);
  assert.deepEqual(readdirSync(path.join(root, ".tmp")), []);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from);
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "to"))).failures, []);
});

test("a backup that cannot begin leaves the file cache usable", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const env = await openTestEnvironment(new MemoryStore());
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const keys = { ...env.vault.keys, publicKey: Buffer.alloc(3) };
  await assert.rejects(env.backup(from, { cache, keys }), RangeError);
  assert.equal((await env.vault.catalog.sessions()).running.length, 0);
  assert.equal((await env.backup(from, { cache })).cacheError, null);
});

test("a backup of very many directories without files registers their nodes in parts", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  for (let d = 0; d < 8300; d++) mkdirSync(path.join(from, `d${d}`, `e${d}`), { recursive: true });
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const items: number[] = [];
  const target = slowTarget(env, (unit) => void items.push(unit.items.length));
  const { snapshot } = await env.backup(from, { target });
  assert.ok(Math.max(...items) <= 8192, `${items.join(" ")} items in a unit`);
  assert.ok(items.length > 1);
  const report = await verifySnapshots({
    pool: inlineRestorePool,
    vault: env.vault,
    snapshots: [snapshot],
    readData: true,
  });
  assert.deepEqual(report.findings, []);
});
