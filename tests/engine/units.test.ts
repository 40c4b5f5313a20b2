import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
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

/** A tree whose cache has directories of one part and of several, and what changes in each of them. */
function cachedTree(t: TestContext) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  const write = (directory: string, file: number, text: string) =>
    writeFileSync(path.join(from, directory, `fatura-2026-${String(file).padStart(6, "0")}.xml`), text);
  const directories = ["a", "büyük", "c"];
  for (const directory of directories) {
    mkdirSync(path.join(from, directory), { recursive: true });
    for (let file = 0; file < (directory === "büyük" ? 1500 : 20); file++)
      write(directory, file, `${directory}${file}`);
  }
  settleTimes(from);
  const change = (text: string) => {
    for (const directory of directories) write(directory, 7, text);
  };
  const cachePath = path.join(folder, "cache.sqlite");
  const cache = new FileCache(cachePath);
  const database = new DatabaseSync(cachePath);
  t.after(() => {
    cache.close();
    database.close();
  });
  const restored = async (env: TestEnvironment, snapshot: Parameters<TestEnvironment["restore"]>[0], name: string) => {
    const to = path.join(folder, name);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
  };
  return { from, change, cache, database, restored };
}

/** Where a cache can fail: as SQLite reports it, and as it is when SQLite ends the transaction too. */
const cacheFailures = ["insert on parts", "insert on new_directories", "delete on directories", "insert on about"];

for (const [event, action] of cacheFailures.flatMap((at) => ["fail", "rollback"].map((how) => [at, how] as const))) {
  test(`a cache that cannot be written in the middle does not end a backup (${event}, ${action})`, async (t) => {
    const { from, change, cache, database, restored } = cachedTree(t);
    const env = await openTestEnvironment(new MemoryStore());
    await env.backup(from, { cache });
    env.ctx.advance(1000);
    change("second");
    database.exec(
      `create trigger failing before ${event} begin select raise(${action}, 'database or disk is full'); end`,
    );
    const { snapshot, cacheError, unchanged } = await env.backup(from, { cache });
    assert.match(cacheError?.message ?? "", /disk is full/);
    assert.equal(unchanged, 1537, "what the cache knows is not read");
    await restored(env, snapshot, "second");
    database.exec("drop trigger failing");
    env.ctx.advance(1000);
    change("third");
    const next = await env.backup(from, { cache });
    assert.deepEqual([next.cacheError, next.unchanged], [null, 1537], "the cache of the first backup is as it was");
    await restored(env, next.snapshot, "third");
  });
}

test("after a failure nothing more is written to a cache: SQLite has ended the transaction", async (t) => {
  const { from, change, cache, database } = cachedTree(t);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from, { cache });
  const rows = () => [
    database.prepare("select directory, run, part from parts order by 1, 2, 3").all(),
    database.prepare("select directory from new_directories").all(),
  ];
  const before = rows();
  // The second of three directories fails.
  database.exec(
    "create trigger failing before insert on parts when new.part = 1 begin select raise(rollback, 'database or disk is full'); end",
  );
  env.ctx.advance(1000);
  change("second");
  assert.match((await env.backup(from, { cache })).cacheError?.message ?? "", /disk is full/);
  assert.deepEqual(rows(), before);
});

test("a backup goes on where its cache cannot find directories any more", async (t) => {
  const { from, cache, database, restored } = cachedTree(t);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from, { cache });
  database.exec("alter table directories rename to hidden");
  env.ctx.advance(1000);
  const { snapshot, cacheError } = await env.backup(from, { cache });
  assert.match(cacheError?.message ?? "", /no such table/);
  await restored(env, snapshot, "to");
});

test("a first backup goes on where its cache cannot be emptied", async (t) => {
  const { from, cache, database, restored } = cachedTree(t);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from, { cache });
  database.exec("update about set value = 'another' where name = 'generation'");
  database.exec(
    "create trigger failing before delete on parts begin select raise(rollback, 'database or disk is full'); end",
  );
  env.ctx.advance(1000);
  const { snapshot, cacheError, unchanged } = await env.backup(from, { cache });
  assert.match(cacheError?.message ?? "", /disk is full/);
  assert.equal(unchanged, 0);
  await restored(env, snapshot, "to");
});

for (const part of [0, 1, 2]) {
  test(`a cache that lacks part ${part} of a directory costs one backup time, and is replaced by the next one`, async (t) => {
    const { from, change, cache, database, restored } = cachedTree(t);
    const env = await openTestEnvironment(new MemoryStore());
    await env.backup(from, { cache });
    assert.equal(database.prepare("delete from parts where part = ?").run(part).changes, part === 0 ? 3 : 1);
    env.ctx.advance(1000);
    change("second");
    const { snapshot, cacheError } = await env.backup(from, { cache });
    assert.match(cacheError?.message ?? "", /lacks a part/);
    await restored(env, snapshot, "second");
    env.ctx.advance(1000);
    const full = await env.backup(from, { cache });
    assert.deepEqual([full.cacheError, full.unchanged], [null, 0]);
    env.ctx.advance(1000);
    assert.equal((await env.backup(from, { cache })).unchanged, 1540);
  });
}

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
