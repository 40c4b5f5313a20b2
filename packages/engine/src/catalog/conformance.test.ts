import assert from "node:assert/strict";
import { test } from "node:test";
import { Bitmap } from "../format/bitmap.ts";
import { encodeRecipe } from "../format/recipe.ts";
import { noRetention } from "../format/snapshot.ts";
import { testContext } from "../testing/test-environment.ts";
import type { Catalog, FrameRow, Item, SnapshotRow, UploadUnit } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";
import { MemoryCatalog } from "./memory.ts";
import { openSqliteCatalog } from "./sqlite/sqlite.ts";

const makers: Record<string, () => Catalog> = {
  memory: () => new MemoryCatalog(testContext(1)),
  sqlite: () => openSqliteCatalog(":memory:", testContext(1)),
};

const idOf = (n: number) => Buffer.alloc(32, n);
const frameRow = (frame: number, pack: string, more: Partial<FrameRow> = {}): FrameRow => ({
  frame,
  generation: 0,
  kind: "data",
  pack,
  offset: 0,
  length: 10,
  frameId: Buffer.alloc(32),
  session: 1,
  blockList: Buffer.alloc(0),
  recordFrame: 0,
  damaged: false,
  ...more,
});
const itemRow = (ordinal: number, frame: number, more: Partial<Item> = {}): Item => ({
  ordinal,
  kind: "segment",
  id: idOf(ordinal),
  recipe: encodeRecipe([{ kind: "stored", frame, slot: 0, count: 1, bytes: 5 }]),
  recordFrame: 0,
  next: 0,
  owner: "a",
  verified: false,
  ...more,
});
const unitOf = (pack: string, frames: FrameRow[], items: Item[]): UploadUnit => ({
  packs: [{ pack, session: 1, size: 100, state: "live" }],
  header: Buffer.from("h"),
  frames,
  items,
  hooks: items.map(({ ordinal }) => [BigInt(ordinal), ordinal]),
  follows: [],
});
const snapshotOf = (id: string, ordinals: number[], more: Partial<SnapshotRow> = {}): SnapshotRow => {
  const reach = new Bitmap();
  for (const ordinal of ordinals) reach.add(ordinal);
  return {
    id,
    source: "s",
    session: 1,
    startedAt: 1,
    completedAt: 2,
    rootOrdinal: ordinals[0] ?? 0,
    rootId: idOf(1),
    size: 0,
    files: 0,
    warnings: 0,
    storedBytes: 0,
    status: "completed",
    changes: 0,
    retention: noRetention,
    reach: reach.encode(),
    ...more,
  };
};
const begin = (
  catalog: Catalog,
  upload: string,
  more: { owner?: string; leaseUntil?: number; base?: string | null } = {},
) =>
  catalog.beginUpload({
    upload,
    owner: more.owner ?? "a",
    leaseUntil: more.leaseUntil ?? 1000,
    base: more.base ?? null,
  });
const revisionOf = async (catalog: Catalog) => (await catalog.roots()).revision;

/** A catalog with one committed snapshot "s1": item 1 in frame 10 of pack p1. */
async function filled(make: () => Catalog): Promise<Catalog> {
  const catalog = make();
  await begin(catalog, "u1");
  await catalog.addUnit("u1", 1, unitOf("p1", [frameRow(10, "p1")], [itemRow(1, 10)]));
  await catalog.commit("u1", 1, snapshotOf("s1", [1]));
  return catalog;
}

for (const [name, make] of Object.entries(makers)) {
  test(`${name}: a commit that reaches content which is neither in the base nor pinned is refused`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2");
    await assert.rejects(catalog.commit("u2", 1, snapshotOf("s2", [1])), { code: "not_closed" });
    await begin(catalog, "u3", { base: "s1" });
    await catalog.commit("u3", 1, snapshotOf("s3", [1]));
    assert.deepEqual((await catalog.snapshots()).map(({ id }) => id).sort(), ["s1", "s3"]);
  });

  test(`${name}: an expired lease can neither register nor commit`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2", { leaseUntil: 50, base: "s1" });
    await assert.rejects(catalog.addUnit("u2", 50, unitOf("p2", [], [])), { code: "lease_expired" });
    await assert.rejects(catalog.commit("u2", 50, snapshotOf("s2", [1])), { code: "lease_expired" });
    assert.deepEqual(await catalog.expireUploads(50), ["u2"]);
    await assert.rejects(catalog.commit("u2", 1, snapshotOf("s2", [1])), CatalogError);
  });

  test(`${name}: an upload that acquired an item pins the packs of its new recipe too: its commit is not refused`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "holder");
    await begin(catalog, "other");
    assert.equal((await catalog.acquire("holder", [idOf(1)]))[0]?.ordinal, 1);
    await begin(catalog, "upkeep", { owner: "upkeep" });
    await catalog.addUnit("upkeep", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]));
    await catalog.endUpload("upkeep");
    assert.deepEqual((await catalog.condemn(["p2"], await revisionOf(catalog))).condemned, []);
    await catalog.commit("holder", 1, snapshotOf("s2", [1]));
    await assert.rejects(catalog.commit("other", 1, snapshotOf("s3", [1])), { code: "not_closed" });
  });

  test(`${name}: an acquired item pins its pack: it cannot be condemned until the upload ends`, async () => {
    const catalog = await filled(make);
    await catalog.deleteSnapshot("s1", 1);
    await begin(catalog, "u2");
    const [item] = await catalog.acquire("u2", [idOf(1)]);
    assert.equal(item?.ordinal, 1);
    assert.deepEqual((await catalog.condemn(["p1"], await revisionOf(catalog))).condemned, []);
    await catalog.endUpload("u2");
    assert.deepEqual((await catalog.condemn(["p1"], await revisionOf(catalog))).condemned, ["p1"]);
  });

  test(`${name}: an acquired item makes its condemned pack live again; a deleting pack stays deleting`, async () => {
    const catalog = await filled(make);
    await catalog.deleteSnapshot("s1", 1);
    const marking = await revisionOf(catalog);
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
    assert.deepEqual(await catalog.packs(), []);
  });

  test(`${name}: a pack that became live and was condemned again is neither deleted nor rewritten by the older marking`, async () => {
    const catalog = await filled(make);
    await catalog.deleteSnapshot("s1", 1);
    const older = await revisionOf(catalog);
    await catalog.condemn(["p1"], older);
    await begin(catalog, "u2");
    await catalog.acquire("u2", [idOf(1)]);
    await catalog.commit("u2", 1, snapshotOf("s2", [1]));
    const newer = await revisionOf(catalog);
    assert.deepEqual((await catalog.condemn(["p1"], newer)).condemned, ["p1"]);
    assert.equal(await catalog.beginDelete("p1", older, [1]), false);
    await begin(catalog, "up");
    const to = frameRow(10, "p2", { generation: 1 });
    const move = (marking: number) =>
      catalog.moveFrames("up", 1, unitOf("p2", [], []), [{ from: { pack: "p1", generation: 0, marking }, to }], []);
    assert.equal(await move(older), false);
    assert.equal(await move(newer), true);
  });

  test(`${name}: condemning with a marking older than the last commit, deletion or new recipe is refused: the revision has changed`, async () => {
    const catalog = await filled(make);
    const before = await revisionOf(catalog);
    await begin(catalog, "u2", { base: "s1" });
    await catalog.addUnit("u2", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]));
    assert.equal((await catalog.condemn(["p1"], before)).revisionChanged, true);
    const next = await revisionOf(catalog);
    await catalog.commit("u2", 1, snapshotOf("s2", [1]));
    assert.equal((await catalog.condemn(["p1"], next)).revisionChanged, true);
  });

  test(`${name}: a pack that holds only the record of a known item is pinned with it`, async () => {
    const catalog = make();
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
    assert.deepEqual((await catalog.condemn(["data", "meta"], await revisionOf(catalog))).condemned, []);
  });

  test(`${name}: what another owner added is known only once it is verified`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2", { owner: "b" });
    assert.deepEqual(await catalog.acquire("u2", [idOf(1)]), [null]);
    await catalog.setVerified([1]);
    assert.equal((await catalog.acquire("u2", [idOf(1)]))[0]?.ordinal, 1);
  });

  test(`${name}: of several items with one id a verified one is used, and of these the newest`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2");
    const again = [2, 3].map((ordinal) => itemRow(ordinal, 10, { id: idOf(1) }));
    await catalog.addUnit("u2", 1, unitOf("p2", [], again));
    const used = async () => (await catalog.acquire("u2", [idOf(1)]))[0]?.ordinal;
    assert.equal(await used(), 3, "the newest");
    await catalog.setVerified([1]);
    assert.equal(await used(), 1, "the verified one");
    await catalog.setVerified([2]);
    assert.equal(await used(), 2, "the newest verified one");
  });

  test(`${name}: an item with a damaged frame is not known, and a new upload gets its ordinal`, async () => {
    const catalog = await filled(make);
    await catalog.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
    const { damaged } = await begin(catalog, "u2");
    assert.deepEqual(damaged, [1]);
    assert.deepEqual(await catalog.acquire("u2", [idOf(1)]), [null]);
  });

  test(`${name}: a damage mark is for one version of a frame: a frame that has moved is neither marked nor cleared`, async () => {
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

  test(`${name}: heal replaces a frame only in the version that was damaged, and its pack stays`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "up");
    const to = frameRow(10, "p2", { generation: 1 });
    const move = (generation: number) => [{ from: { pack: "p1", generation, marking: null }, to }];
    assert.equal(await catalog.moveFrames("up", 1, unitOf("p2", [], []), move(1), []), false);
    assert.equal(await catalog.moveFrames("up", 1, unitOf("p2", [], []), move(0), []), true);
    assert.equal((await catalog.packs()).find(({ pack }) => pack === "p1")?.state, "live");
    assert.equal((await catalog.frames([10]))[0]?.pack, "p2");
  });

  test(`${name}: frames move only from a condemned, unpinned pack, all or none`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "up");
    const unit = unitOf("p2", [], []);
    const marking = await revisionOf(catalog);
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
    assert.equal((await catalog.packs()).find(({ pack }) => pack === "p1")?.state, "deleting");
  });

  test(`${name}: a held or locked snapshot is not deleted; a lock ends with its time`, async () => {
    const catalog = await filled(make);
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: false }, 1);
    await assert.rejects(catalog.deleteSnapshot("s1", 99), { code: "retained" });
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: true }, 2);
    await assert.rejects(catalog.deleteSnapshot("s1", 101), { code: "retained" });
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: false }, 3);
    await catalog.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: true }, 2);
    await catalog.beginDeleteSnapshot("s1", 101);
    await assert.rejects(catalog.changeRetention("s1", noRetention, 4), { code: "conflict" });
    assert.equal((await catalog.roots()).reach.length, 1, "protects its content until the row goes");
    await catalog.deleteSnapshot("s1", 1);
  });

  test(`${name}: a session number is issued once with its nonce; a claim of another catalog makes this one stale until it is cleared`, async () => {
    const catalog = make();
    const first = await begin(catalog, "u1");
    const second = await begin(catalog, "u2");
    assert.notEqual(first.session, second.session);
    assert.notEqual(first.nonce, second.nonce);
    assert.equal(await catalog.issuedNonce(first.session), first.nonce);
    assert.equal(await catalog.issuedNonce(second.session + 1), null);
    await catalog.settleClaim(first.session, true);
    assert.deepEqual((await catalog.sessions()).open, [{ session: second.session, nonce: second.nonce }]);
    await catalog.settleClaim(second.session, false);
    assert.deepEqual(await catalog.sessions(), {
      running: [first.session, second.session],
      next: second.session + 1,
      open: [],
      stale: true,
    });
    await assert.rejects(begin(catalog, "u3"), { code: "stale" });
    await catalog.clear(testContext(2));
    assert.equal(await catalog.issuedNonce(first.session), null);
    assert.ok((await begin(catalog, "u3")).session > second.session);
  });

  test(`${name}: a client may repeat what it did: begin, a reservation and a unit answer the same and change nothing`, async () => {
    const catalog = await filled(make);
    const begun = { upload: "u2", owner: "a", leaseUntil: 1000, base: "s1", ordinals: 8 };
    const start = await catalog.beginUpload(begun);
    assert.deepEqual(await catalog.beginUpload(begun), start);
    assert.equal(start.ordinals.end - start.ordinals.first, 8);
    await assert.rejects(catalog.beginUpload({ ...begun, owner: "b" }), { code: "conflict" });
    const request = { upload: "u2", request: 1 };
    const first = await catalog.reserveOrdinals(5, request);
    assert.equal(await catalog.reserveOrdinals(5, request), first);
    assert.equal(await catalog.reserveOrdinals(5, { ...request, request: 2 }), first + 5);
    assert.deepEqual(await catalog.uploadState("u2"), {
      owner: "a",
      scope: "vault",
      session: start.session,
      nonce: start.nonce,
      leaseUntil: 1000,
      ordinals: [start.ordinals, { first, end: first + 5 }, { first: first + 5, end: first + 10 }],
    });
    const unit = unitOf("p2", [frameRow(20, "p2")], [itemRow(first, 20)]);
    await catalog.addUnit("u2", 1, unit, 1);
    await catalog.addUnit("u2", 1, unit, 1);
    await assert.rejects(catalog.addUnit("u2", 1, unit, 2), Error, "the pack is registered");
    await catalog.commit("u2", 1, snapshotOf("s2", [1, first]));
    assert.equal(await catalog.uploadState("u2"), null);
    await assert.rejects(catalog.reserveOrdinals(5, request), { code: "unknown_upload" });
    const again = await catalog.beginUpload({ ...begun, base: null });
    assert.notEqual(again.session, start.session);
    assert.equal((await catalog.uploadState("u2"))?.ordinals.length, 1, "nothing is left of the ended upload");
  });

  test(`${name}: a unit of a client that needs a frame which is neither in it nor pinned is refused, and nothing of it stays`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2");
    const lie = unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20), itemRow(3, 10)]);
    await assert.rejects(catalog.addUnit("u2", 1, lie, 1), { code: "not_closed" });
    const record = unitOf("p2", [frameRow(20, "p2", { recordFrame: 10 })], [itemRow(2, 20)]);
    await assert.rejects(catalog.addUnit("u2", 1, record, 1), { code: "not_closed" });
    assert.deepEqual(await catalog.itemsByOrdinal([2, 3]), [null, null]);
    assert.deepEqual(
      (await catalog.packs()).map(({ pack }) => pack),
      ["p1"],
    );
    await catalog.acquireFrames("u2", [10]);
    await catalog.addUnit("u2", 1, lie, 1);
    assert.equal((await catalog.itemsByOrdinal([3]))[0]?.ordinal, 3);
  });

  test(`${name}: a frame is pinned only in the generation that is asked for, and only for a running upload`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2");
    assert.deepEqual(await catalog.acquireFrames("u2", [10, 11], [1, 0]), [false, false]);
    assert.deepEqual((await catalog.condemn(["p1"], await revisionOf(catalog))).condemned, ["p1"], "not pinned");
    assert.deepEqual(await catalog.acquireFrames("u2", [10], [0]), [true]);
    await assert.rejects(catalog.acquireFrames("nobody", [10]), { code: "unknown_upload" });
  });

  test(`${name}: an upload of the scope lineage is told of its owner's items only, and reaches no others`, async () => {
    const catalog = await filled(make);
    await catalog.setVerified([1]);
    const lineage = (upload: string, owner: string, base: string | null) =>
      catalog.beginUpload({ upload, owner, leaseUntil: 1000, base, scope: "lineage" });
    await lineage("b", "b", "s1");
    assert.deepEqual(await catalog.acquire("b", [idOf(1)]), [null]);
    assert.deepEqual(await catalog.findHooks("b", [1n], "lineage"), [null]);
    assert.deepEqual(await catalog.findHooks("b", [1n], "vault"), [1]);
    assert.deepEqual(await catalog.findHooks("a", [1n], "lineage"), [1]);
    await assert.rejects(catalog.commit("b", 1, snapshotOf("s2", [1])), { code: "not_closed" });
    await lineage("a", "a", "s1");
    assert.equal((await catalog.acquire("a", [idOf(1)]))[0]?.ordinal, 1);
    await catalog.commit("a", 1, snapshotOf("s3", [1]));
  });

  test(`${name}: hooks and the order of segments are kept per owner`, async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2", { owner: "b" });
    const items = [itemRow(2, 20, { owner: "b" }), itemRow(3, 20, { owner: "b" })];
    const unit = { ...unitOf("p2", [frameRow(20, "p2")], items), hooks: [[1n, 2]] as const };
    await catalog.addUnit("u2", 1, unit);
    const found = async (owner: string) => (await catalog.findHooks(owner, [1n]))[0];
    assert.deepEqual([await found("a"), await found("b"), await found("c")], [1, 2, null]);
    await catalog.setVerified([1]);
    assert.deepEqual([await found("a"), await found("b"), await found("c")], [1, 2, 1], "verified: anybody's");
    await catalog.setVerified([2]);
    assert.deepEqual([await found("a"), await found("b"), await found("c")], [1, 2, 2], "the own one, then the newest");
    const next = async (ordinal: number) => (await catalog.itemsByOrdinal([ordinal]))[0]?.next;
    const more = (pack: string, follows: readonly (readonly [number, number])[]) => ({
      ...unitOf(pack, [], []),
      follows,
    });
    await catalog.addUnit("u2", 1, more("p3", [[1, 2]]));
    assert.equal(await next(1), 2, "no next segment was registered before");
    await begin(catalog, "u4");
    await catalog.addUnit("u4", 1, { ...unitOf("p4", [], [itemRow(4, 10)]), follows: [[1, 4]] });
    await catalog.addUnit("u2", 1, more("p5", [[1, 3]]));
    assert.equal(await next(1), 4, "the owner's word stays");
  });

  test(`${name}: hooks, the order of segments, sessions and ordinals are those that were stored last`, async () => {
    const catalog = await filled(make);
    assert.deepEqual(await catalog.findHooks("a", [1n, 9n, -5n]), [1, null, null]);
    await begin(catalog, "u2", { base: "s1" });
    const unit = {
      ...unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20)]),
      hooks: [[-5n, 2]] as const,
      follows: [[1, 2]] as const,
    };
    await catalog.addUnit("u2", 1, unit);
    assert.deepEqual(await catalog.findHooks("a", [-5n]), [2]);
    assert.equal((await catalog.itemsByOrdinal([1]))[0]?.next, 2);
    const first = await catalog.reserveOrdinals(10);
    assert.equal(await catalog.reserveOrdinals(1), first + 10);
    assert.equal(Buffer.from((await catalog.session(1))?.header ?? []).toString(), "h");
  });
}
