import assert from "node:assert/strict";
import { mkdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import {
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
} from "../../packages/engine/src/testing/test-environment.ts";
import type { VerifyOptions, VerifyReport } from "../../packages/engine/src/upkeep/verify.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";

/** Small packs and small frames: damage concerns some files and not all. */
const settings = { packBytes: 30_000, unitBytes: 60_000 };

/**
 * Four snapshots. One directory is equal in all of them, one changes, one is in every second, and two have the same content.
 */
async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  const bytes = seededBytes(31);
  const write = (file: string, content = bytes(20_000)) => {
    const at = path.join(from, file);
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, content);
    utimesSync(at, 1_500_000_000, 1_500_000_000);
  };
  for (const file of ["same/a", "same/below/b", "same/below/deeper/c", "changing/d", "changing/below/e"]) write(file);
  const twins = bytes(15_000);
  for (const file of ["twin 1/f", "twin 2/f"]) write(file, twins);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const changes = [
    () => write("changing/d"),
    () => write("at times/g"),
    () => {
      renameSync(path.join(from, "at times"), path.join(folder, "aside"));
      write("changing/h");
    },
    () => renameSync(path.join(folder, "aside"), path.join(from, "at times")),
  ];
  for (const change of changes) {
    change();
    await env.backup(from, { settings, cache });
    env.ctx.advance(1000);
  }
  return { env, store, snapshots: await env.vault.catalog.snapshots() };
}

/** The number of files in all four. */
const allFiles = 7 + 8 + 8 + 9;

type Prepared = Awaited<ReturnType<typeof prepare>>;

function verify({ env }: Prepared, snapshots: readonly SnapshotRow[], more: Partial<VerifyOptions> = {}) {
  return verifySnapshots({ pool: inlineRestorePool, vault: env.vault, snapshots, readData: true, ...more });
}

test("snapshots that are verified together are each verified completely, and all their items are marked as verified", async (t) => {
  const prepared = await prepare(t);
  const { env, snapshots } = prepared;
  for (const readData of [false, true])
    for (const memoryBytes of [0, 1500, undefined]) {
      const report = await verify(prepared, snapshots, { readData, memoryBytes });
      assert.deepEqual([report.findings, report.files, report.snapshots], [[], allFiles, 4]);
    }
  for (const { reach } of snapshots)
    for (const item of await env.vault.catalog.itemsByOrdinal([...Bitmap.decode(reach)]))
      assert.equal(item?.verified, true);
});

test("a directory that was verified for an earlier snapshot is not read again", async (t) => {
  const prepared = await prepare(t);
  const asked = t.mock.method(prepared.env.vault.catalog, "itemsByOrdinal").mock;
  const count = async (memoryBytes?: number) => {
    asked.resetCalls();
    await verify(prepared, prepared.snapshots, { memoryBytes, readData: false });
    return asked.callCount();
  };
  const [shared, walked] = [await count(), await count(0)];
  assert.ok(shared < walked * 0.75, `${shared} and ${walked} questions`);
});

test("damage is reported for each snapshot that needs the damaged frame", async (t) => {
  const prepared = await prepare(t);
  const { env, store, snapshots } = prepared;
  const found = new Set<number>();
  for await (const { pack, offset, length } of env.vault.catalog.allFrames()) {
    const name = env.vault.names.pack(pack);
    const good = await store.get(name);
    const bad = Buffer.from(good);
    const at = offset + length - 1;
    bad[at] = (bad[at] ?? 0) ^ 1;
    await store.put(name, bad);
    const alone: VerifyReport[] = [];
    for (const row of snapshots) alone.push(await verify(prepared, [row]));
    for (const memoryBytes of [1500, undefined]) {
      const together = await verify(prepared, snapshots, { memoryBytes });
      assert.deepEqual(
        together.findings,
        alone.flatMap(({ findings }) => findings),
      );
      const framesOf = (reports: VerifyReport[]) =>
        new Set(reports.flatMap(({ damagedFrames }) => damagedFrames.map(({ frame }) => frame)));
      assert.deepEqual(framesOf([together]), framesOf(alone));
      found.add(new Set(together.findings.map(({ snapshot }) => snapshot)).size);
    }
    await store.put(name, good);
  }
  // Frames with records only are read by a rebuild. No file needs them.
  found.delete(0);
  assert.ok(found.has(1) && found.has(4) && found.size > 2, `damage in ${[...found].join(", ")} snapshots`);
});

test("a bitmap that differs from what its snapshot reaches is found, and the other snapshots have no finding", async (t) => {
  const prepared = await prepare(t);
  const [first, second, ...others] = prepared.snapshots;
  assert.ok(first && second);
  const lying = { ...second, reach: first.reach };
  const { findings } = await verify(prepared, [first, lying, ...others], { readData: false });
  assert.deepEqual(
    findings.map(({ snapshot, reason }) => [snapshot, reason]),
    [[second.id, "its bitmap is not what it reaches"]],
  );
});
