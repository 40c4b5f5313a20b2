/**
 * The conformance suite of the catalog port (`catalog/catalog.ts` has the rules). Run it on every implementation:
 *
 *   catalogConformance("my catalog", async () => new MyCatalog());
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CatalogError } from "../catalog/catalog.ts";
import { chainConformance } from "./catalog-conformance-chain.ts";
import { upkeepConformance } from "./catalog-conformance-upkeep.ts";
import type { MakeCatalog } from "./catalog-fixture.ts";
import { begin, filled, frameRow, idOf, itemRow, snapshotOf, unitOf } from "./catalog-fixture.ts";
import { testContext } from "./test-environment.ts";

/** Registers the suite. `make` makes an empty catalog. */
export function catalogConformance(name: string, make: MakeCatalog): void {
  describe(`catalog, ${name}`, () => {
    commits(make);
    units(make);
    sessions(make);
    repetition(make);
    known(make);
    lineage(make);
    hooks(make);
    upkeepConformance(make);
    chainConformance(make);
  });
}

function commits(make: MakeCatalog): void {
  test("a commit that reaches content which is neither in the base nor pinned is refused", async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2");
    await assert.rejects(catalog.commit("u2", 1, snapshotOf("s2", [1])), { code: "not_closed" });
    await begin(catalog, "u3", { base: "s1" });
    await catalog.commit("u3", 1, snapshotOf("s3", [1]));
    assert.deepEqual((await catalog.snapshotPage()).map(({ id }) => id).sort(), ["s1", "s3"]);
  });

  test("an upload that acquired an item pins the packs of its new recipe too: its commit is not refused", async () => {
    const catalog = await filled(make);
    await begin(catalog, "holder");
    await begin(catalog, "other");
    assert.equal((await catalog.acquire("holder", [idOf(1)]))[0]?.ordinal, 1);
    await begin(catalog, "upkeep", { owner: "upkeep" });
    await catalog.addUnit("upkeep", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(1, 20)]));
    await catalog.endUpload("upkeep");
    assert.deepEqual((await catalog.condemn(["p2"], await catalog.revision())).condemned, []);
    await catalog.commit("holder", 1, snapshotOf("s2", [1]));
    await assert.rejects(catalog.commit("other", 1, snapshotOf("s3", [1])), { code: "not_closed" });
  });

  test("a snapshot reaches what its base reaches and what its upload acquired or registered, and nothing else of the same packs", async () => {
    const catalog = await make();
    await begin(catalog, "u1");
    await catalog.addUnit("u1", 1, unitOf("p1", [frameRow(10, "p1")], [itemRow(1, 10), itemRow(2, 10)]));
    await catalog.endUpload("u1");
    await begin(catalog, "u2");
    await catalog.acquire("u2", [idOf(1)]);
    const reserved = (await catalog.reserveOrdinals(10, { upload: "u2", request: 1 })) + 9;
    for (const ordinals of [[2], [1, 2], [1, reserved], [1, 99]])
      await assert.rejects(catalog.commit("u2", 1, snapshotOf("s", ordinals)), { code: "not_closed" });
    assert.deepEqual(await catalog.acquireOrdinals("u2", [2, 99]), [true, false]);
    await catalog.commit("u2", 1, snapshotOf("s", [1, 2]));
    await begin(catalog, "u3", { base: "s" });
    await catalog.commit("u3", 1, snapshotOf("s3", [2]));
    await begin(catalog, "u2");
    await assert.rejects(catalog.commit("u2", 1, snapshotOf("s4", [1])), { code: "not_closed" }, "an ended upload");
    await assert.rejects(catalog.acquireOrdinals("nobody", [1]), { code: "unknown_upload" });
  });
}

function units(make: MakeCatalog): void {
  test("a unit of a client that needs a frame which is neither in it nor pinned is refused, and nothing of it stays", async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2");
    const lie = unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20), itemRow(3, 10)]);
    await assert.rejects(catalog.addUnit("u2", 1, lie, 1), { code: "not_closed" });
    const record = unitOf("p2", [frameRow(20, "p2", { recordFrame: 10 })], [itemRow(2, 20)]);
    await assert.rejects(catalog.addUnit("u2", 1, record, 1), { code: "not_closed" });
    assert.deepEqual(await catalog.itemsByOrdinal([2, 3]), [null, null]);
    assert.deepEqual(
      (await Array.fromAsync(catalog.allPacks())).map(({ pack }) => pack),
      ["p1"],
    );
    await catalog.acquireFrames("u2", [10]);
    await catalog.addUnit("u2", 1, lie, 1);
    assert.equal((await catalog.itemsByOrdinal([3]))[0]?.ordinal, 3);
  });

  test("a unit of a client replaces nothing: a frame or an ordinal that is registered already refuses all of it", async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2", { owner: "b", base: "s1" });
    await catalog.acquireFrames("u2", [10]);
    await catalog.addUnit("u2", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20, { owner: "b" })]), 1);
    const before = [await catalog.frames([10, 20]), await catalog.itemsByOrdinal([1, 2])];
    const other = { owner: "b", id: idOf(9) };
    for (const [frames, items] of [
      [[frameRow(10, "p3")], [itemRow(3, 10, other)]],
      [[frameRow(20, "p3")], [itemRow(3, 20, other)]],
      [[frameRow(30, "p3")], [itemRow(3, 30, other), itemRow(1, 30, other)]],
      [[frameRow(30, "p3")], [itemRow(3, 30, other), itemRow(2, 30, other)]],
    ] as const)
      await assert.rejects(catalog.addUnit("u2", 1, unitOf("p3", [...frames], [...items]), 2), { code: "conflict" });
    assert.deepEqual([await catalog.frames([10, 20]), await catalog.itemsByOrdinal([1, 2])], before);
    assert.deepEqual([await catalog.frames([30]), await catalog.itemsByOrdinal([3])], [[null], [null]]);
    assert.deepEqual(await catalog.packs(["p3"]), [null]);
    // The number of the refused unit is free: the client may send the right one.
    await catalog.addUnit("u2", 1, unitOf("p3", [frameRow(30, "p3")], [itemRow(3, 30, other)]), 2);
    assert.equal((await catalog.itemsByOrdinal([3]))[0]?.ordinal, 3);
  });

  test("a frame is pinned only in the generation that is asked for, and only for a running upload", async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2");
    assert.deepEqual(await catalog.acquireFrames("u2", [10, 11], [1, 0]), [false, false]);
    assert.deepEqual((await catalog.condemn(["p1"], await catalog.revision())).condemned, ["p1"], "not pinned");
    assert.deepEqual(await catalog.acquireFrames("u2", [10], [0]), [true]);
    await assert.rejects(catalog.acquireFrames("nobody", [10]), { code: "unknown_upload" });
  });
}

function sessions(make: MakeCatalog): void {
  test("an expired lease can neither register nor commit", async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2", { leaseUntil: 50, base: "s1" });
    await assert.rejects(catalog.addUnit("u2", 50, unitOf("p2", [], [])), { code: "lease_expired" });
    await assert.rejects(catalog.commit("u2", 50, snapshotOf("s2", [1])), { code: "lease_expired" });
    assert.deepEqual(await catalog.expireUploads(50), ["u2"]);
    await assert.rejects(catalog.commit("u2", 1, snapshotOf("s2", [1])), CatalogError);
  });

  test("a session number is issued once with its nonce; a claim of another catalog makes this one stale until it is cleared", async () => {
    const catalog = await make();
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
}

function repetition(make: MakeCatalog): void {
  test("a client may repeat what it did: begin, a reservation and a unit answer the same and change nothing", async () => {
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
}

function known(make: MakeCatalog): void {
  test("what another owner added is known only once it is verified", async () => {
    const catalog = await filled(make);
    await begin(catalog, "u2", { owner: "b" });
    assert.deepEqual(await catalog.acquire("u2", [idOf(1)]), [null]);
    await catalog.setVerified([1]);
    assert.equal((await catalog.acquire("u2", [idOf(1)]))[0]?.ordinal, 1);
  });

  test("of several items with one id a verified one is used, and of these the newest", async () => {
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

  test("an upload of the scope lineage is told of its owner's items only, and reaches no others", async () => {
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
}

function lineage(make: MakeCatalog): void {
  test("a snapshot of the scope lineage reaches no item of another owner, however its upload came to it", async () => {
    const catalog = await filled(make);
    const start = (upload: string, owner: string, base: string | null) =>
      catalog.beginUpload({ upload, owner, leaseUntil: 1000, base, scope: "lineage" });
    const commit = (upload: string, ordinals: number[]) => catalog.commit(upload, 1, snapshotOf(upload, ordinals));
    await start("a1", "a", "s1");
    await commit("a1", [1]);
    await start("a2", "a", "a1");
    await commit("a2", [1]);
    await start("b1", "b", "a2");
    await assert.rejects(commit("b1", [1]), { code: "not_closed" }, "of a base of another owner");
    assert.deepEqual(await catalog.acquireOrdinals("b1", [1]), [true]);
    await assert.rejects(commit("b1", [1]), { code: "not_closed" }, "acquired by its ordinal");
    const items = [itemRow(2, 20), itemRow(3, 20, { owner: "b" })];
    await catalog.addUnit("b1", 1, unitOf("p2", [frameRow(20, "p2")], items));
    await assert.rejects(commit("b1", [2, 3]), { code: "not_closed" }, "registered for another owner");
    await commit("b1", [3]);
    await start("b2", "b", "b1");
    await assert.rejects(commit("b2", [1, 3]), { code: "not_closed" });
    await commit("b2", [3]);
  });

  test("a base that a rebuild has found is of the owner only if all its items are", async () => {
    const catalog = await filled(make);
    const start = (upload: string, owner: string) =>
      catalog.beginUpload({ upload, owner, leaseUntil: 1000, base: "a1", scope: "lineage" });
    await begin(catalog, "u2", { owner: "b" });
    await catalog.addUnit("u2", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20, { owner: "b" })]));
    await catalog.beginUpload({ upload: "a1", owner: "a", leaseUntil: 1000, base: "s1", scope: "lineage" });
    await catalog.commit("a1", 1, snapshotOf("a1", [1]));
    await catalog.addRebuilt({ snapshots: [snapshotOf("a1", [1, 2])] });
    await start("a2", "a");
    await assert.rejects(catalog.commit("a2", 1, snapshotOf("a2", [1, 2])), { code: "not_closed" });
    await catalog.commit("a2", 1, snapshotOf("a2", [1]));
  });
}

function hooks(make: MakeCatalog): void {
  test("hooks and the order of segments are kept per owner", async () => {
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

  test("hooks, the order of segments, sessions and ordinals are those that were stored last", async () => {
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
