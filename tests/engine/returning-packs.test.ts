/** Packs that are missing for a time and come back. A damage mark may be wrong, and heal must not replace intact data. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import type { Catalog, FrameRow, SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { emptyBlockList, encodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { PackBuilder } from "../../packages/engine/src/format/pack.ts";
import { startSession } from "../../packages/engine/src/format/session-header.ts";
import { allFrameRows } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { heal } from "../../packages/engine/src/upkeep/heal.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import type { ScrubReport } from "../../packages/engine/src/upkeep/scrub.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import type { Vault } from "../../packages/engine/src/vault.ts";
import { identityOf } from "../../packages/engine/src/vault.ts";

const files = 64;
const kept = 10;

/** Data and metadata are in different packs. */
const settings = { packBytes: 30_000, unitBytes: 60_000 };

interface OneFrameVault {
  readonly folder: string;
  readonly from: string;
  readonly store: MemoryStore;
  readonly env: TestEnvironment;
  readonly old: SnapshotRow;
  readonly lines: readonly string[];
  /** The frame that holds all the files, and its pack. */
  readonly frame: FrameRow;
  readonly pack: string;
  readonly bytes: Uint8Array;
}

/** 64 small files in one frame, backed up once. */
async function oneFrameVault(t: { after(fn: () => void): void }): Promise<OneFrameVault> {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const bytes = seededBytes(64);
  for (let i = 0; i < files; i++) writeFileSync(path.join(from, `f${i}`), bytes(4000));
  settleTimes(from);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const { snapshot } = await env.backup(from, { settings });
  const [frame, ...more] = await dataFrames(env);
  assert.ok(frame !== undefined && more.length === 0, "one data frame");
  const pack = env.vault.names.pack(frame.pack);
  const stored = await store.get(pack);
  return { folder, from, store, env, old: snapshot, lines: describeTree(from), frame, pack, bytes: stored };
}

async function dataFrames(env: TestEnvironment): Promise<FrameRow[]> {
  const rows: FrameRow[] = [];
  for await (const row of allFrameRows(env.vault.catalog)) if (row.kind === "data") rows.push(row);
  return rows;
}

async function scrubAndMark(env: TestEnvironment): Promise<ScrubReport> {
  const report = await scrub({
    ...env.vault,
    identity: identityOf(env.vault),
  });
  await env.vault.catalog.setDamaged(
    report.findings.flatMap(({ frames }) => frames),
    true,
  );
  return report;
}

/** A backup of a source that has 10 of its 64 files left, then heal. */
async function backupAndHeal({ from, env }: OneFrameVault, before: { backup?: () => void; heal?: () => void }) {
  for (let i = 0; i < files - kept; i++) rmSync(path.join(from, `f${i}`), { force: true });
  settleTimes(from);
  env.ctx.advance(1000);
  before.backup?.();
  const { snapshot } = await env.backup(from, { settings });
  before.heal?.();
  return { snapshot, report: await heal(env.vault) };
}

/** How many files of the old snapshot restore after repack, prune and a rebuild. */
async function restoredAfterUpkeep({ folder, env, old, lines }: OneFrameVault): Promise<number> {
  await repack(env.vault);
  await prune(env.vault);
  await rebuild(env.vault);
  const to = path.join(folder, "restored");
  const { failures, files: count } = await env.restore(old, to);
  assert.equal(failures.length + count, files);
  if (failures.length === 0) assert.deepEqual(describeTree(to), lines);
  return count;
}

const moments = { backup: "before the backup", heal: "before healing", later: "after both" };
for (const back of ["backup", "heal", "later"] as const) {
  test(`a pack that was missing during scrub and is back ${moments[back]}: the old snapshot restores completely`, async (t) => {
    const setup = await oneFrameVault(t);
    const { env, store, frame, pack, bytes } = setup;
    store.objects.delete(pack);
    const [finding] = (await scrubAndMark(env)).findings;
    assert.deepEqual([finding?.kind, finding?.frames.length], ["missing", 1]);
    const putBack = () => void store.objects.set(pack, bytes);
    const { snapshot, report } = await backupAndHeal(setup, back === "later" ? {} : { [back]: putBack });
    if (back === "backup") {
      const undisturbed = await backupAndHeal(await oneFrameVault(t), {});
      assert.equal(
        snapshot.storedBytes,
        undisturbed.snapshot.storedBytes,
        "as much as if the pack had never been missing",
      );
    }
    if (back === "later") assert.deepEqual(report.stillDamaged, [frame.frame]);
    else assert.deepEqual(await env.vault.catalog.damagedFrames(), [], "the mark is removed");
    assert.deepEqual(report.healed, [], "no frame was written again");
    putBack();
    assert.equal(await restoredAfterUpkeep(setup), files);
  });
}

test("if a pack never comes back, the files that the source still has restore from the old snapshot, also after newer ones are deleted", async (t) => {
  const setup = await oneFrameVault(t);
  const { env, store, pack } = setup;
  store.objects.delete(pack);
  await scrubAndMark(env);
  const { snapshot } = await backupAndHeal(setup, {});
  const stored = store.objects.size;
  await heal(env.vault);
  // A heal without work claims no session number.
  assert.equal(store.objects.size, stored, "a second heal writes nothing");
  await deleteSnapshot(env.vault, snapshot.id);
  assert.equal(await restoredAfterUpkeep(setup), kept);
});

test("a damage mark is removed when the frame is read intact: by restore, by verify, and by the recheck after scrub", async (t) => {
  const { folder, env, old, frame } = await oneFrameVault(t);
  const { catalog } = env.vault;
  const marked = async () => catalog.damagedFrames();
  await catalog.setDamaged([frame], true);
  await env.restore(old, path.join(folder, "to"));
  assert.deepEqual(await marked(), []);
  await catalog.setDamaged([frame], true);
  await verifySnapshots({ pool: inlineRestorePool, vault: env.vault, snapshots: [old], readData: true });
  assert.deepEqual(await marked(), []);
  await catalog.setDamaged([frame], true);
  assert.deepEqual(
    (await scrubAndMark(env)).intactFrames.map((row) => row.frame),
    [frame.frame],
  );
  assert.deepEqual(await marked(), [frame.frame], "scrub has no key to check blocks with");
});

test("scrub reports a pack as missing only if reading it fails, not if a listing lags", async (t) => {
  const { env, pack, store } = await oneFrameVault(t);
  const lagging = new Proxy(store, {
    get(target, name) {
      if (name === "list")
        return async function* (prefix: string) {
          for await (const entry of target.list(prefix)) if (entry.name !== pack) yield entry;
        };
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const slow: TestEnvironment = { ...env, vault: { ...env.vault, store: lagging } };
  assert.deepEqual((await scrubAndMark(slow)).findings, []);
  const bad = Buffer.from(await store.get(pack));
  bad[2000] = (bad[2000] ?? 0) ^ 1;
  await store.put(pack, bad);
  assert.deepEqual(
    (await scrubAndMark(slow)).findings.map(({ kind }) => kind),
    ["damaged"],
    "what is not listed is read all the same",
  );
});

test("a pack that upkeep rewrites and deletes during scrub is no finding, and its frames are not marked", async (t) => {
  const setup = await oneFrameVault(t);
  const { env, old } = setup;
  await backupAndHeal(setup, {});
  await deleteSnapshot(env.vault, old.id);
  let moved = 0;
  const { findings } = await scrubAndMark(
    overtaken(env, async () => {
      moved = (await repack(env.vault)).rewrittenPacks.length;
      await prune(env.vault);
    }),
  );
  assert.ok(moved > 0, "packs were rewritten meanwhile");
  assert.deepEqual(findings, []);
  assert.deepEqual(await env.vault.catalog.damagedFrames(), []);
});

test("a frame that is healed while scrub reads its damaged pack is not reported; the pack is", async (t) => {
  const { from, env, frame, pack, store } = await oneFrameVault(t);
  const bad = Buffer.from(await store.get(pack));
  bad[frame.offset + 50] = (bad[frame.offset + 50] ?? 0) ^ 1;
  await store.put(pack, bad);
  await env.vault.catalog.setDamaged([frame], true);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  const { findings } = await scrubAndMark(overtaken(env, () => heal(env.vault)));
  assert.deepEqual(
    findings.map(({ kind, frames }) => [kind, frames]),
    [["damaged", []]],
  );
  assert.deepEqual(await env.vault.catalog.damagedFrames(), []);
});

test("a frame that is healed after verify has read its damaged bytes is read again, and is no finding", async (t) => {
  const { from, env, frame, pack, store, old, bytes } = await oneFrameVault(t);
  const bad = Buffer.from(bytes);
  bad[frame.offset + 50] = (bad[frame.offset + 50] ?? 0) ^ 1;
  await store.put(pack, bad);
  await env.vault.catalog.setDamaged([frame], true);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  let healed: readonly number[] | null = null;
  const overtakenStore = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "get") return value.bind(target);
      return async (...args: Parameters<MemoryStore["get"]>) => {
        const read = await target.get(...args);
        if (args[0] === pack && healed === null) {
          healed = [];
          healed = (await heal(env.vault)).healed;
        }
        return read;
      };
    },
  });
  const vault = { ...env.vault, store: overtakenStore };
  const report = await verifySnapshots({ pool: inlineRestorePool, vault, snapshots: [old], readData: true });
  assert.deepEqual(healed, [frame.frame]);
  assert.deepEqual([report.findings, report.damagedFrames], [[], []]);
});

/** The vault of a process that is overtaken by `happens` when it is about to pin frames. */
function overtakenAtPin({ vault }: TestEnvironment, happens: () => Promise<unknown>): Vault {
  let isOver = false;
  const catalog = new Proxy<Catalog>(vault.catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "acquireFrames") return value.bind(target);
      return async (...args: Parameters<Catalog["acquireFrames"]>) => {
        if (!isOver) {
          isOver = true;
          await happens();
        }
        return target.acquireFrames(...args);
      };
    },
  });
  return { ...vault, catalog };
}

test("two heals at once replace each recipe once", async (t) => {
  const setup = await oneFrameVault(t);
  const { env, store, pack, from } = setup;
  store.objects.delete(pack);
  await scrubAndMark(env);
  for (let i = 0; i < files - kept; i++) rmSync(path.join(from, `f${i}`), { force: true });
  settleTimes(from);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  const packs = () => [...store.objects.keys()].filter((name) => name.includes("/packs/")).length;
  const before = packs();
  let byOther = 0;
  await heal(
    overtakenAtPin(env, async () => {
      await heal(env.vault);
      byOther = packs();
    }),
  );
  assert.ok(byOther > before, "the other heal has replaced recipes");
  assert.equal(packs(), byOther);
});

test("heal names no copy that is found damaged before it is pinned: if the lost pack comes back, everything restores", async (t) => {
  const setup = await oneFrameVault(t);
  const { env, store, pack, from, bytes, frame } = setup;
  store.objects.delete(pack);
  await scrubAndMark(env);
  for (let i = 0; i < files - kept; i++) rmSync(path.join(from, `f${i}`), { force: true });
  settleTimes(from);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  const copy = (await dataFrames(env)).find((row) => row.frame !== frame.frame) ?? assert.fail("no copy");
  const vault = overtakenAtPin(env, async () => {
    store.objects.delete(env.vault.names.pack(copy.pack));
    await scrubAndMark(env);
  });
  assert.deepEqual((await heal(vault)).stillDamaged, [frame.frame]);
  store.objects.set(pack, bytes);
  const { failures } = await env.restore(setup.old, path.join(setup.folder, "to"));
  assert.deepEqual(failures, []);
});

test("a rebuild without the metadata packs reads the block list from the data frame itself", async (t) => {
  const setup = await oneFrameVault(t);
  const { from, env, store, frame } = setup;
  const [record] = await env.vault.catalog.frames([frame.recordFrame]);
  assert.ok(record);
  const name = env.vault.names.pack(record.pack);
  const bytes = await store.get(name);
  store.objects.delete(name);
  await rebuild(env.vault);
  const [row] = await env.vault.catalog.frames([frame.frame]);
  assert.deepEqual([row?.blockList, row?.recordFrame, row?.damaged], [frame.blockList, 0, false]);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  assert.deepEqual(await heal(env.vault), { intact: [], healed: [], stillDamaged: [] });
  store.objects.set(name, bytes);
  await rebuild(env.vault);
  assert.equal(await restoredAfterUpkeep(setup), files);
});

test("a frame whose block list has fewer slots than recipes need is not rewritten", async (t) => {
  const { env, frame, pack, store } = await oneFrameVault(t);
  const nothing = { packs: [], header: Buffer.alloc(0), items: [], hooks: [], follows: [] };
  const bare = { ...frame, blockList: encodeBlockList(emptyBlockList) };
  await env.vault.catalog.addRebuilt({ unit: { ...nothing, frames: [bare] } });
  const { refused } = await rewritePacks(env.vault, -1);
  assert.ok(refused.includes(frame.pack));
  assert.ok(store.objects.has(pack));
});

/** The same environment. `happens` runs before the first pack is read. */
function overtaken(env: TestEnvironment, happens: () => Promise<unknown>): TestEnvironment {
  let isOver = false;
  const store = new Proxy(env.vault.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return name !== "get"
        ? value.bind(target)
        : async (...args: unknown[]) => {
            if (!isOver && String(args[0]).includes("/packs/")) {
              isOver = true;
              await happens();
            }
            return Reflect.apply(value, target, args) as unknown;
          };
    },
  });
  return { ...env, vault: { ...env.vault, store } };
}

test("what an interrupted upload left is no finding of scrub; a pack of a session that the catalog did not issue is", async () => {
  const env = await openTestEnvironment(new MemoryStore());
  const { vault } = env;
  const target = new LocalTarget({ access: vault, upload: "first", owner: "a", authority: vault.authority });
  const start = await target.begin(null);
  const put = async (nonce: number) => {
    const { header } = startSession(env.ctx, vault.keys, env.writer, { ...start, nonce });
    const pack = new PackBuilder("data", Buffer.alloc(16, nonce % 251), header);
    await vault.store.put(vault.names.pack(pack.name), Buffer.concat([pack.head, pack.finish(env.writer)]));
    return pack.name;
  };
  const found = async () => (await scrubAndMark(env)).findings.map(({ pack, kind }) => [pack, kind]);
  const orphan = await put(start.nonce);
  assert.deepEqual(await found(), [], "the upload is running");
  await target.abandon();
  assert.deepEqual(await found(), [], "the upload has ended");
  const foreign = await put(start.nonce + 1);
  assert.deepEqual(await found(), [[foreign, "unknown"]]);
  const { orphanPacks, unknownPacks } = await prune(vault);
  assert.deepEqual([orphanPacks, unknownPacks.map(({ name }) => name)], [[orphan], [vault.names.pack(foreign)]]);
});
