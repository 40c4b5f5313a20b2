import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/backup/cache.ts";
import { Bitmap } from "../../packages/engine/src/bitmap.ts";
import type { SnapshotRow } from "../../packages/engine/src/index/port.ts";
import { inlineWriters, openLab, scratch, seededBytes } from "../../packages/engine/src/testing/lab.ts";
import type { VerifyReport } from "../../packages/engine/src/upkeep/verify.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";

/** Small packs and frames that hold little: damage hits some files, and not all. */
const settings = { packBytes: 30_000, unitBytes: 60_000 };

/** Three snapshots: one folder is the same in all of them, one changes, and one comes and goes. */
async function prepare(t: { after(fn: () => void): void }) {
  const from = path.join(scratch(t), "from");
  const bytes = seededBytes(31);
  const write = (file: string, size: number) => {
    mkdirSync(path.dirname(path.join(from, file)), { recursive: true });
    writeFileSync(path.join(from, file), bytes(size));
  };
  for (const file of ["same/a", "same/below/b", "same/below/deeper/c", "changing/d", "changing/below/e"])
    write(file, 20_000);
  const store = new MemoryStore();
  const lab = await openLab(store);
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const changes = [() => write("changing/d", 20_000), () => write("new/f", 20_000), () => write("changing/g", 9000)];
  for (const change of changes) {
    change();
    await lab.backup(from, { settings, cache });
    lab.ctx.advance(1000);
  }
  return { lab, store, snapshots: await lab.vault.index.snapshots() };
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** What is said of snapshots that are verified together, and of each of them alone. */
async function reports({ lab, snapshots }: Prepared, readData: boolean) {
  const verify = (rows: readonly SnapshotRow[]) =>
    verifySnapshots({ pool: inlineWriters, vault: lab.vault, snapshots: rows, readData });
  const alone: VerifyReport[] = [];
  for (const row of snapshots) alone.push(await verify([row]));
  return { together: await verify(snapshots), alone };
}

test("snapshots that are verified together are each verified whole, and everything they reach is vouched for", async (t) => {
  const prepared = await prepare(t);
  const { lab, snapshots } = prepared;
  for (const readData of [false, true]) {
    const {
      findings,
      files,
      snapshots: count,
    } = await verifySnapshots({ pool: inlineWriters, vault: lab.vault, snapshots, readData });
    assert.deepEqual([findings, files, count], [[], 5 + 6 + 7, 3]);
  }
  for (const { reach } of snapshots)
    for (const item of await lab.vault.index.itemsByOrdinal([...Bitmap.decode(reach)]))
      assert.equal(item?.verified, true);
});

test("whatever is damaged, each of the snapshots that share it says so", async (t) => {
  const prepared = await prepare(t);
  const { lab, store } = prepared;
  const found = new Set<number>();
  for await (const { pack, offset, length } of lab.vault.index.allFrames()) {
    const name = lab.vault.names.pack(pack);
    const good = await store.get(name);
    const bad = Buffer.from(good);
    const at = offset + length - 1;
    bad[at] = (bad[at] ?? 0) ^ 1;
    await store.put(name, bad);
    const { together, alone } = await reports(prepared, true);
    assert.deepEqual(
      together.findings,
      alone.flatMap(({ findings }) => findings),
    );
    found.add(new Set(together.findings.map(({ snapshot }) => snapshot)).size);
    await store.put(name, good);
  }
  // Frames of records alone are what a rebuild reads, and nobody's loss.
  found.delete(0);
  assert.deepEqual([...found].sort(), [1, 2, 3], "damage in what one, two and all of them have");
});

test("a bitmap that is not what its snapshot reaches shows beside sound ones", async (t) => {
  const { lab, snapshots } = await prepare(t);
  const [first, second, third] = snapshots;
  assert.ok(first && second && third);
  const lying = { ...second, reach: first.reach };
  const { findings } = await verifySnapshots({
    pool: inlineWriters,
    vault: lab.vault,
    snapshots: [first, lying, third],
    readData: false,
  });
  assert.deepEqual(
    findings.map(({ snapshot, reason }) => [snapshot, reason]),
    [[second.id, "its bitmap is not what it reaches"]],
  );
});
