import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { checkUnit } from "../../packages/engine/src/backup/check-unit.ts";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import type { ClientUnit } from "../../packages/engine/src/backup/upload-target.ts";
import type { Item, Retention, SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { appendToChain, chainWriter } from "../../packages/engine/src/catalog/vault-chain.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import { decodeBlockList, encodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { ByteWriter, FormatError } from "../../packages/engine/src/format/bytes.ts";
import { frameNumber } from "../../packages/engine/src/format/frame.ts";
import { blockId } from "../../packages/engine/src/format/hash.ts";
import { draftHeader, draftManifest, type SnapshotDraft } from "../../packages/engine/src/format/manifest.ts";
import type { PackFrame, PackTable } from "../../packages/engine/src/format/pack.ts";
import { PackBuilder } from "../../packages/engine/src/format/pack.ts";
import { encodeRecipe } from "../../packages/engine/src/format/recipe.ts";
import { startSession } from "../../packages/engine/src/format/session-header.ts";
import { signerFromSeed } from "../../packages/engine/src/format/signing.ts";
import { noRetention } from "../../packages/engine/src/format/snapshot.ts";
import { nodeKinds } from "../../packages/engine/src/format/tree-builder.ts";
import type { Reference } from "../../packages/engine/src/format/tree-entry.ts";
import { writeEntry } from "../../packages/engine/src/format/tree-entry.ts";
import { authoritySigner, createVaultKeys } from "../../packages/engine/src/format/vault-keys.ts";
import { encodeRegistration, writerFromSeed } from "../../packages/engine/src/format/writer-registration.ts";
import { appendBlockList } from "../../packages/engine/src/packing/open-data-frame.ts";
import { FrameReader } from "../../packages/engine/src/restore/frame-reader.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
} from "../../packages/engine/src/testing/test-environment.ts";
import { putBlockList } from "../../packages/engine/src/upkeep/copy-blocks.ts";
import { heal } from "../../packages/engine/src/upkeep/heal.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { withUpkeepSession } from "../../packages/engine/src/upkeep/upkeep-session.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { RestoreWorkerPool } from "../../packages/engine/src/workers/restore-worker-pool.ts";
import { dataFrames, replaceAllRecipes, storeFalseFrame } from "./testing/lying-client.ts";

async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), seededBytes(71)(50_000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from, { owner: "one" });
  return { folder, from, env, snapshot };
}

test("healing does not use a frame whose blocks do not match its block list, and uses a true copy", async (t) => {
  const { folder, from, env, snapshot } = await prepare(t);
  const [victim] = await dataFrames(env);
  assert.ok(victim);
  await storeFalseFrame(env, decodeBlockList(victim.blockList));
  const name = env.vault.names.pack(victim.pack);
  const bad = Buffer.from(await env.vault.store.get(name));
  bad[victim.offset + 50] = (bad[victim.offset + 50] ?? 0) ^ 1;
  await env.vault.store.put(name, bad);
  await env.vault.catalog.setDamaged([victim], true);
  assert.deepEqual(await heal(env.vault), { intact: [], healed: [], stillDamaged: [victim.frame] });
  env.ctx.advance(1000);
  await env.backup(from, { owner: "two" });
  assert.deepEqual(await heal(env.vault), { intact: [], healed: [victim.frame], stillDamaged: [] });
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("rewriting does not copy a block that does not match its id: the frame is marked as damaged and stays", async (t) => {
  const { env, snapshot } = await prepare(t);
  const ordinal = await env.vault.catalog.reserveOrdinals(1);
  const ids = Buffer.concat([1, 2, 3].map((n) => blockId(env.vault.keys.blockIdKey, Buffer.alloc(4000, n))));
  const lengths = Uint32Array.of(4000, 4000, 4000);
  const itemOf = (frame: number): Item => ({
    ordinal,
    kind: "segment",
    id: Buffer.alloc(32, 9),
    recipe: encodeRecipe([{ kind: "stored", frame, slot: 0, count: 1, bytes: 4000 }]),
    recordFrame: 0,
    next: 0,
    owner: "liar",
    verified: false,
  });
  const frame = await storeFalseFrame(env, { ids, lengths }, itemOf);
  const [row] = await env.vault.catalog.frames([frame]);
  const reach = new Bitmap();
  reach.add(ordinal);
  const { catalog } = env.vault;
  await catalog.beginUpload({ upload: "liar", owner: "liar", leaseUntil: env.ctx.now() + 1000, base: null });
  await catalog.acquireOrdinals("liar", [ordinal]);
  const id = "ab".repeat(16);
  const entry = { kind: "completed", snapshot: id, manifestHash: Buffer.alloc(32), retention: noRetention } as const;
  const changes = await appendToChain(chainWriter(env.vault, env.vault.authority), () => entry);
  await catalog.commit("liar", env.ctx.now(), { ...snapshot, id, changes, reach: reach.encode() });
  const { rewritten, refused } = await rewritePacks(env.vault, 0.2);
  assert.deepEqual([rewritten.includes(row?.pack ?? ""), refused.includes(row?.pack ?? "")], [false, true]);
  const [after] = await catalog.frames([frame]);
  assert.deepEqual([after?.damaged, after?.pack, after?.generation], [true, row?.pack, 0]);
  assert.equal((await Array.fromAsync(catalog.allPacks())).find(({ pack }) => pack === row?.pack)?.state, "live");
});

test("verify without reading data sets no item to verified; with reading, other clients find the items", async (t) => {
  const { from, folder, env, snapshot } = await prepare(t);
  const verified = async () => {
    let count = 0;
    for await (const item of env.vault.catalog.allItems()) count += item.verified ? 1 : 0;
    return count;
  };
  await verifySnapshots({ pool: inlineRestorePool, vault: env.vault, snapshots: [snapshot], readData: false });
  assert.equal(await verified(), 0);
  env.ctx.advance(1000);
  const first = await env.backup(from, { owner: "two" });
  assert.ok(first.snapshot.storedBytes > 40_000, "stored again");
  await verifySnapshots({ pool: inlineRestorePool, vault: env.vault, snapshots: [snapshot], readData: true });
  assert.ok((await verified()) > 0);
  rmSync(path.join(folder, "from", "a"), { force: true });
  writeFileSync(path.join(from, "a"), seededBytes(71)(50_000));
  env.ctx.advance(1000);
  const second = await env.backup(from, { owner: "three" });
  assert.ok(second.snapshot.storedBytes < 10_000, `${second.snapshot.storedBytes} stored`);
});

/** A target through which a client sends a row that differs from its manifest. */
class LyingTarget extends LocalTarget {
  readonly lie: (draft: SnapshotDraft) => SnapshotDraft;

  constructor(
    env: TestEnvironment,
    lie: (draft: SnapshotDraft) => SnapshotDraft,
    decideRetention?: (requested: Retention) => Retention,
  ) {
    super({ access: env.vault, upload: "liar", owner: "liar", authority: env.vault.authority, decideRetention });
    this.lie = lie;
  }

  override complete(draft: SnapshotDraft) {
    return super.complete(this.lie(draft));
  }
}

test("the row is read from the accepted manifest, whatever else the client sends", async (t) => {
  const { from, env } = await prepare(t);
  const bare = new Bitmap().encode();
  const lie = ({ manifest, row }: SnapshotDraft) => ({
    manifest,
    row: { ...row, reach: bare, rootOrdinal: 1, size: 1 },
  });
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from, { target: new LyingTarget(env, lie), owner: "liar" });
  const before = await listSnapshots(env.vault.catalog);
  assert.ok(Bitmap.decode(snapshot.reach).size > 0);
  await rebuild(env.vault);
  const plain = (row: SnapshotRow) => ({ ...row, status: "", reach: [...Bitmap.decode(row.reach)] });
  assert.deepEqual((await listSnapshots(env.vault.catalog)).map(plain), before.map(plain));
});

test("the authority decides time and retention: a client cannot lock a snapshot for a century", async (t) => {
  const { from, env } = await prepare(t);
  const century = { expiresAt: null, lockedUntil: env.ctx.now() + 1e12, hold: true };
  const later = { ...env.ctx, now: () => env.ctx.now() + 1e12 };
  const target = new LyingTarget(
    env,
    (draft) => draft,
    () => noRetention,
  );
  const { snapshot } = await env.backup(from, { target, owner: "liar", ctx: later, retention: century });
  assert.deepEqual([snapshot.completedAt, snapshot.retention], [env.ctx.now(), noRetention]);
  await rebuild(env.vault);
  const row = (await listSnapshots(env.vault.catalog)).find(({ id }) => id === snapshot.id);
  assert.deepEqual([row?.completedAt, row?.retention], [env.ctx.now(), noRetention]);
});

test("a manifest of another session, or with a broken signature, is not accepted", async (t) => {
  const { from, env } = await prepare(t);
  let first: SnapshotDraft | null = null;
  const keep = (draft: SnapshotDraft) => {
    first = draft;
    return draft;
  };
  await env.backup(from, { target: new LyingTarget(env, keep), owner: "liar" });
  const replay = new LyingTarget(env, (draft) => ({ ...(first ?? draft), row: { ...(first ?? draft).row } }));
  await assert.rejects(env.backup(from, { target: replay, owner: "liar" }), /another session/);
  const broken = new LyingTarget(env, ({ manifest, row }) => {
    const bad = Buffer.from(manifest);
    bad[bad.length - 70] = (bad[bad.length - 70] ?? 0) ^ 1;
    return { manifest: bad, row };
  });
  await assert.rejects(env.backup(from, { target: broken, owner: "liar" }), /signature|private/);
  assert.equal((await listSnapshots(env.vault.catalog)).length, 2);
});

test("a manifest with an ordinal that was never reserved is refused before its bitmap is decompressed", async (t) => {
  const { from, env } = await prepare(t);
  const far = ({ manifest, row }: SnapshotDraft): SnapshotDraft => {
    const reach = Bitmap.decode(row.reach);
    reach.add(2 ** 24);
    const lying = { ...row, reach: reach.encode() };
    const session = { header: draftHeader(manifest), contentKey: Buffer.alloc(32) };
    return { row: lying, manifest: draftManifest(session, env.writer, lying, { warnings: null }) };
  };
  await assert.rejects(env.backup(from, { target: new LyingTarget(env, far), owner: "liar" }), { name: "FormatError" });
  assert.equal((await listSnapshots(env.vault.catalog)).length, 1);
});

test("a unit with rows that do not belong to the upload is refused; a client cannot set owner and verified", () => {
  const env = testContext(7);
  const keys = createVaultKeys(env, Buffer.alloc(16, 1));
  const authority = authoritySigner(keys);
  const seed = Buffer.alloc(32, 9);
  const registration = encodeRegistration(authority, keys.vaultId, signerFromSeed(seed).publicKey, 1);
  const writer = writerFromSeed(seed, registration);
  const { header } = startSession(env, keys, writer, { session: 3, nonce: 77 });
  const frame: PackFrame = {
    frame: frameNumber(3, 1),
    generation: 0,
    kind: "data",
    offset: 0,
    length: 1,
    frameId: Buffer.alloc(32),
  };
  const item = {
    ordinal: 10,
    kind: "segment",
    id: Buffer.alloc(32),
    recipe: encodeRecipe([]),
    recordFrame: 0,
    owner: "another client",
    verified: true,
  } as const;
  const pack: PackTable = { kind: "data", packId: Buffer.alloc(16, 5), header, frames: [frame], size: 1 };
  const empty = encodeBlockList({ ids: new Uint8Array(0), lengths: new Uint32Array(0) });
  const list = { frame: frame.frame, recordFrame: frameNumber(3, 2), blockList: empty };
  const unit: ClientUnit = { number: 1, packs: [], blockLists: [list], items: [item], hooks: [], follows: [] };
  const rules = { session: 3, nonce: 77, owner: "liar", ordinals: [{ first: 10, end: 20 }] };
  const [taken] = checkUnit(unit, [pack], rules).items;
  assert.deepEqual([taken?.owner, taken?.verified], ["liar", false]);
  const lies: Partial<ClientUnit>[] = [
    { items: [{ ...item, ordinal: 20 }] },
    { items: [{ ...item, ordinal: 9 }] },
    { hooks: [[5n, 9]] },
    { follows: [[10, 20]] },
    { blockLists: [{ ...list, recordFrame: frameNumber(2, 2) }] },
  ];
  for (const lie of lies) assert.throws(() => checkUnit({ ...unit, ...lie }, [pack], rules), /not/);
  const other = startSession(env, keys, writer, { session: 2, nonce: 77 });
  const packLies: Partial<PackTable>[] = [
    { frames: [{ ...frame, frame: frameNumber(2, 1) }] },
    { frames: [{ ...frame, generation: 99 }] },
    { header: other.header },
    { header: startSession(env, keys, writer, { session: 3, nonce: 78 }).header },
  ];
  for (const lie of packLies) assert.throws(() => checkUnit(unit, [{ ...pack, ...lie }], rules), /not belong/);
  const second = { ...pack, frames: [], header: startSession(env, keys, writer, { session: 3, nonce: 77 }).header };
  assert.throws(() => checkUnit(unit, [pack, second], rules), /different session headers/);
  assert.throws(() => checkUnit(unit, [], rules), /without a pack/);
  assert.throws(() => checkUnit({ ...unit, blockLists: [] }, [pack], rules), /no block list/);
  // A recipe or block list that cannot be decoded would stop marking and matching for all clients.
  const garbage = [
    { items: [{ ...item, recipe: Buffer.alloc(9, 255) }] },
    { blockLists: [{ ...list, blockList: Buffer.alloc(1, 9) }] },
  ];
  for (const lie of garbage) assert.throws(() => checkUnit({ ...unit, ...lie }, [pack], rules), FormatError);
});

test("rebuild accepts a rewritten frame and a second record of an item from the authority only", async (t) => {
  const { folder, from, env, snapshot } = await prepare(t);
  const victims = await dataFrames(env);
  const [victim] = victims;
  assert.ok(victim);
  const item = (await env.vault.catalog.itemsByOrdinal([...Bitmap.decode(snapshot.reach)])).find(
    (each) => each?.kind === "segment",
  );
  assert.ok(item);
  // A session like upkeep's, but signed by an ordinary writer.
  const liar = { ...env.vault, authority: env.writer };
  await withUpkeepSession(liar, async (session) => {
    const blockList = decodeBlockList(victim.blockList);
    const plain = new ByteWriter(1 << 16);
    for (const length of blockList.lengths) plain.raw(seededBytes(73)(length));
    putBlockList(session, victim.frame, 99, blockList);
    appendBlockList(plain, blockList);
    session.putFrame("data", victim.frame, 99, plain.view(), "none");
    session.putRecord({ kind: "segment", ordinal: item.ordinal, id: item.id, recipe: encodeRecipe([]), hooks: [] });
    await session.flush();
  });
  const { refused } = await rebuild(env.vault);
  assert.equal(refused.length, 1);
  assert.equal((await env.vault.catalog.frames([victim.frame]))[0]?.generation, 0);
  const to = path.join(folder, "to");
  const [row] = await listSnapshots(env.vault.catalog);
  assert.ok(row);
  assert.deepEqual((await env.restore(row, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("an item in a frame with one false slot is not verified, and other clients do not find it", async (t) => {
  const { from, env, snapshot } = await prepare(t);
  const [row] = await dataFrames(env);
  assert.ok(row);
  // The blocks of the frame are true, but its block list in the catalog has one more, which does not exist.
  const { ids, lengths } = decodeBlockList(row.blockList);
  const more = { ids: Buffer.concat([ids, Buffer.alloc(16, 7)]), lengths: Uint32Array.from([...lengths, 4000]) };
  const nothing = { packs: [], header: Buffer.alloc(0), items: [], hooks: [], follows: [] };
  await env.vault.catalog.addRebuilt({ unit: { ...nothing, frames: [{ ...row, blockList: encodeBlockList(more) }] } });
  const report = await verifySnapshots({
    pool: inlineRestorePool,
    vault: env.vault,
    snapshots: [snapshot],
    readData: true,
  });
  assert.deepEqual(
    report.damagedFrames.map(({ frame }) => frame),
    [row.frame],
  );
  for await (const item of env.vault.catalog.allItems()) assert.equal(item.verified, false);
  env.ctx.advance(1000);
  const other = await env.backup(from, { owner: "two" });
  assert.ok(other.snapshot.storedBytes > 40_000, "stored again");
});

test("verify finds blocks that do not match their ids, with threads and without", async (t) => {
  const { env, snapshot } = await prepare(t);
  const [victim] = await dataFrames(env);
  assert.ok(victim);
  const falseFrame = await storeFalseFrame(env, decodeBlockList(victim.blockList));
  await replaceAllRecipes(env, (run) => (run.frame === victim.frame ? { ...run, frame: falseFrame } : run));
  const threads = new RestoreWorkerPool(1);
  t.after(() => void threads.close());
  threads.startThreadsFor(64 * 1024 * 1024);
  assert.ok(threads.maxParallelJobs > 1, "a thread was started");
  for (const pool of [inlineRestorePool, threads]) {
    const report = await verifySnapshots({ pool, vault: env.vault, snapshots: [snapshot], readData: true });
    assert.deepEqual(
      report.damagedFrames.map(({ frame }) => frame),
      [falseFrame],
    );
    assert.match(report.findings[0]?.reason ?? "", /slot 0 does not match its id/);
  }
});

test("verify reports an impossible size or ordinal as a finding and goes on", async (t) => {
  const { env, snapshot } = await prepare(t);
  const lying = { ...snapshot, id: "cd".repeat(16), rootOrdinal: 999, rootId: Buffer.alloc(32, 9) };
  const { node } = FrameReader.prototype;
  for (const [ordinal, size] of [
    [1, Number.MAX_SAFE_INTEGER],
    [2 ** 50, 1],
  ] as const) {
    const hostile = new ByteWriter(1024).u8(nodeKinds.leaf).varint(2);
    const stat = { mode: 0o644, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] };
    const segments = [{ ordinal, id: Buffer.alloc(32), bytes: 1 }];
    for (const name of ["a", "b"].map((each) => Buffer.from(each)))
      writeEntry(hostile, {
        ...{ type: "file", name, ...stat, size, hash: Buffer.alloc(32) },
        content: { kind: "segments", segments },
      });
    const reading = t.mock.method(FrameReader.prototype, "node", function (this: FrameReader, at: Reference) {
      return at.ordinal === lying.rootOrdinal ? Promise.resolve(hostile.view()) : node.call(this, at);
    });
    const report = await verifySnapshots({
      ...{ pool: inlineRestorePool, vault: env.vault, readData: true },
      snapshots: [lying, snapshot],
    });
    reading.mock.restore();
    assert.ok(report.findings.length > 0);
    for (const finding of report.findings) assert.equal(finding.snapshot, lying.id);
  }
});

test("a pack that uses the session number of another does not remove packs from a rebuild", async (t) => {
  const { env, snapshot } = await prepare(t);
  const stolen = { session: snapshot.session, nonce: 1 };
  const { header } = startSession(env.ctx, env.vault.keys, env.writer, stolen);
  // A name that is listed before every other.
  const pack = new PackBuilder("data", Buffer.alloc(16), header);
  const name = env.vault.names.pack(pack.name);
  await env.vault.store.put(name, Buffer.concat([pack.head, pack.finish(env.writer)]));
  const report = await rebuild(env.vault);
  assert.deepEqual(
    report.refused.map((each) => each.name),
    [name],
  );
  assert.deepEqual([report.snapshots, report.incomplete], [[snapshot.id], []]);
});
