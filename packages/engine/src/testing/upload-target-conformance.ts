/**
 * The conformance suite of the upload port (`backup/upload-target.ts` has the rules). Run it on every implementation:
 *
 *   uploadTargetConformance("my target", async () => ({ env, target: (options) => new MyTarget(env, options) }));
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClientUnit, SegmentQuery, UploadTarget } from "../backup/upload-target.ts";
import { uploadLeaseMs } from "../backup/upload-target.ts";
import type { CatalogErrorCode, UploadScope } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import type { SnapshotDraft } from "../format/manifest.ts";
import { encodeRecipe } from "../format/recipe.ts";
import { prune } from "../upkeep/prune.ts";
import { verifySnapshots } from "../upkeep/verify.ts";
import { listSnapshots } from "./catalog-content.ts";
import { SeededRandom } from "./random-tree.ts";
import type { AroundCall } from "./target-doubles.ts";
import { assertSameAnswer, beforeCall, inTurn, intercept, reorderCalls, repeatCalls } from "./target-doubles.ts";
import { inlineRestorePool } from "./test-environment.ts";
import type { TargetUnderTest } from "./upload-target-client.ts";
import {
  assertRestores,
  assertSameStored,
  assertSound,
  backUp,
  chainRecords,
  changeUnits,
  framesOf,
  keepPacks,
  keepQuestions,
  keepUnits,
  laterCalls,
  pieces,
  shifted,
  withRecipe,
  withRecord,
} from "./upload-target-client.ts";

export type { TargetOptions, TargetUnderTest } from "./upload-target-client.ts";

/** Registers the suite. `make` opens an empty vault. */
export function uploadTargetConformance(name: string, make: () => Promise<TargetUnderTest>): void {
  describe(`upload port, ${name}`, () => {
    repetition(make);
    processes(make);
    overtaken(make);
    ends(make);
    lies(make);
    scopes(make);
  });
}

function repetition(make: () => Promise<TargetUnderTest>): void {
  test("every call may be repeated: the same answers, one session, one snapshot, one record in the chain", async (t) => {
    const once = await backUp(t, await make(), (targets) => inTurn(targets)());
    const twice = await backUp(t, await make(), (targets) => intercept(inTurn(targets.slice(0, 1)), repeatCalls));
    await assertSameStored(twice, once);
    await assertRestores(t, twice);
  });

  test("an answer that is lost at any call: the call is repeated and the backup goes on", async (t) => {
    const under = await make();
    for (let number = 1; ; number++) {
      let calls = 0;
      const around: AroundCall = async (_name, call) => {
        if (++calls === number) await call();
        return call();
      };
      const done = await backUp(t, under, (targets) => intercept(inTurn(targets), around), `lost ${number}`);
      await assertRestores(t, done);
      if (calls < number) break;
    }
    await assertSound(under.env);
  });

  test("the same request gets the same ordinals, another request gets others", async () => {
    const { target } = await make();
    const [one, two] = ["u", "u"].map((upload) => target({ upload, owner: "a" }));
    assert.ok(one !== undefined && two !== undefined);
    const start = await one.begin(null);
    assert.deepEqual(await two.begin(null), start);
    const first = await one.reserveOrdinals(1, 10);
    const second = await two.reserveOrdinals(2, 10);
    assert.deepEqual(await two.reserveOrdinals(1, 10), first);
    assert.deepEqual(await one.reserveOrdinals(2, 10), second);
    const ranges = [start.ordinals, first, second].sort((a, b) => a.first - b.first);
    for (const [i, range] of ranges.entries()) assert.ok(i === 0 || range.first >= (ranges[i - 1]?.end ?? 0));
    for (const [request, count] of [
      [0, 1],
      [3, 0],
      [3, -1],
      [3, 1e9],
      [1.5, 1],
    ] as const)
      await assert.rejects(one.reserveOrdinals(request, count), FormatError);
  });

  test("a repeated pack is stored once; another pack under a name that is taken is refused and changes nothing", async (t) => {
    const under = await make();
    const packs = new Map<string, Buffer>();
    await backUp(t, under, (targets) => keepPacks(inTurn(targets)(), packs));
    const [[name, bytes] = ["", Buffer.alloc(0)]] = packs;
    const { store, names } = under.env.vault;
    const target = under.target({ upload: "other", owner: "other" });
    await target.begin(null);
    await target.putPack(name, pieces(bytes));
    const changed = Buffer.from(bytes);
    changed[changed.length - 20] = (changed[changed.length - 20] ?? 0) ^ 1;
    for (const lie of [changed, bytes.subarray(1), Buffer.alloc(0), Buffer.concat([bytes, bytes])])
      await assert.rejects(target.putPack(name, pieces(lie)), FormatError);
    assert.deepEqual(Buffer.from(await store.get(names.pack(name))), bytes);
    for (const bad of ["", "../snapshots/x", `${name}0`, name.toUpperCase(), "x"])
      await assert.rejects(target.putPack(bad, pieces(bytes)), FormatError, bad);
  });
}

function processes(make: () => Promise<TargetUnderTest>): void {
  test("two processes answer in turn: the same is stored as with one", async (t) => {
    const one = await backUp(t, await make(), (targets) => inTurn(targets.slice(0, 1))());
    const two = await backUp(t, await make(), (targets) => intercept(inTurn(targets), (_name, call) => call()));
    await assertSameStored(two, one);
    await assertRestores(t, two);
  });

  test("answers that overtake each other: nothing is stored twice and nothing is lost", async (t) => {
    const plain = await backUp(t, await make(), (targets) => inTurn(targets)());
    for (let seed = 1; seed <= 3; seed++) {
      const around = reorderCalls(new SeededRandom(seed));
      const under = await make();
      const first = await backUp(t, under, (targets) => intercept(inTurn(targets), around));
      await assertSameStored(first, plain);
      await assertRestores(t, first);
      under.env.ctx.advance(1000);
      const again = await backUp(t, under, (targets) => intercept(inTurn(targets), around), "again");
      assert.ok(again.result.snapshot.storedBytes < 20_000, `${again.result.snapshot.storedBytes} stored again`);
      await assertRestores(t, again);
      await assertSound(under.env);
    }
  });

  test("two processes complete the same snapshot at the same time: one row, one record", async (t) => {
    const under = await make();
    const [one, two] = [0, 1].map(() => under.target({ upload: "u", owner: "a" }));
    assert.ok(one !== undefined && two !== undefined);
    const before = await chainRecords(under.env);
    const both: UploadTarget = {
      ...intercept(
        () => one,
        (_name, call) => call(),
      ),
      complete: async (draft) => {
        const rows = await Promise.all([one.complete(draft), two.complete(draft)]);
        assertSameAnswer(rows[0], rows[1]);
        return rows[0];
      },
    };
    const done = await backUp(t, under, () => both);
    assert.equal((await listSnapshots(under.env.vault.catalog)).length, 1);
    assert.equal((await chainRecords(under.env)) - before, 1);
    await assertRestores(t, done);
  });

  test("a process that ends between the record in the chain and the row: the repeated call adds the row and no second record", async (t) => {
    const under = await make();
    const { catalog } = under.env.vault;
    const before = await chainRecords(under.env);
    const commit = t.mock.method(catalog, "commit", async () => {
      throw new Error("the process has ended");
    });
    const around: AroundCall = async (name, call) => {
      if (name !== "complete") return call();
      await assert.rejects(call(), /the process has ended/);
      commit.mock.restore();
      return call();
    };
    const done = await backUp(t, under, (targets) => intercept(inTurn(targets), around));
    assert.equal((await chainRecords(under.env)) - before, 1);
    await assertRestores(t, done);
    await assertSound(under.env);
  });
}

function overtaken(make: () => Promise<TargetUnderTest>): void {
  test("an upload that another process completes after it was looked up: the same row", async (t) => {
    const under = await make();
    const [one, two] = [0, 1].map(() => under.target({ upload: "u", owner: "a" }));
    assert.ok(one !== undefined && two !== undefined);
    const { catalog } = under.env.vault;
    const renewUpload = catalog.renewUpload.bind(catalog);
    const inTurn: UploadTarget = {
      ...intercept(
        () => one,
        (_name, call) => call(),
      ),
      complete: async (draft) => {
        const others: unknown[] = [];
        const renew = t.mock.method(catalog, "renewUpload", async (...words: Parameters<typeof renewUpload>) => {
          renew.mock.restore();
          others.push(await two.complete(draft));
          return renewUpload(...words);
        });
        const row = await one.complete(draft);
        assert.equal(others.length, 1);
        assertSameAnswer(row, others[0]);
        return row;
      },
    };
    await backUp(t, under, () => inTurn);
    assert.equal((await listSnapshots(catalog)).length, 1);
  });
}

function ends(make: () => Promise<TargetUnderTest>): void {
  test("a lease that ends before any call: nothing is completed, and the next backup works", async (t) => {
    const under = await make();
    const { env } = under;
    for (let number = 2; ; number++) {
      const before = (await listSnapshots(env.vault.catalog)).length;
      const end = beforeCall(number, async () => env.ctx.advance(uploadLeaseMs + 1));
      const upload = `ending ${number}`;
      const running = backUp(t, under, (targets) => intercept(inTurn(targets), end.around), upload);
      const failed = await running.then(
        () => null,
        (error: unknown) => error,
      );
      if (failed === null) {
        assert.ok(end.calls() < number, `the lease ended before call ${number}, and the backup was completed`);
        break;
      }
      assert.ok(failed instanceof CatalogError, String(failed));
      assert.ok(["lease_expired", "unknown_upload"].includes(failed.code), failed.code);
      assert.equal((await listSnapshots(env.vault.catalog)).length, before);
      assert.equal((await prune(env.vault)).recoveredSnapshots.length, 0, "no manifest without its row");
    }
    await assertRestores(t, await backUp(t, under, (targets) => inTurn(targets)(), "after"));
  });

  test("an upload that was abandoned is over: abandoning again does nothing, every other call is refused", async () => {
    const { env, target } = await make();
    const one = target({ upload: "u", owner: "a" });
    await one.abandon();
    await one.begin(null);
    await one.abandon();
    await one.abandon();
    assert.deepEqual((await env.vault.catalog.sessions()).running, []);
    for (const call of laterCalls(one)) await assert.rejects(call(), { code: "unknown_upload" });
  });

  test("another client cannot use an upload, and does not learn that it exists", async (t) => {
    const under = await make();
    const mine = under.target({ upload: "u", owner: "a" });
    await mine.begin(null);
    const theirs = under.target({ upload: "u", owner: "b" });
    for (const call of laterCalls(theirs)) await assert.rejects(call(), { code: "unknown_upload" });
    // A service answers like for an upload that does not exist.
    await assert.rejects(theirs.begin(null), hasCode("conflict", "unknown_upload"));
    await theirs.abandon().catch((error: unknown) => assert.ok(hasCode("unknown_upload")(error)));
    assert.equal((await under.env.vault.catalog.sessions()).running.length, 1, "still running");
    await mine.renew();
    assert.ok(await backUp(t, under, (targets) => inTurn(targets)(), "other"));
  });

  test("a completed upload: the same draft gets the same row again, another draft is refused", async (t) => {
    const under = await make();
    let kept: SnapshotDraft | null = null;
    const { result } = await backUp(t, under, (targets) => ({
      ...intercept(inTurn(targets), (_name, call) => call()),
      complete: async (draft) => {
        kept = draft;
        return inTurn(targets)().complete(draft);
      },
    }));
    assert.ok(kept !== null);
    const draft: SnapshotDraft = kept;
    const before = await chainRecords(under.env);
    const target = under.target({ upload: "u", owner: "a" });
    assertSameAnswer(await target.complete(draft), result.snapshot);
    const other = { ...draft, row: { ...draft.row, id: "ab".repeat(16) } };
    await assert.rejects(target.complete(other), FormatError);
    assert.equal(await chainRecords(under.env), before);
  });
}

function lies(make: () => Promise<TargetUnderTest>): void {
  test("a client that stores nothing can register nothing, and one that registers nothing can complete nothing", async (t) => {
    const under = await make();
    const change = (more: Partial<UploadTarget>) => (targets: readonly UploadTarget[]) => ({
      ...intercept(inTurn(targets), (_name, call) => call()),
      ...more,
    });
    const drop = async (_name: string, body: AsyncIterable<Uint8Array>) => {
      for await (const _piece of body);
    };
    await assert.rejects(backUp(t, under, change({ putPack: drop }), "nothing stored"), FormatError);
    const silent = change({ register: async () => {} });
    await assert.rejects(backUp(t, under, silent, "nothing registered"), { code: "not_closed" });
    await assert.rejects(backUp(t, under, change({ putPack: drop, register: async () => {} }), "nothing"), {
      code: "not_closed",
    });
    assert.deepEqual(await listSnapshots(under.env.vault.catalog), []);
    assert.deepEqual((await prune(under.env.vault)).recoveredSnapshots, [], "a refused manifest does not come back");
  });

  test("a unit with packs, frames or ordinals that are not the upload's is refused", async (t) => {
    const under = await make();
    const units: ClientUnit[] = [];
    const first = await backUp(t, under, (targets) => changeUnits(targets, keepUnits(units)));
    const [victim] = units;
    assert.ok(victim !== undefined);
    const [frame] = await framesOf(under.env);
    const recipe = encodeRecipe([{ kind: "stored", frame: frame ?? 0, slot: 0, count: 1, bytes: 10 }]);
    const changes: [string, (unit: ClientUnit) => ClientUnit, object][] = [
      ["another upload's unit", (unit) => ({ ...victim, number: unit.number }), FormatError],
      ["another upload's pack", (unit) => ({ ...unit, packs: [...unit.packs, ...victim.packs] }), FormatError],
      ["a pack that does not exist", (unit) => ({ ...unit, packs: ["00".repeat(16)] }), FormatError],
      ["no pack", (unit) => ({ ...unit, packs: [] }), FormatError],
      ["no block lists", (unit) => ({ ...unit, blockLists: [] }), FormatError],
      ["ordinals of others", (unit) => ({ ...unit, items: unit.items.map(shifted(-1000)) }), FormatError],
      ["ordinals not reserved", (unit) => ({ ...unit, items: unit.items.map(shifted(100_000)) }), FormatError],
      ["another's frame", (unit) => ({ ...unit, items: unit.items.map(withRecipe(recipe)) }), { code: "not_closed" }],
      [
        "another's record",
        (unit) => ({ ...unit, items: unit.items.map(withRecord(frame ?? 0)) }),
        { code: "not_closed" },
      ],
    ];
    for (const [what, lie, error] of changes) {
      const running = backUp(t, under, (targets) => changeUnits(targets, lie), what, { owner: "liar", seed: 50 });
      await assert.rejects(running, error, what);
      assert.equal((await listSnapshots(under.env.vault.catalog)).length, 1, what);
    }
    await assertSound(under.env);
    await assertRestores(t, first);
  });
}

function scopes(make: () => Promise<TargetUnderTest>): void {
  test("a client of the scope lineage finds its own content, and learns nothing of what others stored", async (t) => {
    const under = await make();
    const { env } = under;
    const queries: SegmentQuery[] = [];
    const nodes: Uint8Array[] = [];
    const theirs = await backUp(t, under, (targets) => keepQuestions(inTurn(targets)(), queries, nodes), "theirs");
    await verifySnapshots({
      ...{ pool: inlineRestorePool, vault: env.vault, readData: true },
      snapshots: await listSnapshots(env.vault.catalog),
    });
    const answers = async (scope: UploadScope, owner: string) => {
      const target = under.target({ upload: `${scope} ${owner}`, owner, scope });
      await target.begin(null);
      // Single blocks are found only where the segment itself is not.
      const unknown = queries.map((query) => ({ ...query, id: Buffer.alloc(32, 1) }));
      const known = (await target.offer(queries)).filter(({ ordinal }) => ordinal !== 0).length;
      const blocks = (await target.offer(unknown)).some(({ frames }) => frames.some((frame) => frame !== 0));
      return { known, blocks };
    };
    assert.deepEqual(await answers("vault", "b"), { known: queries.length, blocks: true }, "verified: for all");
    assert.deepEqual(await answers("lineage", "b"), { known: 0, blocks: false });
    const own = theirs.options.owner;
    assert.deepEqual(await answers("lineage", own), { known: queries.length, blocks: true });
    env.ctx.advance(1000);
    const lineage = { owner: "b", scope: "lineage" } as const;
    const again = await backUp(t, under, (targets) => inTurn(targets)(), "b", lineage);
    assert.ok(again.result.snapshot.storedBytes > theirs.result.snapshot.storedBytes / 2, "stored again");
    env.ctx.advance(1000);
    const third = await backUp(t, under, (targets) => inTurn(targets)(), "b again", lineage);
    assert.ok(third.result.snapshot.storedBytes < 20_000, "its own content is known");
    await assertRestores(t, third);
  });

  test("a snapshot of the scope lineage cannot reach content of others, also with their snapshot as its base", async (t) => {
    const under = await make();
    const { snapshot } = (await backUp(t, under, (targets) => inTurn(targets)(), "theirs")).result;
    const lineage = { owner: "b", scope: "lineage", seed: 60, base: snapshot.id } as const;
    const reaching = backUp(t, under, (targets) => inTurn(targets)(), "b", { ...lineage, reach: snapshot });
    // A service does not take a base of another source.
    await assert.rejects(reaching, hasCode("not_closed", "unknown_snapshot"));
    assert.equal((await listSnapshots(under.env.vault.catalog)).length, 1);
  });
}

/** Whether an error is the catalog's with one of these codes. */
function hasCode(...codes: readonly CatalogErrorCode[]): (error: unknown) => boolean {
  return (error) => error instanceof CatalogError && codes.includes(error.code);
}
