/** Packs that are away for a while and come back: a mark of damage may be wrong, and healing must not destroy what is intact. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { FrameRow, SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { emptyBlockList, encodeBlockList } from "../../packages/engine/src/format/block-list.ts";
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
import { readWriters } from "../../packages/engine/src/vault.ts";

const files = 64;
const kept = 10;

/** Data and metadata in packs of their own. */
const settings = { packBytes: 30_000, unitBytes: 60_000 };

interface Office {
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
async function office(t: { after(fn: () => void): void }): Promise<Office> {
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
  for await (const row of env.vault.catalog.allFrames()) if (row.kind === "data") rows.push(row);
  return rows;
}

async function scrubbed(env: TestEnvironment): Promise<ScrubReport> {
  const report = await scrub({
    ...env.vault,
    trusted: { vaultId: env.vault.keys.vaultId, writers: await readWriters(env.vault) },
  });
  await env.vault.catalog.setDamaged(
    report.findings.flatMap(({ frames }) => frames),
    true,
  );
  return report;
}

/** What a night does beside a source that has kept 10 of its 64 files. */
async function night({ from, env }: Office, before: { backup?: () => void; heal?: () => void }) {
  for (let i = 0; i < files - kept; i++) rmSync(path.join(from, `f${i}`), { force: true });
  settleTimes(from);
  env.ctx.advance(1000);
  before.backup?.();
  const { snapshot } = await env.backup(from, { settings });
  before.heal?.();
  return { snapshot, report: await heal(env.vault) };
}

/** Files of the old snapshot that come back, after repacking, collection and the loss of the catalog. */
async function restoredAfterUpkeep({ folder, env, old, lines }: Office): Promise<number> {
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
  test(`a pack that was away during scrub and is back ${moments[back]}: the old snapshot restores whole, after everything`, async (t) => {
    const bench = await office(t);
    const { env, store, frame, pack, bytes } = bench;
    store.objects.delete(pack);
    const [finding] = (await scrubbed(env)).findings;
    assert.deepEqual([finding?.kind, finding?.frames.length], ["missing", 1]);
    const putBack = () => void store.objects.set(pack, bytes);
    const { snapshot, report } = await night(bench, back === "later" ? {} : { [back]: putBack });
    if (back === "backup") {
      const quiet = await night(await office(t), {});
      assert.equal(snapshot.storedBytes, quiet.snapshot.storedBytes, "as much as if the pack had never been away");
    }
    if (back === "later") assert.deepEqual(report.stillDamaged, [frame.frame]);
    else assert.deepEqual(await env.vault.catalog.damagedFrames(), [], "the mark is gone");
    assert.deepEqual(report.healed, [], "nothing was written in its place");
    putBack();
    assert.equal(await restoredAfterUpkeep(bench), files);
  });
}

test("of a pack that never comes back, what the source still has restores from the old snapshot, also when newer ones are gone", async (t) => {
  const bench = await office(t);
  const { env, store, pack } = bench;
  store.objects.delete(pack);
  await scrubbed(env);
  const { snapshot } = await night(bench, {});
  const stored = store.objects.size;
  await heal(env.vault);
  // A session number is claimed by nothing that has nothing to do.
  assert.equal(store.objects.size, stored, "healing again writes nothing");
  await deleteSnapshot(env.vault, snapshot.id);
  assert.equal(await restoredAfterUpkeep(bench), kept);
});

test("a clean read takes the mark away: by restore, by verification, by scrubbing and what follows it", async (t) => {
  const { folder, env, old, frame } = await office(t);
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
    (await scrubbed(env)).readClean.map((row) => row.frame),
    [frame.frame],
  );
  assert.deepEqual(await marked(), [frame.frame], "scrubbing has no key to prove blocks with");
});

test("scrubbing says missing only where reading fails: a listing that lags says nothing", async (t) => {
  const { env, pack, store } = await office(t);
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
  assert.deepEqual((await scrubbed(slow)).findings, []);
  const bad = Buffer.from(await store.get(pack));
  bad[2000] = (bad[2000] ?? 0) ^ 1;
  await store.put(pack, bad);
  assert.deepEqual(
    (await scrubbed(slow)).findings.map(({ kind }) => kind),
    ["damaged"],
    "what is not listed is read all the same",
  );
});

test("a pack that upkeep rewrites and deletes while scrubbing reads is no finding, and its frames are not marked", async (t) => {
  const bench = await office(t);
  const { env, old } = bench;
  await night(bench, {});
  await deleteSnapshot(env.vault, old.id);
  let moved = 0;
  const { findings } = await scrubbed(
    overtaken(env, async () => {
      moved = (await repack(env.vault)).rewrittenPacks.length;
      await prune(env.vault);
    }),
  );
  assert.ok(moved > 0, "packs were rewritten meanwhile");
  assert.deepEqual(findings, []);
  assert.deepEqual(await env.vault.catalog.damagedFrames(), []);
});

test("a frame that is healed while scrubbing reads its damaged pack is not named; the pack is", async (t) => {
  const { from, env, frame, pack, store } = await office(t);
  const bad = Buffer.from(await store.get(pack));
  bad[frame.offset + 50] = (bad[frame.offset + 50] ?? 0) ^ 1;
  await store.put(pack, bad);
  await env.vault.catalog.setDamaged([frame], true);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  const { findings } = await scrubbed(overtaken(env, () => heal(env.vault)));
  assert.deepEqual(
    findings.map(({ kind, frames }) => [kind, frames]),
    [["damaged", []]],
  );
  assert.deepEqual(await env.vault.catalog.damagedFrames(), []);
});

test("a rebuild while the records are away takes a frame's block list from the frame itself", async (t) => {
  const bench = await office(t);
  const { from, env, store, frame } = bench;
  const [record] = await env.vault.catalog.frames([frame.record]);
  assert.ok(record);
  const name = env.vault.names.pack(record.pack);
  const bytes = await store.get(name);
  store.objects.delete(name);
  await rebuild(env.vault);
  const [row] = await env.vault.catalog.frames([frame.frame]);
  assert.deepEqual([row?.blockList, row?.record, row?.damaged], [frame.blockList, 0, false]);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  assert.deepEqual(await heal(env.vault), { sound: [], healed: [], stillDamaged: [] });
  store.objects.set(name, bytes);
  await rebuild(env.vault);
  assert.equal(await restoredAfterUpkeep(bench), files);
});

test("a frame of which the catalog lists less than recipes need is not written anew", async (t) => {
  const { env, frame, pack, store } = await office(t);
  const nothing = { packs: [], header: Buffer.alloc(0), items: [], hooks: [], follows: [] };
  const bare = { ...frame, blockList: encodeBlockList(emptyBlockList) };
  await env.vault.catalog.restore({ unit: { ...nothing, frames: [bare] } });
  const { refused } = await rewritePacks(env.vault, -1);
  assert.ok(refused.includes(frame.pack));
  assert.ok(store.objects.has(pack));
});

/** The same laboratory, in which something happens just before the first pack is read. */
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
