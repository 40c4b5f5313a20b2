/** Packs that are away for a while and come back: a mark of damage may be wrong, and healing must not destroy what is intact. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { emptyDirectory, encodeDirectory } from "../../packages/engine/src/frames/directory.ts";
import type { FrameRow, SnapshotRow } from "../../packages/engine/src/index/port.ts";
import type { Lab } from "../../packages/engine/src/testing/lab.ts";
import {
  describeTree,
  inlineWriters,
  openLab,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/lab.ts";
import { collect } from "../../packages/engine/src/upkeep/collect.ts";
import { heal } from "../../packages/engine/src/upkeep/heal.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { relay } from "../../packages/engine/src/upkeep/relay.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import type { ScrubReport } from "../../packages/engine/src/upkeep/scrub.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshots.ts";
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
  readonly lab: Lab;
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
  const lab = await openLab(store);
  const { snapshot } = await lab.backup(from, { settings });
  const [frame, ...more] = await dataFrames(lab);
  assert.ok(frame !== undefined && more.length === 0, "one data frame");
  const pack = lab.vault.names.pack(frame.pack);
  const stored = await store.get(pack);
  return { folder, from, store, lab, old: snapshot, lines: describeTree(from), frame, pack, bytes: stored };
}

async function dataFrames(lab: Lab): Promise<FrameRow[]> {
  const rows: FrameRow[] = [];
  for await (const row of lab.vault.index.allFrames()) if (row.kind === "data") rows.push(row);
  return rows;
}

async function scrubbed(lab: Lab): Promise<ScrubReport> {
  const report = await scrub({
    ...lab.vault,
    judge: { vaultId: lab.vault.keys.vaultId, writers: await readWriters(lab.vault) },
  });
  await lab.vault.index.setDamaged(
    report.findings.flatMap(({ frames }) => frames),
    true,
  );
  return report;
}

/** What a night does beside a source that has kept 10 of its 64 files. */
async function night({ from, lab }: Office, before: { backup?: () => void; heal?: () => void }) {
  for (let i = 0; i < files - kept; i++) rmSync(path.join(from, `f${i}`), { force: true });
  settleTimes(from);
  lab.ctx.advance(1000);
  before.backup?.();
  const { snapshot } = await lab.backup(from, { settings });
  before.heal?.();
  return { snapshot, report: await heal(lab.vault) };
}

/** Files of the old snapshot that come back, after repacking, collection and the loss of the index. */
async function restoredAfterUpkeep({ folder, lab, old, lines }: Office): Promise<number> {
  await relay(lab.vault);
  await collect(lab.vault);
  await rebuild(lab.vault);
  const to = path.join(folder, "restored");
  const { failures, files: count } = await lab.restore(old, to);
  assert.equal(failures.length + count, files);
  if (failures.length === 0) assert.deepEqual(describeTree(to), lines);
  return count;
}

const moments = { backup: "before the backup", heal: "before healing", later: "after both" };
for (const back of ["backup", "heal", "later"] as const) {
  test(`a pack that was away during scrub and is back ${moments[back]}: the old snapshot restores whole, after everything`, async (t) => {
    const bench = await office(t);
    const { lab, store, frame, pack, bytes } = bench;
    store.objects.delete(pack);
    const [finding] = (await scrubbed(lab)).findings;
    assert.deepEqual([finding?.kind, finding?.frames.length], ["missing", 1]);
    const putBack = () => void store.objects.set(pack, bytes);
    const { snapshot, report } = await night(bench, back === "later" ? {} : { [back]: putBack });
    if (back === "backup") {
      const quiet = await night(await office(t), {});
      assert.equal(snapshot.storedBytes, quiet.snapshot.storedBytes, "as much as if the pack had never been away");
    }
    if (back === "later") assert.deepEqual(report.stillDamaged, [frame.frame]);
    else assert.deepEqual(await lab.vault.index.damagedFrames(), [], "the mark is gone");
    assert.deepEqual(report.healed, [], "nothing was written in its place");
    putBack();
    assert.equal(await restoredAfterUpkeep(bench), files);
  });
}

test("of a pack that never comes back, what the source still has restores from the old snapshot, also when newer ones are gone", async (t) => {
  const bench = await office(t);
  const { lab, store, pack } = bench;
  store.objects.delete(pack);
  await scrubbed(lab);
  const { snapshot } = await night(bench, {});
  const stored = store.objects.size;
  await heal(lab.vault);
  // A session number is claimed by nothing that has nothing to do.
  assert.equal(store.objects.size, stored, "healing again writes nothing");
  await deleteSnapshot(lab.vault, snapshot.id);
  assert.equal(await restoredAfterUpkeep(bench), kept);
});

test("a clean read takes the mark away: by restore, by verification, by scrubbing and what follows it", async (t) => {
  const { folder, lab, old, frame } = await office(t);
  const { index } = lab.vault;
  const marked = async () => index.damagedFrames();
  await index.setDamaged([frame], true);
  await lab.restore(old, path.join(folder, "to"));
  assert.deepEqual(await marked(), []);
  await index.setDamaged([frame], true);
  await verifySnapshots({ pool: inlineWriters, vault: lab.vault, snapshots: [old], readData: true });
  assert.deepEqual(await marked(), []);
  await index.setDamaged([frame], true);
  assert.deepEqual(
    (await scrubbed(lab)).readClean.map((row) => row.frame),
    [frame.frame],
  );
  assert.deepEqual(await marked(), [frame.frame], "scrubbing has no key to prove blocks with");
});

test("scrubbing says missing only where reading fails: a listing that lags says nothing", async (t) => {
  const { lab, pack, store } = await office(t);
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
  const slow: Lab = { ...lab, vault: { ...lab.vault, store: lagging } };
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
  const { lab, old } = bench;
  await night(bench, {});
  await deleteSnapshot(lab.vault, old.id);
  let moved = 0;
  const { findings } = await scrubbed(
    overtaken(lab, async () => {
      moved = (await relay(lab.vault)).rewrittenPacks.length;
      await collect(lab.vault);
    }),
  );
  assert.ok(moved > 0, "packs were rewritten meanwhile");
  assert.deepEqual(findings, []);
  assert.deepEqual(await lab.vault.index.damagedFrames(), []);
});

test("a frame that is healed while scrubbing reads its damaged pack is not named; the pack is", async (t) => {
  const { from, lab, frame, pack, store } = await office(t);
  const bad = Buffer.from(await store.get(pack));
  bad[frame.offset + 50] = (bad[frame.offset + 50] ?? 0) ^ 1;
  await store.put(pack, bad);
  await lab.vault.index.setDamaged([frame], true);
  lab.ctx.advance(1000);
  await lab.backup(from, { settings });
  const { findings } = await scrubbed(overtaken(lab, () => heal(lab.vault)));
  assert.deepEqual(
    findings.map(({ kind, frames }) => [kind, frames]),
    [["damaged", []]],
  );
  assert.deepEqual(await lab.vault.index.damagedFrames(), []);
});

test("a rebuild while the records are away takes a frame's directory from the frame itself", async (t) => {
  const bench = await office(t);
  const { from, lab, store, frame } = bench;
  const [record] = await lab.vault.index.frames([frame.record]);
  assert.ok(record);
  const name = lab.vault.names.pack(record.pack);
  const bytes = await store.get(name);
  store.objects.delete(name);
  await rebuild(lab.vault);
  const [row] = await lab.vault.index.frames([frame.frame]);
  assert.deepEqual([row?.directory, row?.record, row?.damaged], [frame.directory, 0, false]);
  lab.ctx.advance(1000);
  await lab.backup(from, { settings });
  assert.deepEqual(await heal(lab.vault), { sound: [], healed: [], stillDamaged: [] });
  store.objects.set(name, bytes);
  await rebuild(lab.vault);
  assert.equal(await restoredAfterUpkeep(bench), files);
});

test("a frame of which the index lists less than recipes need is not written anew", async (t) => {
  const { lab, frame, pack, store } = await office(t);
  const nothing = { packs: [], header: Buffer.alloc(0), items: [], hooks: [], follows: [] };
  const bare = { ...frame, directory: encodeDirectory(emptyDirectory) };
  await lab.vault.index.restore({ unit: { ...nothing, frames: [bare] } });
  const { refused } = await rewritePacks(lab.vault, -1);
  assert.ok(refused.includes(frame.pack));
  assert.ok(store.objects.has(pack));
});

/** The same laboratory, in which something happens just before the first pack is read. */
function overtaken(lab: Lab, happens: () => Promise<unknown>): Lab {
  let isOver = false;
  const store = new Proxy(lab.vault.store, {
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
  return { ...lab, vault: { ...lab.vault, store } };
}
