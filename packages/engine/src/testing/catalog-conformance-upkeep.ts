/** The part of the catalog's conformance suite that concerns upkeep: pins against deletion, moves, damage, scans. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { allSnapshots } from "../catalog/all-snapshots.ts";
import type { SnapshotInfo, UploadUnit } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { encodeBlockList } from "../format/block-list.ts";
import { encodeRecipe } from "../format/recipe.ts";
import { noRetention } from "../format/snapshot.ts";
import type { MakeCatalog } from "./catalog-fixture.ts";
import { begin, filled, frameRow, idOf, itemRow, snapshotOf, unitOf } from "./catalog-fixture.ts";
import { testContext } from "./test-environment.ts";

export function upkeepConformance(make: MakeCatalog): void {
  pins(make);
  markings(make);
  moves(make);
  framesThatStay(make);
  movesOfHeldItems(make);
  marks(make);
  damagedItems(make);
  retention(make);
  snapshotPages(make);
  scans(make);
  rebuilds(make);
}

function pins(make: MakeCatalog): void {
  test("an acquired item pins its pack: it cannot be condemned until the upload ends", async () => {
    const catalog = await filled(make);
    await catalog.deleteSnapshot("s1", 1);
    await begin(catalog, "u2");
    const [item] = await catalog.acquire("u2", [idOf(1)]);
    assert.equal(item?.ordinal, 1);
    assert.deepEqual((await catalog.condemn(["p1"], await catalog.revision())).condemned, []);
    await catalog.endUpload("u2");
    assert.deepEqual((await catalog.condemn(["p1"], await catalog.revision())).condemned, ["p1"]);
  });

  test("an acquired item makes its condemned pack live again; a deleting pack stays deleting", async () => {
    const catalog = await filled(make);
    await catalog.deleteSnapshot("s1", 1);
    const marking = await catalog.revision();
    await catalog.condemn(["p1"], marking);
    await begin(catalog, "u2");
    assert.equal((await catalog.acquire("u2", [idOf(1)]))[0]?.ordinal, 1);
    assert.equal(await catalog.beginDelete("p1", marking, [1]), false);
    await catalog.endUpload("u2");
    await catalog.condemn(["p1"], marking);
    assert.equal(await catalog.beginDelete("p1", marking, [1]), true);
    await begin(catalog, "u3");
    assert.deepEqual(await catalog.acquire("u3", [idOf(1)]), [null]);
    assert.deepEqual(await catalog.acquireFrames("u3", [10]), [false]);
    await catalog.forgetPack("p1");
    assert.deepEqual(await Array.fromAsync(catalog.allPacks()), []);
  });

  test("a pack that holds only the record of a known item is pinned with it", async () => {
    const catalog = await make();
    await begin(catalog, "u1");
    await catalog.addUnit("u1", 1, unitOf("meta", [frameRow(11, "meta", { kind: "meta" })], []));
    await catalog.addUnit(
      "u1",
      1,
      unitOf("data", [frameRow(10, "data", { recordFrame: 11 })], [itemRow(1, 10, { recordFrame: 11 })]),
    );
    await catalog.endUpload("u1");
    await begin(catalog, "u2");
    await catalog.acquireFrames("u2", [10]);
    assert.deepEqual((await catalog.condemn(["data", "meta"], await catalog.revision())).condemned, []);
  });
}

function markings(make: MakeCatalog): void {
  test("a pack that became live and was condemned again is neither deleted nor rewritten by the older marking", async () => {
    const catalog = await filled(make);
    await catalog.deleteSnapshot("s1", 1);
    const older = await catalog.revision();
    await catalog.condemn(["p1"], older);
    await begin(catalog, "u2");
    await catalog.acquire("u2", [idOf(1)]);
    await catalog.commit("u2", 1, snapshotOf("s2", [1]));
    const newer = await catalog.revision();
    assert.deepEqual((await catalog.condemn(["p1"], newer)).condemned, ["p1"]);
    assert.equal(await catalog.beginDelete("p1", older, [1]), false);
    await begin(catalog, "up");
    const to = frameRow(10, "p2", { generation: 1 });
    const move = (marking: number) =>
      catalog.moveFrames("up", 1, unitOf("p2", [], []), [{ from: { pack: "p1", generation: 0, marking }, to }], []);
    assert.equal(await move(older), false);
    assert.equal(await move(newer), true);
  });

  test("condemning with a marking older than the last commit, deletion or new recipe is refused: the revision has changed", async () => {
    const catalog = await filled(make);
    const before = await catalog.revision();
    await begin(catalog, "u2", { base: "s1" });
    await catalog.addUnit("u2", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]));
    assert.equal((await catalog.condemn(["p1"], before)).revisionChanged, true);
    const next = await catalog.revision();
    await catalog.commit("u2", 1, snapshotOf("s2", [1]));
    assert.equal((await catalog.condemn(["p1"], next)).revisionChanged, true);
  });
}

function moves(make: MakeCatalog): void {
  test("heal replaces a frame only in the version that was damaged, and its pack stays", async () => {
    const catalog = await filled(make);
    await begin(catalog, "up");
    const to = frameRow(10, "p2", { generation: 1 });
    const move = (generation: number) => [{ from: { pack: "p1", generation, marking: null }, to }];
    assert.equal(await catalog.moveFrames("up", 1, unitOf("p2", [], []), move(1), []), false);
    assert.equal(await catalog.moveFrames("up", 1, unitOf("p2", [], []), move(0), []), true);
    assert.equal((await catalog.packs(["p1"]))[0]?.state, "live");
    assert.equal((await catalog.frames([10]))[0]?.pack, "p2");
  });

  test("frames move only from a condemned, unpinned pack, all or none", async () => {
    const catalog = await filled(make);
    await begin(catalog, "up");
    const unit = unitOf("p2", [], []);
    const marking = await catalog.revision();
    const moves = [{ from: { pack: "p1", generation: 0, marking }, to: frameRow(10, "p2", { generation: 1 }) }];
    assert.equal(await catalog.moveFrames("up", 1, unit, moves, []), false);
    await catalog.condemn(["p1"], marking);
    await begin(catalog, "u2");
    await catalog.acquireFrames("u2", [10]);
    assert.equal(await catalog.moveFrames("up", 1, unit, moves, []), false);
    await catalog.endUpload("u2");
    await catalog.condemn(["p1"], marking);
    assert.equal(await catalog.moveFrames("up", 1, unit, moves, []), true);
    assert.equal((await catalog.frames([10]))[0]?.pack, "p2");
    assert.equal((await catalog.packs(["p1"]))[0]?.state, "deleting");
  });
}

function framesThatStay(make: MakeCatalog): void {
  test("frames that stay in a rewritten pack are removed with it, with their damage marks", async () => {
    const catalog = await make();
    await begin(catalog, "u1");
    const frames = [10, 11, 12].map((frame) => frameRow(frame, "p1"));
    await catalog.addUnit("u1", 1, unitOf("p1", frames, [itemRow(1, 10), itemRow(2, 11)]));
    await catalog.addUnit("u1", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(3, 20)]));
    await catalog.commit("u1", 1, snapshotOf("s1", [1]));
    await catalog.setDamaged([{ frame: 11, pack: "p1", generation: 0 }], true);
    const marking = await catalog.revision();
    await catalog.condemn(["p1"], marking);
    await begin(catalog, "up");
    const moves = [{ from: { pack: "p1", generation: 0, marking }, to: frameRow(10, "p3", { generation: 1 }) }];
    assert.equal(await catalog.moveFrames("up", 1, unitOf("p3", [], []), moves, [2]), true);
    assert.deepEqual(
      (await Array.fromAsync(catalog.allFrames())).map(({ frame, pack }) => [frame, pack]),
      [
        [10, "p3"],
        [20, "p2"],
      ],
    );
    assert.deepEqual([await catalog.damagedFrames(), (await begin(catalog, "u2")).damaged], [[], []]);
  });
}

function movesOfHeldItems(make: MakeCatalog): void {
  test("an upload that holds an item of a frame which heal has moved pins the new packs: its commit keeps the content", async () => {
    const catalog = await filled(make);
    await catalog.deleteSnapshot("s1", 1);
    await begin(catalog, "holder");
    await catalog.acquire("holder", [idOf(1)]);
    await begin(catalog, "up", { owner: "upkeep" });
    const packs = ["p2", "p3"].map((pack) => ({ pack, session: 1, size: 100, state: "live" as const }));
    const unit = { ...unitOf("p2", [frameRow(11, "p3", { kind: "meta" })], []), packs };
    const to = frameRow(10, "p2", { generation: 1, recordFrame: 11 });
    const moves = [{ from: { pack: "p1", generation: 0, marking: null }, to }];
    assert.equal(await catalog.moveFrames("up", 1, unit, moves, []), true);
    await catalog.endUpload("up");
    const { condemned } = await catalog.condemn(["p2", "p3"], await catalog.revision());
    assert.deepEqual(condemned, []);
    await catalog.commit("holder", 1, snapshotOf("s2", [1]));
  });

  test("an upload that holds an item pins the packs of its new recipe also if the recipe names a damaged frame", async () => {
    const catalog = await filled(make);
    await begin(catalog, "holder");
    await catalog.acquire("holder", [idOf(1)]);
    await catalog.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
    await begin(catalog, "upkeep", { owner: "upkeep" });
    const runs = [10, 20].map((frame) => ({ kind: "stored" as const, frame, slot: 0, count: 1, bytes: 5 }));
    const item = itemRow(1, 20, { recipe: encodeRecipe(runs) });
    await catalog.addUnit("upkeep", 1, unitOf("p2", [frameRow(20, "p2")], [item]));
    await catalog.endUpload("upkeep");
    assert.deepEqual((await catalog.condemn(["p2"], await catalog.revision())).condemned, []);
  });
}

function marks(make: MakeCatalog): void {
  test("an item with a damaged frame is not known, and a new upload gets its ordinal", async () => {
    const catalog = await filled(make);
    await catalog.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
    const { damaged } = await begin(catalog, "u2");
    assert.deepEqual(damaged, [1]);
    assert.deepEqual(await catalog.acquire("u2", [idOf(1)]), [null]);
  });

  test("a damage mark is for one version of a frame: a frame that has moved is neither marked nor cleared", async () => {
    const catalog = await filled(make);
    const mark = { frame: 10, pack: "p1", generation: 0 };
    await catalog.setDamaged([{ ...mark, generation: 1 }], true);
    await catalog.setDamaged([{ ...mark, pack: "p0" }], true);
    assert.deepEqual(await catalog.damagedFrames(), []);
    await catalog.setDamaged([mark], true);
    await catalog.setDamaged([{ ...mark, generation: 1 }], false);
    assert.deepEqual(await catalog.damagedFrames(), [10]);
    await catalog.setDamaged([mark], false);
    assert.deepEqual(await catalog.damagedFrames(), []);
  });
}

function damagedItems(make: MakeCatalog): void {
  test("a new upload gets every item with bytes in a damaged frame, also one that was registered after the mark", async () => {
    const catalog = await filled(make);
    let uploads = 2;
    const damaged = async () => (await begin(catalog, `u${uploads++}`)).damaged;
    await begin(catalog, "u1", { base: "s1" });
    await catalog.acquireFrames("u1", [10]);
    const mark = { frame: 10, pack: "p1", generation: 0 };
    await catalog.setDamaged([mark], true);
    await catalog.addUnit("u1", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20), itemRow(3, 10)]));
    assert.deepEqual(await damaged(), [1, 3]);
    await catalog.setDamaged([mark], false);
    assert.deepEqual(await damaged(), [], "the mark was wrong");
    await catalog.setDamaged([mark, { frame: 20, pack: "p2", generation: 0 }], true);
    assert.deepEqual(await damaged(), [1, 2, 3]);
    await catalog.addUnit("u1", 1, unitOf("p3", [frameRow(30, "p3")], [itemRow(3, 30)]));
    assert.deepEqual(await damaged(), [1, 2], "a new recipe");
    const moves = [{ from: { pack: "p1", generation: 0, marking: null }, to: frameRow(10, "p4", { generation: 1 }) }];
    await catalog.moveFrames("u1", 1, unitOf("p4", [], []), moves, [2]);
    assert.deepEqual(await damaged(), [], "one frame is healed, and the item of the other is gone");
    assert.deepEqual(await catalog.damagedFrames(), [20]);
    assert.deepEqual(await catalog.damagedFrames(20), []);
  });

  test("a deleted pack leaves no damage mark and no damaged item", async () => {
    const catalog = await filled(make);
    await catalog.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
    await catalog.deleteSnapshot("s1", 1);
    const marking = await catalog.revision();
    await catalog.condemn(["p1"], marking);
    assert.equal(await catalog.beginDelete("p1", marking, [1]), true);
    assert.deepEqual((await begin(catalog, "u2")).damaged, []);
    assert.deepEqual(await catalog.damagedFrames(), []);
  });
}

function retention(make: MakeCatalog): void {
  test("a held or locked snapshot is not deleted; a lock ends with its time", async () => {
    const catalog = await filled(make);
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: false }, 1);
    await assert.rejects(catalog.deleteSnapshot("s1", 99), { code: "retained" });
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: true }, 2);
    await assert.rejects(catalog.deleteSnapshot("s1", 101), { code: "retained" });
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: false }, 3);
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: true }, 2);
    await catalog.beginDeleteSnapshot("s1", 101);
    await assert.rejects(catalog.changeRetention("s1", noRetention, 4), { code: "conflict" });
    assert.equal((await Array.fromAsync(catalog.allReach())).length, 1, "protects its content until the row goes");
    await catalog.deleteSnapshot("s1", 1);
  });
}

function snapshotPages(make: MakeCatalog): void {
  test("snapshots come in pages: by time and id, in both directions, of one source, without their bitmaps", async () => {
    const catalog = await make();
    const rows = [5, 3, 5, 9, 3].map((completedAt, i) =>
      snapshotOf(`s${i}`, [], { completedAt, source: i % 2 === 0 ? "even" : "odd" }),
    );
    await catalog.addRebuilt({ snapshots: rows });
    const order = ["s1", "s4", "s0", "s2", "s3"];
    const ids = (page: readonly SnapshotInfo[]) => page.map(({ id }) => id);
    for (const limit of [1, 2, 3, 10]) {
      assert.deepEqual(ids(await Array.fromAsync(allSnapshots(catalog, { limit }))), order);
      const newestFirst = allSnapshots(catalog, { limit, newestFirst: true });
      assert.deepEqual(ids(await Array.fromAsync(newestFirst)), order.toReversed());
      const even = allSnapshots(catalog, { limit, source: "even" });
      assert.deepEqual(ids(await Array.fromAsync(even)), ["s4", "s0", "s2"]);
    }
    const [first] = await catalog.snapshotPage({ limit: 1 });
    assert.equal(first !== undefined && "reach" in first, false);
    assert.deepEqual(ids(await catalog.snapshotPage({ limit: 1, source: "none" })), []);
    const { reach: _, ...info } = (await catalog.snapshot("s1")) ?? snapshotOf("missing", []);
    assert.deepEqual(info, first);
    assert.equal(await catalog.snapshot("missing"), null);
  });

  test("a page has at most 1000 snapshots, and the next page continues after it", async () => {
    const catalog = await make();
    const names = Array.from({ length: 1001 }, (_, i) => `s${String(i).padStart(4, "0")}`);
    await catalog.addRebuilt({ snapshots: names.map((id) => snapshotOf(id, [])) });
    assert.equal((await catalog.snapshotPage({ limit: 5000 })).length, 1000);
    assert.deepEqual(
      (await Array.fromAsync(allSnapshots(catalog))).map(({ id }) => id),
      names,
    );
  });
}

function scans(make: MakeCatalog): void {
  test("marking gets the bitmap of every snapshot and of the base of every running upload", async () => {
    const catalog = await make();
    const names = Array.from({ length: 40 }, (_, i) => `s${i}`);
    await catalog.addRebuilt({ snapshots: names.map((id, i) => snapshotOf(id, [i + 1])) });
    await begin(catalog, "u1", { base: "s7" });
    await catalog.deleteSnapshot("s7", 1);
    const ordinals = async () => {
      const union = new Bitmap();
      for await (const reach of catalog.allReach()) union.or(Bitmap.decode(reach));
      return [...union];
    };
    assert.deepEqual(
      await ordinals(),
      names.map((_, i) => i + 1),
    );
    await catalog.endUpload("u1");
    assert.equal((await ordinals()).includes(8), false);
  });

  test("a scan returns every row once and in order, frames with the number of their slots and without block lists", async () => {
    const catalog = await make();
    const blockList = encodeBlockList({ ids: new Uint8Array(300 * 16), lengths: new Uint32Array(300).fill(7) });
    const numbers = Array.from({ length: 1200 }, (_, i) => i + 1);
    const packs = numbers.map((n) => `p${String(n).padStart(4, "0")}`);
    const unit: UploadUnit = {
      ...unitOf("p", [], []),
      packs: packs.map((pack) => ({ pack, session: 1, size: 1, state: "live" })),
      frames: numbers.map((n) =>
        frameRow(n, packs[n - 1] ?? "", n === 700 ? { blockList } : { kind: "meta", blockList: new Uint8Array(0) }),
      ),
      items: numbers.map((n) => itemRow(n, n)),
      hooks: [],
    };
    await catalog.addRebuilt({ unit });
    const frames = await Array.fromAsync(catalog.allFrames());
    assert.deepEqual(
      frames.map(({ frame }) => frame),
      numbers,
    );
    assert.equal("blockList" in (frames[699] ?? {}), false);
    assert.deepEqual([frames[699]?.slotCount, frames[0]?.slotCount], [300, 0]);
    assert.deepEqual(Buffer.from((await catalog.frames([700]))[0]?.blockList ?? []), blockList);
    const { slotCount: _, ...place } = frames[699] ?? {};
    assert.deepEqual(await catalog.framePlaces([700, 9999]), [place, null]);
    assert.deepEqual(
      (await Array.fromAsync(catalog.allItems())).map(({ ordinal }) => ordinal),
      numbers,
    );
    assert.deepEqual(
      (await Array.fromAsync(catalog.allPacks())).map(({ pack }) => pack),
      packs,
    );
    assert.deepEqual(
      (await catalog.packs(["p0003", "p"])).map((row) => row?.pack ?? null),
      ["p0003", null],
    );
  });
}

function rebuilds(make: MakeCatalog): void {
  test("a rebuild replaces the row of a snapshot that prune has recovered meanwhile, with its bitmap and retention", async () => {
    const catalog = await filled(make);
    await catalog.clear(testContext(2));
    const recovered = snapshotOf("s1", [1], { status: "recovered" });
    await catalog.addRebuilt({ snapshots: [recovered, snapshotOf("s2", [3])] });
    const hold = { expiresAt: null, lockedUntil: null, hold: true };
    const rebuilt = snapshotOf("s1", [1, 2], { status: "recovered", retention: hold, changes: 4, size: 9 });
    await catalog.addRebuilt({ snapshots: [rebuilt] });
    const { retention, changes, size, reach } = (await catalog.snapshot("s1")) ?? assert.fail("no row");
    assert.deepEqual([retention, changes, size, [...Bitmap.decode(reach)]], [hold, 4, 9, [1, 2]]);
    const ids = (await catalog.snapshotPage()).map(({ id }) => id);
    assert.deepEqual(ids, ["s1", "s2"], "one row each");
    const union = new Bitmap();
    for await (const reach of catalog.allReach()) union.or(Bitmap.decode(reach));
    assert.deepEqual([...union], [1, 2, 3]);
  });

  test("a rebuild adds nothing once another one has cleared the catalog", async () => {
    const catalog = await filled(make);
    const first = await catalog.clear(testContext(2));
    const found = { unit: unitOf("p1", [frameRow(10, "p1")], [itemRow(1, 10)]), nextOrdinal: 50 };
    await catalog.addRebuilt({ ...found, catalogId: first });
    const second = await catalog.clear(testContext(3));
    assert.notEqual(first, second);
    const late = { ...found, snapshots: [snapshotOf("s1", [1])], catalogId: first };
    await assert.rejects(catalog.addRebuilt(late), { code: "conflict" });
    assert.deepEqual([await catalog.frames([10]), await catalog.snapshot("s1")], [[null], null]);
    await catalog.addRebuilt({ ...found, catalogId: second });
    assert.equal((await catalog.frames([10]))[0]?.pack, "p1");
  });
}
