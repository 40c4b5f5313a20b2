import assert from "node:assert/strict";
import { test } from "node:test";
import { Bitmap } from "../bitmap.ts";
import { noRetention } from "../manifest.ts";
import { encodeRecipe } from "../recipes.ts";
import { labContext } from "../testing/lab.ts";
import { MemoryIndex } from "./memory.ts";
import type { FrameRow, Item, SnapshotRow, UploadUnit, VaultIndex } from "./port.ts";
import { IndexError } from "./port.ts";
import { openSqliteIndex } from "./sqlite.ts";

const makers: Record<string, () => VaultIndex> = {
  memory: () => new MemoryIndex(labContext(1)),
  sqlite: () => openSqliteIndex(":memory:", labContext(1)),
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
  directory: Buffer.alloc(0),
  record: 0,
  damaged: false,
  ...more,
});
const itemRow = (ordinal: number, frame: number, more: Partial<Item> = {}): Item => ({
  ordinal,
  kind: "segment",
  id: idOf(ordinal),
  recipe: encodeRecipe([{ kind: "stored", frame, slot: 0, count: 1, bytes: 5 }]),
  record: 0,
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
  index: VaultIndex,
  upload: string,
  more: { owner?: string; leaseUntil?: number; base?: string | null } = {},
) =>
  index.beginUpload({ upload, owner: more.owner ?? "a", leaseUntil: more.leaseUntil ?? 1000, base: more.base ?? null });
const generationOf = async (index: VaultIndex) => (await index.roots()).generation;

/** An index with one committed snapshot "s1": item 1 in frame 10 of pack p1. */
async function filled(make: () => VaultIndex): Promise<VaultIndex> {
  const index = make();
  await begin(index, "u1");
  await index.addUnit("u1", 1, unitOf("p1", [frameRow(10, "p1")], [itemRow(1, 10)]));
  await index.commit("u1", 1, snapshotOf("s1", [1]));
  return index;
}

for (const [name, make] of Object.entries(makers)) {
  test(`${name}: a commit that reaches content which is neither in the base nor pinned is refused`, async () => {
    const index = await filled(make);
    await begin(index, "u2");
    await assert.rejects(index.commit("u2", 1, snapshotOf("s2", [1])), { code: "not_closed" });
    await begin(index, "u3", { base: "s1" });
    await index.commit("u3", 1, snapshotOf("s3", [1]));
    assert.deepEqual((await index.snapshots()).map(({ id }) => id).sort(), ["s1", "s3"]);
  });

  test(`${name}: an expired lease can neither register nor commit`, async () => {
    const index = await filled(make);
    await begin(index, "u2", { leaseUntil: 50, base: "s1" });
    await assert.rejects(index.addUnit("u2", 50, unitOf("p2", [], [])), { code: "lease_expired" });
    await assert.rejects(index.commit("u2", 50, snapshotOf("s2", [1])), { code: "lease_expired" });
    assert.deepEqual(await index.expireUploads(50), ["u2"]);
    await assert.rejects(index.commit("u2", 1, snapshotOf("s2", [1])), IndexError);
  });

  test(`${name}: a replaced recipe is pinned for whoever was told of the old one: its commit is not refused`, async () => {
    const index = await filled(make);
    await begin(index, "told");
    await begin(index, "untold");
    assert.equal((await index.acquire("told", [idOf(1)]))[0]?.ordinal, 1);
    await begin(index, "upkeep", { owner: "upkeep" });
    await index.addUnit("upkeep", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]));
    await index.endUpload("upkeep");
    assert.deepEqual((await index.condemn(["p2"], await generationOf(index))).condemned, []);
    await index.commit("told", 1, snapshotOf("s2", [1]));
    await assert.rejects(index.commit("untold", 1, snapshotOf("s3", [1])), { code: "not_closed" });
  });

  test(`${name}: an answer known pins: the pack cannot be condemned until the upload ends`, async () => {
    const index = await filled(make);
    await index.deleteSnapshot("s1", 1);
    await begin(index, "u2");
    const [item] = await index.acquire("u2", [idOf(1)]);
    assert.equal(item?.ordinal, 1);
    assert.deepEqual((await index.condemn(["p1"], await generationOf(index))).condemned, []);
    await index.endUpload("u2");
    assert.deepEqual((await index.condemn(["p1"], await generationOf(index))).condemned, ["p1"]);
  });

  test(`${name}: needing a condemned pack brings it back; a deleting one is gone for good`, async () => {
    const index = await filled(make);
    await index.deleteSnapshot("s1", 1);
    const marking = await generationOf(index);
    await index.condemn(["p1"], marking);
    await begin(index, "u2");
    assert.equal((await index.acquire("u2", [idOf(1)]))[0]?.ordinal, 1);
    assert.equal(await index.beginDelete("p1", marking, [1]), false);
    await index.endUpload("u2");
    await index.condemn(["p1"], marking);
    assert.equal(await index.beginDelete("p1", marking, [1]), true);
    await begin(index, "u3");
    assert.deepEqual(await index.acquire("u3", [idOf(1)]), [null]);
    assert.deepEqual(await index.acquireFrames("u3", [10]), [false]);
    await index.forgetPack("p1");
    assert.deepEqual(await index.packs(), []);
  });

  test(`${name}: a pack that came back to life and was condemned again is not deleted or left by the older marking`, async () => {
    const index = await filled(make);
    await index.deleteSnapshot("s1", 1);
    const older = await generationOf(index);
    await index.condemn(["p1"], older);
    await begin(index, "u2");
    await index.acquire("u2", [idOf(1)]);
    await index.commit("u2", 1, snapshotOf("s2", [1]));
    const newer = await generationOf(index);
    assert.deepEqual((await index.condemn(["p1"], newer)).condemned, ["p1"]);
    assert.equal(await index.beginDelete("p1", older, [1]), false);
    await begin(index, "up");
    const to = frameRow(10, "p2", { generation: 1 });
    const move = (marking: number) =>
      index.moveFrames("up", 1, unitOf("p2", [], []), [{ from: { pack: "p1", generation: 0, marking }, to }], []);
    assert.equal(await move(older), false);
    assert.equal(await move(newer), true);
  });

  test(`${name}: condemning with a marking older than the last commit, deletion or new recipe is refused as stale`, async () => {
    const index = await filled(make);
    const before = await generationOf(index);
    await begin(index, "u2", { base: "s1" });
    await index.addUnit("u2", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]));
    assert.equal((await index.condemn(["p1"], before)).stale, true);
    const next = await generationOf(index);
    await index.commit("u2", 1, snapshotOf("s2", [1]));
    assert.equal((await index.condemn(["p1"], next)).stale, true);
  });

  test(`${name}: a pack that holds only the record of a known item is pinned with it`, async () => {
    const index = make();
    await begin(index, "u1");
    await index.addUnit("u1", 1, unitOf("meta", [frameRow(11, "meta", { kind: "meta" })], []));
    await index.addUnit(
      "u1",
      1,
      unitOf("data", [frameRow(10, "data", { record: 11 })], [itemRow(1, 10, { record: 11 })]),
    );
    await index.endUpload("u1");
    await begin(index, "u2");
    await index.acquireFrames("u2", [10]);
    assert.deepEqual((await index.condemn(["data", "meta"], await generationOf(index))).condemned, []);
  });

  test(`${name}: what another owner added is known only once it is verified`, async () => {
    const index = await filled(make);
    await begin(index, "u2", { owner: "b" });
    assert.deepEqual(await index.acquire("u2", [idOf(1)]), [null]);
    await index.setVerified([1]);
    assert.equal((await index.acquire("u2", [idOf(1)]))[0]?.ordinal, 1);
  });

  test(`${name}: damaged content is not known, and a new upload is told of it`, async () => {
    const index = await filled(make);
    await index.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
    const { damaged } = await begin(index, "u2");
    assert.deepEqual(damaged, [1]);
    assert.deepEqual(await index.acquire("u2", [idOf(1)]), [null]);
  });

  test(`${name}: a mark is for one version of a frame: one that moved since is neither marked nor cleared`, async () => {
    const index = await filled(make);
    const mark = { frame: 10, pack: "p1", generation: 0 };
    await index.setDamaged([{ ...mark, generation: 1 }], true);
    await index.setDamaged([{ ...mark, pack: "p0" }], true);
    assert.deepEqual(await index.damagedFrames(), []);
    await index.setDamaged([mark], true);
    await index.setDamaged([{ ...mark, generation: 1 }], false);
    assert.deepEqual(await index.damagedFrames(), [10]);
    await index.setDamaged([mark], false);
    assert.deepEqual(await index.damagedFrames(), []);
  });

  test(`${name}: a frame is replaced by healing only where it was found damaged, and its pack stays`, async () => {
    const index = await filled(make);
    await begin(index, "up");
    const to = frameRow(10, "p2", { generation: 1 });
    const move = (generation: number) => [{ from: { pack: "p1", generation, marking: null }, to }];
    assert.equal(await index.moveFrames("up", 1, unitOf("p2", [], []), move(1), []), false);
    assert.equal(await index.moveFrames("up", 1, unitOf("p2", [], []), move(0), []), true);
    assert.equal((await index.packs()).find(({ pack }) => pack === "p1")?.state, "live");
    assert.equal((await index.frames([10]))[0]?.pack, "p2");
  });

  test(`${name}: frames move only from a condemned, unpinned pack, all or none`, async () => {
    const index = await filled(make);
    await begin(index, "up");
    const unit = unitOf("p2", [], []);
    const marking = await generationOf(index);
    const moves = [{ from: { pack: "p1", generation: 0, marking }, to: frameRow(10, "p2", { generation: 1 }) }];
    assert.equal(await index.moveFrames("up", 1, unit, moves, []), false);
    await index.condemn(["p1"], marking);
    await begin(index, "u2");
    await index.acquireFrames("u2", [10]);
    assert.equal(await index.moveFrames("up", 1, unit, moves, []), false);
    await index.endUpload("u2");
    await index.condemn(["p1"], marking);
    assert.equal(await index.moveFrames("up", 1, unit, moves, []), true);
    assert.equal((await index.frames([10]))[0]?.pack, "p2");
    assert.equal((await index.packs()).find(({ pack }) => pack === "p1")?.state, "deleting");
  });

  test(`${name}: a held or locked snapshot is not deleted; a lock ends with its time`, async () => {
    const index = await filled(make);
    await index.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: false }, 1);
    await assert.rejects(index.deleteSnapshot("s1", 99), { code: "retained" });
    await index.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: true }, 2);
    await assert.rejects(index.deleteSnapshot("s1", 101), { code: "retained" });
    await index.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: false }, 3);
    await index.changeRetention("s1", { expiresAt: null, lockedUntil: 100, hold: true }, 2);
    await assert.rejects(index.changeRetention("s1", noRetention, 5), { code: "conflict" });
    await index.beginDeleteSnapshot("s1", 101);
    await assert.rejects(index.changeRetention("s1", noRetention, 4), { code: "conflict" });
    assert.equal((await index.roots()).reach.length, 1, "protects its content until the row goes");
    await index.deleteSnapshot("s1", 1);
  });

  test(`${name}: a number is given out once with its nonce; one claim found taken stops the index until it is cleared`, async () => {
    const index = make();
    const first = await begin(index, "u1");
    const second = await begin(index, "u2");
    assert.notEqual(first.session, second.session);
    assert.notEqual(first.nonce, second.nonce);
    assert.equal(await index.givenNonce(first.session), first.nonce);
    assert.equal(await index.givenNonce(second.session + 1), null);
    await index.settleClaim(first.session, true);
    assert.deepEqual((await index.sessions()).open, [{ session: second.session, nonce: second.nonce }]);
    await index.settleClaim(second.session, false);
    assert.deepEqual(await index.sessions(), {
      live: [first.session, second.session],
      next: second.session + 1,
      open: [],
      stale: true,
    });
    await assert.rejects(begin(index, "u3"), { code: "stale" });
    await index.clear(labContext(2));
    assert.equal(await index.givenNonce(first.session), null);
    assert.ok((await begin(index, "u3")).session > second.session);
  });

  test(`${name}: hooks and successors of several owners live side by side`, async () => {
    const index = await filled(make);
    await begin(index, "u2", { owner: "b" });
    const items = [itemRow(2, 20, { owner: "b" }), itemRow(3, 20, { owner: "b" })];
    const unit = { ...unitOf("p2", [frameRow(20, "p2")], items), hooks: [[1n, 2]] as const };
    await index.addUnit("u2", 1, unit);
    const found = async (owner: string) => (await index.findHooks(owner, [1n]))[0];
    assert.deepEqual([await found("a"), await found("b"), await found("c")], [1, 2, null]);
    await index.setVerified([1]);
    assert.deepEqual([await found("a"), await found("b"), await found("c")], [1, 2, 1], "verified: anybody's");
    const next = async (ordinal: number) => (await index.itemsByOrdinal([ordinal]))[0]?.next;
    const more = (pack: string, follows: readonly (readonly [number, number])[]) => ({
      ...unitOf(pack, [], []),
      follows,
    });
    await index.addUnit("u2", 1, more("p3", [[1, 2]]));
    assert.equal(await next(1), 2, "nobody had said what follows");
    await begin(index, "u4");
    await index.addUnit("u4", 1, { ...unitOf("p4", [], [itemRow(4, 10)]), follows: [[1, 4]] });
    await index.addUnit("u2", 1, more("p5", [[1, 3]]));
    assert.equal(await next(1), 4, "the owner's word stays");
  });

  test(`${name}: hooks, successors, sessions and ordinals are what was stored last`, async () => {
    const index = await filled(make);
    assert.deepEqual(await index.findHooks("a", [1n, 9n, -5n]), [1, null, null]);
    await begin(index, "u2", { base: "s1" });
    const unit = {
      ...unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20)]),
      hooks: [[-5n, 2]] as const,
      follows: [[1, 2]] as const,
    };
    await index.addUnit("u2", 1, unit);
    assert.deepEqual(await index.findHooks("a", [-5n]), [2]);
    assert.equal((await index.itemsByOrdinal([1]))[0]?.next, 2);
    const first = await index.reserveOrdinals(10);
    assert.equal(await index.reserveOrdinals(1), first + 10);
    assert.equal(Buffer.from((await index.session(1))?.header ?? []).toString(), "h");
  });
}
