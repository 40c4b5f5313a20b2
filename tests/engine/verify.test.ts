import assert from "node:assert/strict";
import { mkdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import { ByteWriter } from "../../packages/engine/src/format/bytes.ts";
import { fileHash, nodeId } from "../../packages/engine/src/format/hash.ts";
import { decodeRecipe, encodeRecipe } from "../../packages/engine/src/format/recipe.ts";
import { nodeKinds } from "../../packages/engine/src/format/tree-builder.ts";
import type { Reference, SegmentReference } from "../../packages/engine/src/format/tree-entry.ts";
import { writeEntry, writeReference, writeSegmentReference } from "../../packages/engine/src/format/tree-entry.ts";
import { nodeKeyOf } from "../../packages/engine/src/format/vault-keys.ts";
import { FrameReader } from "../../packages/engine/src/restore/frame-reader.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "../../packages/engine/src/upkeep/upkeep-session.ts";
import type { VerifyOptions, VerifyReport } from "../../packages/engine/src/upkeep/verify.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";

/** Small packs and small frames: damage concerns some files and not all. A night has more than a pack, so no pack has content and nodes. */
const settings = { packBytes: 18_000, unitBytes: 60_000 };

/**
 * Four snapshots. One directory is equal in all of them, one changes, one is in every second, and two have the same content.
 */
async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  const bytes = seededBytes(31);
  const write = (file: string, content = bytes(20_000)) => {
    const at = path.join(from, file);
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, content);
    utimesSync(at, 1_500_000_000, 1_500_000_000);
  };
  for (const file of ["same/a", "same/below/b", "same/below/deeper/c", "changing/d", "changing/below/e"]) write(file);
  const twins = bytes(15_000);
  for (const file of ["twin 1/f", "twin 2/f"]) write(file, twins);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const changes = [
    () => write("changing/d"),
    () => write("at times/g"),
    () => {
      renameSync(path.join(from, "at times"), path.join(folder, "aside"));
      write("changing/h");
    },
    () => renameSync(path.join(folder, "aside"), path.join(from, "at times")),
  ];
  for (const change of changes) {
    change();
    await env.backup(from, { settings, cache });
    env.ctx.advance(1000);
  }
  return { env, store, snapshots: await listSnapshots(env.vault.catalog) };
}

/** The number of files in all four. */
const allFiles = 7 + 8 + 8 + 9;

type Prepared = Awaited<ReturnType<typeof prepare>>;

function verify({ env }: Prepared, snapshots: readonly SnapshotRow[], more: Partial<VerifyOptions> = {}) {
  return verifySnapshots({ pool: inlineRestorePool, vault: env.vault, snapshots, readData: true, ...more });
}

test("snapshots that are verified together are each verified completely, and all their items are marked as verified", async (t) => {
  const prepared = await prepare(t);
  const { env, snapshots } = prepared;
  for (const readData of [false, true])
    for (const memoryBytes of [0, 1500, undefined]) {
      const report = await verify(prepared, snapshots, { readData, memoryBytes });
      assert.deepEqual([report.findings, report.files, report.snapshots], [[], allFiles, 4]);
    }
  for (const { reach } of snapshots)
    for (const item of await env.vault.catalog.itemsByOrdinal([...Bitmap.decode(reach)]))
      assert.equal(item?.verified, true);
});

test("a directory that was verified for an earlier snapshot is not read again", async (t) => {
  const prepared = await prepare(t);
  const read = t.mock.method(FrameReader.prototype, "node").mock;
  const count = async (memoryBytes?: number) => {
    read.resetCalls();
    await verify(prepared, prepared.snapshots, { memoryBytes, readData: false });
    return read.callCount();
  };
  const [shared, walked] = [await count(), await count(0)];
  assert.ok(shared < walked * 0.75, `${shared} and ${walked} nodes`);
});

test("damage is reported for each snapshot that needs the damaged frame", async (t) => {
  const prepared = await prepare(t);
  const { env, store, snapshots } = prepared;
  const found = new Set<number>();
  for await (const { pack, offset, length } of env.vault.catalog.allFrames()) {
    const name = env.vault.names.pack(pack);
    const good = await store.get(name);
    const bad = Buffer.from(good);
    const at = offset + length - 1;
    bad[at] = (bad[at] ?? 0) ^ 1;
    await store.put(name, bad);
    const alone: VerifyReport[] = [];
    for (const row of snapshots) alone.push(await verify(prepared, [row]));
    for (const memoryBytes of [1500, undefined]) {
      const together = await verify(prepared, snapshots, { memoryBytes });
      assert.deepEqual(
        together.findings,
        alone.flatMap(({ findings }) => findings),
      );
      const framesOf = (reports: VerifyReport[]) =>
        new Set(reports.flatMap(({ damagedFrames }) => damagedFrames.map(({ frame }) => frame)));
      assert.deepEqual(framesOf([together]), framesOf(alone));
      found.add(new Set(together.findings.map(({ snapshot }) => snapshot)).size);
    }
    await store.put(name, good);
  }
  // Frames with records only are read by a rebuild. No file needs them.
  found.delete(0);
  assert.ok(found.has(1) && found.has(4) && found.size > 2, `damage in ${[...found].join(", ")} snapshots`);
});

test("content that was verified before is read again only if it has a mark of damage, or if all is asked for", async (t) => {
  const prepared = await prepare(t);
  const { env, store, snapshots } = prepared;
  const { catalog } = env.vault;
  const readOf = async (row: SnapshotRow, readData: VerifyOptions["readData"]) => {
    const { findings, frames } = await verify(prepared, [row], { readData });
    return { findings: findings.length, frames };
  };
  const added: number[] = [];
  for (const row of snapshots) {
    const all = await verify(prepared, [row], { readData: false });
    assert.deepEqual(all.findings, []);
    const { frames, findings } = await readOf(row, "unverified");
    assert.equal(findings, 0);
    added.push(frames);
    for (const item of await catalog.itemsByOrdinal([...Bitmap.decode(row.reach)])) assert.equal(item?.verified, true);
    assert.deepEqual(await readOf(row, "unverified"), { findings: 0, frames: 0 });
  }
  const [row = assert.fail()] = snapshots;
  const whole = (await readOf(row, true)).frames;
  assert.equal(added[0], whole, "the first has nothing that was verified before");
  for (const frames of added.slice(1)) assert.ok(frames <= 2, `${frames} of ${whole} frames`);
  const [damaged = assert.fail()] = (await Array.fromAsync(catalog.allFrames())).filter(({ kind }) => kind === "data");
  const name = env.vault.names.pack(damaged.pack);
  const bytes = Buffer.from(await store.get(name));
  const last = damaged.offset + damaged.length - 1;
  bytes[last] = (bytes[last] ?? 0) ^ 1;
  await store.put(name, bytes);
  await catalog.setDamaged([damaged], true);
  const { findings, damagedFrames } = await verify(prepared, [row], { readData: "unverified" });
  assert.ok(findings.length > 0);
  assert.deepEqual(
    damagedFrames.map(({ frame }) => frame),
    [damaged.frame],
  );
  await catalog.setDamaged([damaged], false);
  assert.ok((await readOf(row, true)).findings > 0);
});

test("a bitmap that differs from what its snapshot reaches is found, and the other snapshots have no finding", async (t) => {
  const prepared = await prepare(t);
  const [first, second, ...others] = prepared.snapshots;
  assert.ok(first && second);
  const lying = { ...second, reach: first.reach };
  const { findings } = await verify(prepared, [first, lying, ...others], { readData: false });
  assert.deepEqual(
    findings.map(({ snapshot, reason }) => [snapshot, reason]),
    [[second.id, "its bitmap differs from what it reaches"]],
  );
});

test("after many nights with one changed file, every node and segment is looked up a fixed number of times", async (t) => {
  const folder = scratch(t);
  const bytes = seededBytes(32);
  const write = (i: number) => writeFileSync(path.join(folder, `file ${String(i).padStart(3, "0")}`), bytes(200));
  for (let i = 0; i < 300; i++) write(i);
  const env = await openTestEnvironment(new MemoryStore());
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const nights = 40;
  for (let night = 0; night < nights; night++) {
    write((night * 37) % 300);
    await env.backup(folder, { cache });
    env.ctx.advance(1000);
  }
  const { catalog } = env.vault;
  const items = (await Array.fromAsync(catalog.allItems())).length;
  const asked = t.mock.method(catalog, "itemsByOrdinal").mock;
  const marked = t.mock.method(catalog, "setVerified").mock;
  const report = await verify({ env, store: new MemoryStore(), snapshots: [] }, await listSnapshots(catalog));
  assert.deepEqual([report.findings, report.files], [[], nights * 300]);
  const lookups = asked.calls.reduce((sum, { arguments: [ordinals] }) => sum + ordinals.length, 0);
  // Once to read a node or to plan a file, and once to mark it. A bundle is planned again for each of its files that is new.
  assert.ok(lookups <= 3 * items, `${lookups} lookups of ${items} items`);
  // In batches: a round trip to the catalog for each night would take longer than everything else.
  const calls = asked.callCount() + marked.callCount();
  assert.ok(calls < nights / 2, `${calls} calls for ${nights} nights`);
});

test("if every data pack is missing, every file of every snapshot is reported, as if each were verified alone", async (t) => {
  const prepared = await prepare(t);
  const { env, store, snapshots } = prepared;
  const names = new Set<string>();
  for await (const { pack, kind } of env.vault.catalog.allFrames()) if (kind === "data") names.add(pack);
  for (const pack of names) await store.delete(env.vault.names.pack(pack));
  const { findings, files } = await verify(prepared, snapshots);
  const alone: VerifyReport[] = [];
  for (const row of snapshots) alone.push(await verify(prepared, [row]));
  assert.deepEqual(
    findings,
    alone.flatMap((report) => report.findings),
  );
  assert.equal(files, allFiles);
  assert.equal(new Set(findings.map(({ snapshot, path: at }) => `${snapshot} ${Buffer.from(at)}`)).size, allFiles);
});

test("two directories of one snapshot that have the same node are both reported", async (t) => {
  const folder = scratch(t);
  const content = seededBytes(33)(300_000);
  for (const name of ["a", "b"]) {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, "f"), content);
  }
  settleTimes(folder);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const { snapshot } = await env.backup(folder);
  for await (const { pack, kind, offset, length } of env.vault.catalog.allFrames()) {
    if (kind !== "data") continue;
    const bytes = Buffer.from(await store.get(env.vault.names.pack(pack)));
    bytes.writeUInt8(bytes.readUInt8(offset + length - 1) ^ 1, offset + length - 1);
    await store.put(env.vault.names.pack(pack), bytes);
  }
  const { findings } = await verify({ env, store, snapshots: [] }, [snapshot, { ...snapshot, id: "again" }]);
  assert.deepEqual(
    findings.map((each) => `${each.snapshot === snapshot.id} ${Buffer.from(each.path)}`),
    ["true a/f", "true b/f", "false a/f", "false b/f"],
  );
});

/** Stores tree nodes as a client could: rows of any order. Returns their references. */
async function storeNodes(env: TestEnvironment, nodes: (Uint8Array | ((before: Reference[]) => Uint8Array))[]) {
  const { vault, ctx } = env;
  const references: Reference[] = [];
  await withUpkeepSession(vault, async (session) => {
    const items = nodes.map((each, slot) => {
      const node = typeof each === "function" ? each(references) : each;
      const reference = { ordinal: 100_000 + slot, id: nodeId(nodeKeyOf(vault.keys), node) };
      references.push(reference);
      const frame = session.putRecord({ kind: "node", ...reference, bytes: node });
      const recipe = encodeRecipe([{ kind: "stored", frame, slot, count: 1, bytes: node.length }]);
      return { ...reference, kind: "node", recipe, recordFrame: 0, next: 0, owner: "x", verified: false } as const;
    });
    const { packs, header } = await session.flush();
    const frames = rowsOf(session, packs, new Map());
    await vault.catalog.addUnit(session.upload, ctx.now(), { ...packsUnit(session, packs, header), frames, items });
  });
  return references;
}

function leafOf(...names: string[]): Uint8Array {
  const writer = new ByteWriter(256).u8(nodeKinds.leaf).varint(names.length);
  const stat = { mode: 0o120777, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] };
  for (const name of names)
    writeEntry(writer, { type: "link", name: Buffer.from(name), ...stat, target: Buffer.from("x") });
  return writer.take();
}

function innerOf(...children: (readonly [lastName: string, Reference | undefined])[]): Uint8Array {
  const writer = new ByteWriter(256).u8(nodeKinds.inner).varint(children.length);
  for (const [name, child] of children) writeReference(writer.bytes(Buffer.from(name)), child ?? assert.fail());
  return writer.take();
}

test("names out of order are found where two nodes meet, also if both were checked for an earlier snapshot", async (t) => {
  const prepared = await prepare(t);
  const [row] = prepared.snapshots;
  const [first, second, ordered, swapped, twice] = await storeNodes(prepared.env, [
    leafOf("a", "b"),
    leafOf("c", "d"),
    ([one, two]) => innerOf(["b", one], ["d", two]),
    ([one, two]) => innerOf(["d", two], ["b", one]),
    ([one]) => innerOf(["b", one], ["b", one]),
  ]);
  assert.ok(row && first && second && ordered && swapped && twice);
  const snapshotOf = (id: string, root: Reference, ...below: Reference[]): SnapshotRow => {
    const reach = new Bitmap();
    for (const { ordinal } of [root, ...below]) reach.add(ordinal);
    return { ...row, id, rootOrdinal: root.ordinal, rootId: root.id, reach: reach.encode() };
  };
  const snapshots = [
    snapshotOf("ordered", ordered, first, second),
    snapshotOf("swapped", swapped, first, second),
    snapshotOf("twice", twice, first),
    snapshotOf("ordered again", ordered, first, second),
  ];
  const { findings } = await verify(prepared, snapshots, { readData: false });
  assert.deepEqual(
    findings.map(({ snapshot, reason }) => [snapshot, reason]),
    ["swapped", "twice"].map((id) => [id, "a directory's names are out of order"]),
  );
});

test("a tree that is nested without end, or a directory's node without end, is a finding and fills no memory", async (t) => {
  const prepared = await prepare(t);
  const { env, snapshots } = prepared;
  const stat = { mode: 0o755, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] };
  const name = Buffer.alloc(200, "d");
  const nested = (below: Reference) => {
    const writer = new ByteWriter(512).u8(nodeKinds.leaf).varint(1);
    writeEntry(writer, { type: "directory", name, ...stat, root: below, size: 0, files: 0 });
    return writer.take();
  };
  const deep = Array.from({ length: 300 }, () => (before: Reference[]) => nested(before.at(-1) ?? assert.fail()));
  const names = Array.from({ length: 70_000 }, (_, i) => i.toString().padStart(6, "0"));
  const references = await storeNodes(env, [leafOf("a"), ...deep, leafOf(...names)]);
  const [snapshot] = snapshots;
  assert.ok(snapshot !== undefined);
  for (const [root, reason] of [
    [references.at(-2), /a path is too long/],
    [references.at(-1), /node is too long/],
  ] as const) {
    assert.ok(root !== undefined);
    const lying: SnapshotRow = { ...snapshot, id: "cd".repeat(16), rootOrdinal: root.ordinal, rootId: root.id };
    const { findings } = await verify(prepared, [lying, snapshot]);
    assert.deepEqual(
      findings.map(({ snapshot: id }) => id),
      [lying.id],
    );
    assert.match(findings[0]?.reason ?? "", reason);
  }
});

/** A file of ten thousand times the same segment, as a list of two levels. Its size and hash may be wrong. */
async function repeatedSegments(
  prepared: Awaited<ReturnType<typeof prepare>>,
  lie: { size?: number; hash?: Uint8Array },
) {
  const { env } = prepared;
  const [item] = (await Array.fromAsync(env.vault.catalog.allItems())).filter(({ kind }) => kind === "segment");
  assert.ok(item !== undefined);
  const bytes = decodeRecipe(item.recipe).reduce((sum, run) => sum + run.bytes, 0);
  const rows = (kind: number, row: SegmentReference) => {
    const writer = new ByteWriter(8192).u8(kind).varint(100);
    for (let i = 0; i < 100; i++) writeSegmentReference(writer, row);
    return writer.take();
  };
  const size = 10_000 * bytes;
  const hash = fileHash(
    size,
    Array.from({ length: 10_000 }, () => item.id),
  );
  const leaf = (list: Reference) => {
    const writer = new ByteWriter(512).u8(nodeKinds.leaf).varint(1);
    const stat = { mode: 0o644, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] };
    const content = { kind: "list", depth: 1, root: { ...list, bytes: size } } as const;
    writeEntry(writer, { type: "file", name: Buffer.from("f"), ...stat, content, size, hash, ...lie });
    return writer.take();
  };
  const references = await storeNodes(env, [
    rows(nodeKinds.segments, { ...item, bytes }),
    ([list]) => rows(nodeKinds.lists, { ...(list ?? assert.fail()), bytes: 100 * bytes }),
    ([, lists]) => leaf(lists ?? assert.fail()),
  ]);
  const [root, row] = [references.at(-1), prepared.snapshots[0]];
  assert.ok(root !== undefined && row !== undefined);
  const reach = new Bitmap();
  for (const { ordinal } of [...references, item]) reach.add(ordinal);
  return { ...row, id: "cd".repeat(16), rootOrdinal: root.ordinal, rootId: root.id, reach: reach.encode() };
}

test("a file with a long segment list is checked part by part: it is one file, with its whole size and hash", async (t) => {
  for (const [lie, reasons] of [
    [{}, []],
    [{ hash: Buffer.alloc(32, 1) }, ["its segments do not match its hash"]],
    [{ size: 5 }, ["its segments do not match its hash"]],
  ] as const) {
    const prepared = await prepare(t);
    const lying = await repeatedSegments(prepared, lie);
    const { findings, files } = await verify(prepared, [lying, { ...lying, id: "again" }]);
    assert.deepEqual(
      findings.map(({ snapshot, reason }) => [snapshot, reason]),
      [lying.id, "again"].flatMap((id) => reasons.map((reason) => [id, reason])),
    );
    assert.equal(files, reasons.length === 0 ? 2 : 0);
  }
});

test("damage in a part of a long segment list is a finding of its file", async (t) => {
  const prepared = await prepare(t);
  const snapshot = await repeatedSegments(prepared, {});
  const { catalog, names } = prepared.env.vault;
  for await (const { pack, kind, offset, length } of catalog.allFrames()) {
    if (kind !== "data") continue;
    const bytes = Buffer.from(await prepared.store.get(names.pack(pack)));
    bytes.writeUInt8(bytes.readUInt8(offset + length - 1) ^ 1, offset + length - 1);
    await prepared.store.put(names.pack(pack), bytes);
  }
  const { findings } = await verify(prepared, [snapshot]);
  assert.ok(findings.some(({ path: at }) => Buffer.from(at).toString() === "f"));
});
