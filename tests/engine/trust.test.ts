import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { encodeChainRecord } from "../../packages/engine/src/format/chain.ts";
import { acceptManifest } from "../../packages/engine/src/format/manifest.ts";
import { PackBuilder } from "../../packages/engine/src/format/pack.ts";
import { openContentKey, parseSessionHeader, startSession } from "../../packages/engine/src/format/session-header.ts";
import { signerFromSeed } from "../../packages/engine/src/format/signing.ts";
import { noRetention } from "../../packages/engine/src/format/snapshot.ts";
import {
  createVaultKeys,
  unwrapVaultKeys,
  wrapVaultKeys,
  writerKeys,
} from "../../packages/engine/src/format/vault-keys.ts";
import { authorityWriter } from "../../packages/engine/src/format/writer-registration.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  masterKey,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
  testEnvironmentOf,
  vaultId,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { recover } from "../../packages/engine/src/upkeep/recover.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { deleteSnapshot, setRetention } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { createVault, identityOf, openVault, repairKeys, rewrapVault } from "../../packages/engine/src/vault.ts";

async function prepare(t: {
  after(fn: () => void): void;
}): Promise<{ folder: string; from: string; store: MemoryStore; env: TestEnvironment }> {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const bytes = seededBytes(31);
  for (let i = 0; i < 4; i++) writeFileSync(path.join(from, `gizli-${i}`), bytes(10_000));
  settleTimes(from);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store, { catalog: new MemoryCatalog(testContext(8)) });
  return { folder, from, store, env };
}

async function namesUnder(store: MemoryStore, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of store.list(prefix)) names.push(name);
  return names;
}

// Who can decrypt.
test("a writer with the public key and the block-id key makes a snapshot that the reader opens", async (t) => {
  const { folder, from, store, env } = await prepare(t);
  const own = writerKeys(env.vault.keys);
  assert.deepEqual(Object.keys(own).sort(), ["blockIdKey", "epoch", "publicKey", "vaultId"]);
  const { snapshot } = await env.backup(from, { keys: own });
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
  assert.ok((await namesUnder(store, "vaults/")).length > 0);
});

test("what a writer keeps between sessions (keys, file cache) decrypts none of its sessions", async (t) => {
  const { folder, from, env } = await prepare(t);
  const cacheFile = path.join(folder, "cache.sqlite");
  const cache = new FileCache(cacheFile);
  const { snapshot } = await env.backup(from, { cache });
  cache.close();
  const session = await env.vault.catalog.session(snapshot.session);
  assert.ok(session);
  const header = parseSessionHeader(session.header);
  const contentKey = Buffer.from(openContentKey(env.vault.keys, header));
  const kept = Buffer.concat(
    readdirSync(folder)
      .filter((name) => name.startsWith("cache"))
      .map((name) => readFileSync(path.join(folder, name))),
  );
  for (const secret of [contentKey, ...env.vault.keys.privateSeeds.values(), env.vault.keys.authoritySeed]) {
    assert.equal(kept.includes(secret), false);
  }
  const own = writerKeys(env.vault.keys);
  for (const seed of [own.blockIdKey, own.publicKey.subarray(0, 32)])
    assert.throws(() => openContentKey({ privateSeeds: new Map([[1, seed]]) }, header), /commitment/);
});

test("no file name and no content is readable in the store", async (t) => {
  const { from, store, env } = await prepare(t);
  writeFileSync(path.join(from, "acik.txt"), "beyanname ".repeat(100));
  await env.backup(from, { sourceName: "muhasebe-sunucusu" });
  for (const name of await namesUnder(store, "vaults/")) {
    const bytes = Buffer.from(await store.get(name));
    for (const word of ["gizli-0", "beyanname", "muhasebe-sunucusu"]) assert.equal(bytes.includes(word), false, name);
  }
});

test("a key object opens only with its master key, not with a changed byte; after re-wrapping all content is readable", async (t) => {
  const { folder, from, store, env } = await prepare(t);
  const { snapshot } = await env.backup(from);
  const object = await store.get(env.vault.names.keyObject(1));
  assert.throws(() => unwrapVaultKeys(Buffer.alloc(32, 1), object), /do not open/);
  for (const at of [0, 9, 40, 1300, object.length - 1]) {
    const bad = Buffer.from(object);
    bad[at] = (bad[at] ?? 0) ^ 1;
    assert.throws(() => unwrapVaultKeys(masterKey, bad));
  }
  const packs = await namesUnder(store, env.vault.names.packs);
  const next = Buffer.alloc(32, 99);
  await rewrapVault(env.vault, next);
  const { ctx, catalog } = env.vault;
  await assert.rejects(openVault({ ctx, store, catalog }, masterKey, vaultId), /do not open/);
  const reopened = await openVault({ ctx, store, catalog }, next, vaultId);
  assert.deepEqual(await namesUnder(store, env.vault.names.packs), packs);
  assert.deepEqual(
    (await testEnvironmentOf(env.ctx, reopened, env.writer).restore(snapshot, path.join(folder, "to"))).failures,
    [],
  );
});

test("with a damaged or missing key object the copy opens the vault, scrub reports it, and repair restores it", async (t) => {
  const { from, store, env } = await prepare(t);
  await env.backup(from);
  const { ctx, catalog, names } = env.vault;
  const keyFindings = async () =>
    (await scrub({ ...env.vault, identity: identityOf(env.vault) })).keys.map(({ name }) => name);
  const good = Buffer.from(await store.get(names.keyObject(1)));
  assert.deepEqual(await keyFindings(), []);
  for (const name of [names.keyObject(1), names.keyCopy(1)]) {
    for (const at of [0, 20, 500, 1300, good.length - 1, -1]) {
      const bad = Buffer.from(good);
      if (at < 0) await store.delete(name);
      else {
        bad[at] = (bad[at] ?? 0) ^ 1;
        await store.put(name, bad);
      }
      const refused: string[] = [];
      const vault = await openVault({ ctx, store, catalog }, masterKey, vaultId, (each) => refused.push(each));
      assert.deepEqual(refused, at < 0 ? [] : [name]);
      assert.ok((await keyFindings()).includes(name), `${name} ${at}`);
      assert.deepEqual(await repairKeys(vault, masterKey), [name]);
      await store.put(name, good);
      assert.deepEqual(await keyFindings(), []);
    }
  }
});

test("a false key object does not keep the vault closed; a crash between the two writes of re-wrapping leaves a key object that opens", async (t) => {
  const { store, env } = await prepare(t);
  const { ctx, catalog, names } = env.vault;
  const good = Buffer.from(await store.get(names.keyObject(1)));
  await store.put(names.keyObject(99_999_999), Buffer.alloc(good.length, 1));
  const refused: string[] = [];
  await openVault({ ctx, store, catalog }, masterKey, vaultId, (name) => refused.push(name));
  assert.deepEqual(refused, [names.keyObject(99_999_999)]);
  await store.delete(names.keyObject(99_999_999));
  const next = Buffer.alloc(32, 98);
  await rewrapVault(env.vault, next);
  await store.put(names.keyObject(1), good);
  for (const key of [masterKey, next]) await openVault({ ctx, store, catalog }, key, vaultId);
  assert.deepEqual(await repairKeys(env.vault, next), [names.keyObject(1)]);
  await assert.rejects(openVault({ ctx, store, catalog }, masterKey, vaultId), /do not open/);
});

test("two vaults have different block-id keys, and a key object differs each time it is written", () => {
  const ctx = testContext(4);
  const [a, b] = [createVaultKeys(ctx, Buffer.alloc(16, 1)), createVaultKeys(ctx, Buffer.alloc(16, 2))];
  assert.notDeepEqual(a.blockIdKey, b.blockIdKey);
  assert.notDeepEqual(wrapVaultKeys(ctx, masterKey, a), wrapVaultKeys(ctx, masterKey, a));
});

// Who wrote it.
test("rebuild refuses and reports a pack of an unregistered writer", async (t) => {
  const { from, store, env } = await prepare(t);
  await env.backup(from);
  const attacker = signerFromSeed(Buffer.alloc(32, 66));
  // It registers itself: only the authority may.
  const writer = authorityWriter(attacker, vaultId);
  const session = startSession(env.ctx, writerKeys(env.vault.keys), writer, { session: 50, nonce: 1 });
  const pack = new PackBuilder("data", env.ctx.random(16), session.header);
  await store.put(env.vault.names.pack(pack.name), Buffer.concat([pack.head, pack.finish(attacker)]));
  const report = await rebuild(env.vault);
  assert.deepEqual(
    report.refused.map(({ name }) => name),
    [env.vault.names.pack(pack.name)],
  );
  assert.match(report.refused[0]?.reason ?? "", /did not sign/);
});

test("a pack copied to another name, or from another vault, is refused", async (t) => {
  const { from, store, env } = await prepare(t);
  await env.backup(from);
  const [name = ""] = await namesUnder(store, env.vault.names.packs);
  const copied = `${env.vault.names.packs}${"ab".repeat(16)}`;
  await store.put(copied, await store.get(name));
  const other = await createVault(
    { ctx: env.ctx, store, catalog: new MemoryCatalog(env.ctx) },
    masterKey,
    Buffer.alloc(16, 77),
  );
  const foreign = name.replace(hex(vaultId), hex(other.keys.vaultId));
  await store.put(foreign, await store.get(name));
  assert.deepEqual(
    (await rebuild(env.vault)).refused.map((each) => each.name),
    [copied],
  );
  const refused = (await rebuild(other)).refused;
  assert.deepEqual(
    refused.map((each) => each.name),
    [foreign],
  );
  assert.match(refused[0]?.reason ?? "", /another vault/);
});

test("a manifest without a signature, with a foreign signature, under another name or with a changed byte is refused", async (t) => {
  const { from, store, env } = await prepare(t);
  const { snapshot } = await env.backup(from);
  const name = env.vault.names.manifest(snapshot.id);
  const good = Buffer.from(await store.get(name));
  const draft = good.subarray(0, good.length - 64 - 25);
  const accepted = { at: env.ctx.now(), retention: noRetention };
  const attacker = signerFromSeed(Buffer.alloc(32, 66));
  const cases: Buffer[] = [
    draft,
    acceptManifest(attacker, draft, accepted),
    acceptManifest(env.writer, draft, accepted),
  ];
  for (let at = 0; at < good.length; at += 37) {
    const bad = Buffer.from(good);
    bad[at] = (bad[at] ?? 0) ^ 0x10;
    cases.push(bad);
  }
  for (const bad of cases) {
    await store.put(name, bad);
    const report = await rebuild(env.vault);
    assert.deepEqual([report.snapshots, report.refused.map((each) => each.name)], [[], [name]]);
  }
  await store.put(name, good);
  const copied = env.vault.names.manifest("cd".repeat(16));
  await store.put(copied, good);
  assert.deepEqual(
    (await rebuild(env.vault)).refused.map((each) => each.name),
    [copied],
  );
});

test("a deleted snapshot stays deleted if its manifest is stored again; holds and locks survive a rebuild of the catalog", async (t) => {
  const { from, store, env } = await prepare(t);
  const first = (await env.backup(from)).snapshot;
  env.ctx.advance(1000);
  const second = (await env.backup(from)).snapshot;
  const manifest = await store.get(env.vault.names.manifest(first.id));
  await setRetention(env.vault, second.id, { expiresAt: null, lockedUntil: env.ctx.now() + 5000, hold: true });
  await deleteSnapshot(env.vault, first.id);
  await store.put(env.vault.names.manifest(first.id), manifest);
  assert.deepEqual((await rebuild(env.vault)).snapshots, [second.id]);
  const [row] = await listSnapshots(env.vault.catalog);
  assert.deepEqual(row?.retention, { expiresAt: null, lockedUntil: env.ctx.now() + 5000, hold: true });
  await assert.rejects(deleteSnapshot(env.vault, second.id), { code: "retained" });
  await assert.rejects(setRetention(env.vault, second.id, { expiresAt: null, lockedUntil: null, hold: true }), {
    code: "retained",
  });
});

test("a forged record of a deletion deletes nothing: rebuild names it, and upkeep stops until a recovery", async (t) => {
  const { from, store, env } = await prepare(t);
  const { snapshot } = await env.backup(from);
  const { head } = await env.vault.chain.read();
  const attacker = signerFromSeed(Buffer.alloc(32, 66));
  const entry = { kind: "deleted", snapshot: snapshot.id, by: "nobody" } as const;
  const forged = env.vault.names.chainRecord(head.sequence + 1);
  await store.put(forged, encodeChainRecord(attacker, vaultId, head, env.ctx.now(), entry));
  const report = await rebuild(env.vault);
  assert.deepEqual([report.snapshots, report.chainFaults.map(({ name }) => name)], [[snapshot.id], [forged]]);
  await assert.rejects(prune(env.vault), { name: "ChainMismatchError" });
  await recover(env.vault, "a forged record");
  await prune(env.vault);
  assert.deepEqual(
    (await listSnapshots(env.vault.catalog)).map(({ id }) => id),
    [snapshot.id],
  );
  await deleteSnapshot(env.vault, snapshot.id);
});

test("items of one client are unknown to others until they are verified", async (t) => {
  const { from, env } = await prepare(t);
  const one = await env.backup(from, { owner: "one" });
  env.ctx.advance(1000);
  const two = await env.backup(from, { owner: "two" });
  assert.ok(two.snapshot.storedBytes > one.snapshot.storedBytes / 2, "stored again, since it was not verified");
});

// A catalog that does not belong to the store.
test("prune with a catalog that does not know the store deletes nothing and asks for a rebuild", async (t) => {
  const { from, store, env } = await prepare(t);
  await env.backup(from);
  const catalog = new MemoryCatalog(testContext(55));
  const vault = { ...env.vault, catalog };
  const before = await namesUnder(store, "vaults/");
  await assert.rejects(prune(vault), /rebuild/);
  assert.deepEqual(await namesUnder(store, "vaults/"), before);
});
