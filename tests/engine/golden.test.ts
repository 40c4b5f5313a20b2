import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import { decodeBlockList, encodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { ByteReader, ByteWriter } from "../../packages/engine/src/format/bytes.ts";
import { frameNumber, openFrame, sealFrame } from "../../packages/engine/src/format/frame.ts";
import {
  blockId,
  deriveKey,
  fileHash,
  hash32,
  nodeId,
  segmentId,
  sha256,
} from "../../packages/engine/src/format/hash.ts";
import { openDetails, openManifest } from "../../packages/engine/src/format/manifest.ts";
import { encodeRecipe } from "../../packages/engine/src/format/recipe.ts";
import { frameKey } from "../../packages/engine/src/format/session-header.ts";
import type { TreeEntry } from "../../packages/engine/src/format/tree-entry.ts";
import { readEntry, writeEntry } from "../../packages/engine/src/format/tree-entry.ts";
import { restoreSnapshot } from "../../packages/engine/src/restore/folder/restore.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import {
  describeTree,
  inlineRestorePool,
  scratch,
  testContext,
} from "../../packages/engine/src/testing/test-environment.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { identityOf, openVault } from "../../packages/engine/src/vault.ts";
import { Cutter } from "../../packages/engine/src/workers/cutter/cutter.ts";
import fixture from "./golden/v2.json" with { type: "json" };

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const key = Buffer.alloc(32, 5);

/** These never change: with another value old repositories could not be read. A new format version gets new ones. */
const goldenIds = {
  derive: "2fec53ef50f5d6cf8fe6f49d269724790b6af8659951a75a7672ba93ac7047da",
  block: "001ab559e88ded7a58d8dc3937758528",
  segment: "17a91ab0696039a5811d031b2f8eac6457da28f4b9d5dc9e39c1ce696c99f868",
  node: "fea22d2fb0b93ab6d0b4e5506dddd03cd7627111082a4308f363460c696b9f3c",
  file: "521961a1df39824f51bc3dae528a68d312d02592c2e4ec1a0c45b66353bf70fe",
  spread: 49230297,
};

const goldenBytes = {
  recipe: "030188808030050680800300028040018580801000018040",
  pages: "bfc9356d9b4c941efe16822eeef18562aeac9af022cfad54b8f8e58a5bd166a5",
  mixed: "fcfe199a56747a7822c05616b3c4750c09067dc77119929c259a153fb03516c9",
  entry:
    "0002c4b0a4030064090709020202020202020202020202020202020202020202020202020202020202020203ac02030303030303030303030303030303030303030303030303030303030303030301020000",
};

const goldenFrame = {
  sealed:
    "454d46320000020007000000090000000300000004000000010000000b0000000b000000000000000e1d0695a91fdc6b6abfe56bebf83bc6c77a2150031f55587d31f1",
  cuts: 103,
  first: [9948, 22321, 36849],
};

// Golden vectors of format version 2.
test("ids and derived keys", () => {
  const block = Buffer.from("the same block for ever");
  const id = blockId(key, block);
  const values = {
    derive: hexOf(deriveKey(key, "cutter")),
    block: hexOf(id),
    segment: hexOf(segmentId(Buffer.concat([id, id]), Uint32Array.of(23, 23))),
    node: hexOf(nodeId(key, block)),
    file: hexOf(fileHash(46, [Buffer.alloc(32, 1)])),
    spread: hash32(block),
  };
  assert.deepEqual(values, goldenIds);
});

test("recipes, block lists, entries, bitmaps", () => {
  const recipe = encodeRecipe([
    { kind: "stored", frame: frameNumber(3, 4), slot: 5, count: 6, bytes: 49152 },
    { kind: "zeros", count: 2, bytes: 16384 },
    { kind: "stored", frame: frameNumber(2, 1), slot: 0, count: 1, bytes: 8192 },
  ]);
  const pages = encodeBlockList({ ids: Buffer.alloc(32, 9), lengths: Uint32Array.of(8192, 8192) });
  const mixed = encodeBlockList({ ids: Buffer.alloc(32, 9), lengths: Uint32Array.of(8192, 0) });
  assert.deepEqual(decodeBlockList(mixed).lengths, Uint32Array.of(8192, 0));
  const facts = {
    name: Buffer.from("İ"),
    mode: 0o644,
    uid: 0,
    gid: 100,
    mtimeSeconds: -5,
    mtimeNanos: 7,
    attributes: [],
  };
  const entry: TreeEntry = {
    type: "file",
    ...facts,
    size: 9,
    hash: Buffer.alloc(32, 2),
    content: { kind: "part", segment: { ordinal: 300, id: Buffer.alloc(32, 3) }, first: 1, count: 2 },
  };
  const writer = new ByteWriter();
  writeEntry(writer, entry);
  assert.equal(readEntry(new ByteReader(writer.take())).mtimeSeconds, -5);
  const bitmap = new Bitmap();
  for (const ordinal of [0, 31, 32, 1000]) bitmap.add(ordinal);
  assert.deepEqual([...Bitmap.decode(bitmap.encode())], [0, 31, 32, 1000]);
  assert.deepEqual(
    { recipe: hexOf(recipe), pages: hexOf(sha256(pages)), mixed: hexOf(sha256(mixed)), entry: hexOf(writer.take()) },
    goldenBytes,
  );
});

test("a sealed frame and the cutter's ends", () => {
  const seal = {
    kind: "data",
    frame: frameNumber(3, 4),
    generation: 1,
    session: 7,
    worker: 2,
    counter: 9,
    contentKey: key,
    binding: Buffer.alloc(32, 6),
  } as const;
  const sealed = sealFrame(seal, Buffer.from("plain bytes"), "none");
  assert.equal(openFrame(sealed, frameKey(key, seal), Buffer.alloc(32, 6)).toString(), "plain bytes");
  const cutter = new Cutter(key, 1 << 20, 1);
  const buffer = cutter.buffer(0);
  for (let i = 0; i < buffer.length; i++) buffer[i] = (Math.imul(i, 2654435761) >>> 13) & 0xff;
  const ends = [...cutter.cut(0, 0, 1 << 20, true)];
  assert.deepEqual({ sealed: hexOf(sealed), cuts: ends.length, first: ends.slice(0, 3) }, goldenFrame);
});

// A repository made by format version 2.
test("is rebuilt, scrubbed, verified and restored from its objects and the master key alone", async (t) => {
  const store = new MemoryStore();
  for (const [name, body] of Object.entries(fixture.objects)) await store.put(name, Buffer.from(body, "base64"));
  const ctx = testContext(1);
  const catalog = new MemoryCatalog(ctx);
  const vault = await openVault(
    { ctx, store, catalog },
    Buffer.from(fixture.master_key, "hex"),
    Buffer.from(fixture.vault, "hex"),
  );
  const report = await rebuild(vault);
  assert.deepEqual([report.refused, report.incomplete, report.lostFrames], [[], [], []]);
  assert.deepEqual([report.hidden, report.unconfirmed, report.chainFaults], [[], [], []]);
  assert.deepEqual(report.snapshots, [fixture.snapshot]);
  const [snapshot] = await listSnapshots(catalog);
  assert.ok(snapshot);
  assert.equal(hexOf(snapshot.rootId), fixture.root_id);
  assert.equal(snapshot.source, "golden");
  assert.deepEqual(snapshot.retention, { expiresAt: null, lockedUntil: 4_102_444_900_000, hold: true });
  assert.deepEqual((await scrub({ ...vault, identity: identityOf(vault) })).findings, []);
  assert.deepEqual(
    (await verifySnapshots({ pool: inlineRestorePool, vault, snapshots: [snapshot], readData: true })).findings,
    [],
  );
  const manifest = openManifest(
    await store.get(vault.names.manifest(snapshot.id)),
    { snapshot: snapshot.id, vaultId: vault.keys.vaultId },
    vault.keys.authorityPublicKey,
  );
  const { source: _source, warnings, ...details } = openDetails(vault.keys, manifest);
  assert.deepEqual([details, [...warnings()]], [fixture.details, []]);
  const chain = await vault.chain.read();
  assert.equal(chain.snapshots.get(fixture.deleted)?.deleted, true);
  assert.deepEqual([vault.keys.epoch, chain.epochs.size, chain.incarnation], [2, 1, 1]);
  const to = path.join(scratch(t), "to");
  mkdirSync(to);
  assert.deepEqual(
    (await restoreSnapshot({ port: new LocalReadPort(vault), snapshot, target: to, pool: inlineRestorePool })).failures,
    [],
  );
  assert.deepEqual(describeTree(to), fixture.tree);
  assert.equal(statSync(path.join(to, "second name")).nlink, 2);
});
