import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { Bitmap } from "../../packages/engine/src/bitmap.ts";
import { decodeDirectory } from "../../packages/engine/src/frames/directory.ts";
import type { SnapshotRow } from "../../packages/engine/src/index/port.ts";
import { decodeRecipe } from "../../packages/engine/src/recipes.ts";
import type { Lab } from "../../packages/engine/src/testing/lab.ts";
import { describeTree, openLab, scratch, settleTimes } from "../../packages/engine/src/testing/lab.ts";
import { Dice } from "../../packages/engine/src/testing/tree-maker.ts";
import { collect } from "../../packages/engine/src/upkeep/collect.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { relay } from "../../packages/engine/src/upkeep/relay.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshots.ts";
import { dump, pageBytes } from "./testing/dump.ts";

test("relaying lays scattered segments down again: fewer frames to read, the same bytes restored", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const dice = new Dice(4);
  const bytes = dump(dice, 600);
  const lab = await openLab(new MemoryStore());
  for (let night = 0; night < 16; night++) {
    for (let i = 0; i < 20; i++) dice.bytes(300).copy(bytes, dice.below(600) * pageBytes + 200);
    writeFileSync(path.join(from, "db.bak"), bytes);
    settleTimes(from);
    await lab.backup(from);
    lab.ctx.advance(1000);
  }
  const newest = (await lab.vault.index.snapshots()).at(-1);
  assert.ok(newest);
  const report = await relay(lab.vault);
  assert.ok(report.segments > 0);
  assert.equal((await relay(lab.vault)).segments, 0);
  const to = path.join(folder, "to");
  assert.deepEqual((await lab.restore(newest, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("a restore that is overtaken by relaying and collection restores everything all the same", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const dice = new Dice(5);
  const bytes = dump(dice, 300);
  const store = new MemoryStore();
  const lab = await openLab(store);
  for (let night = 0; night < 12; night++) {
    for (let i = 0; i < 12; i++) dice.bytes(300).copy(bytes, dice.below(300) * pageBytes + 200);
    writeFileSync(path.join(from, "db.bak"), bytes);
    settleTimes(from);
    await lab.backup(from);
    lab.ctx.advance(1000);
  }
  const rows = [...(await lab.vault.index.snapshots())];
  const newest = rows.pop();
  assert.ok(newest);
  let moved = 0;
  const overtaken = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        // The plan is made by the time the first data is fetched.
        const isData = name === "get" && String(args[0]).includes("/packs/") && planned;
        if (isData && moved === 0) {
          moved = 1;
          for (const row of rows) await deleteSnapshot(lab.vault, row.id);
          moved = (await relay(lab.vault)).segments;
          await collect(lab.vault);
        }
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  let planned = false;
  const index = new Proxy(lab.vault.index, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        // Only planning asks for many frames at a time.
        if (name === "frames" && (args[0] as unknown[]).length > 1) planned = true;
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const to = path.join(folder, "to");
  const vault = { ...lab.vault, store: overtaken, index };
  const { failures, damagedFrames } = await lab.restore(newest, to, { vault });
  assert.deepEqual([failures, damagedFrames], [[], []]);
  assert.ok(moved > 0, "segments were laid down again meanwhile");
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("after relaying a restore opens no frame of which it needs less than half, and little was stored for it", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const dice = new Dice(6);
  const pages = 2000;
  const bytes = dump(dice, pages);
  const lab = await openLab(new MemoryStore());
  for (let night = 0; night < 30; night++) {
    // Most changes are in the newest pages, as in a ledger.
    for (let i = 0; i < 35; i++) {
      const page = dice.chance(60) ? pages - 1 - dice.below(100) : dice.below(pages);
      dice.bytes(300).copy(bytes, page * pageBytes + 200);
    }
    writeFileSync(path.join(from, "db.bak"), bytes);
    settleTimes(from);
    await lab.backup(from);
    lab.ctx.advance(1000);
  }
  const newest = (await lab.vault.index.snapshots()).at(-1);
  assert.ok(newest);
  const before = await opened(lab, newest);
  assert.ok(Math.min(...before.shares) < 0.3, "some frames are hardly needed any more");
  const { segments } = await relay(lab.vault);
  const after = await opened(lab, newest);
  assert.ok(segments > 0 && after.shares.length < before.shares.length);
  assert.ok(Math.min(...after.shares) >= 0.5, `${Math.min(...after.shares)} of a frame is needed`);
  assert.ok(after.newBytes < pages * pageBytes * 0.4, `${after.newBytes} bytes were laid down again`);
  const to = path.join(folder, "to");
  assert.deepEqual((await lab.restore(newest, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
  // The store alone says the same, and every older night is still there.
  assert.deepEqual((await rebuild(lab.vault)).refused, []);
  for (const [i, row] of (await lab.vault.index.snapshots()).entries())
    assert.deepEqual((await lab.restore(row, path.join(folder, String(i)))).failures, []);
});

test("what many segments share stays where it is, however many frames they read it from", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const sheets: string[] = [];
  const invoice = (name: string, issuer: number) =>
    writeFileSync(path.join(from, name), `<Invoice><ID>${name}</ID><Sheet>${sheets[issuer]}</Sheet></Invoice>`);
  const lab = await openLab(new MemoryStore());
  for (let night = 0; night < 24; night++) {
    // A new issuer every night; in the end one folder has invoices of all of them.
    sheets.push(new Dice(200 + night).bytes(20_000).toString("base64"));
    for (let i = 0; i < 3; i++) invoice(`${night}-${i}.xml`, night);
    if (night === 23) for (const issuer of sheets.keys()) invoice(`z-${issuer}.xml`, issuer);
    settleTimes(from);
    await lab.backup(from);
    lab.ctx.advance(1000);
  }
  const newest = (await lab.vault.index.snapshots()).at(-1);
  assert.ok(newest);
  assert.ok((await opened(lab, newest)).mostFrames > 8, "a segment reads from many frames");
  await relay(lab.vault);
  const { newBytes } = await opened(lab, newest);
  assert.ok(newBytes < sheets.join("").length / 4, `${newBytes} bytes were laid down again`);
});

/** What a restore of a snapshot opens: which share of each frame it needs, and how many frames a segment takes at most. */
async function opened(
  lab: Lab,
  snapshot: SnapshotRow,
): Promise<{ readonly shares: readonly number[]; readonly mostFrames: number; readonly newBytes: number }> {
  const needed = new Map<number, Set<number>>();
  let mostFrames = 0;
  for (const item of await lab.vault.index.itemsByOrdinal([...Bitmap.decode(snapshot.reach)])) {
    if (item?.kind !== "segment") continue;
    const frames = new Set<number>();
    for (const run of decodeRecipe(item.recipe)) {
      if (run.kind !== "stored") continue;
      const slots = needed.get(run.frame) ?? new Set();
      for (let i = 0; i < run.count; i++) slots.add(run.slot + i);
      needed.set(run.frame, slots);
      frames.add(run.frame);
    }
    mostFrames = Math.max(mostFrames, frames.size);
  }
  const shares: number[] = [];
  let newBytes = 0;
  for (const row of await lab.vault.index.frames([...needed.keys()])) {
    if (row === null) continue;
    const { lengths } = decodeDirectory(row.directory);
    shares.push((needed.get(row.frame)?.size ?? 0) / lengths.length);
    if (row.session > snapshot.session) newBytes += lengths.reduce((sum, length) => sum + length, 0);
  }
  return { shares, mostFrames, newBytes };
}
