import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { MemoryStore } from "@emanet/storage";
import { MemoryIndex } from "../../packages/engine/src/index/memory.ts";
import type { SnapshotRow, VaultIndex } from "../../packages/engine/src/index/port.ts";
import { openSqliteIndex } from "../../packages/engine/src/index/sqlite.ts";
import { describeTree, labContext, labOf, openLab, settleTimes } from "../../packages/engine/src/testing/lab.ts";
import { scaled } from "../../packages/engine/src/testing/scale.ts";
import { Scheduler } from "../../packages/engine/src/testing/scheduler.ts";
import { Dice } from "../../packages/engine/src/testing/tree-maker.ts";
import type { WorldKind } from "../../packages/engine/src/testing/world.ts";
import type { Seeds, SeedsAnswer } from "../../packages/engine/src/testing/world-thread.ts";
import { collect } from "../../packages/engine/src/upkeep/collect.ts";
import { relay } from "../../packages/engine/src/upkeep/relay.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshots.ts";

/** Threads for the simulation. */
const threads = 2;

async function runSeeds(seeds: Seeds): Promise<SeedsAnswer> {
  const worker = new Worker(new URL("../../packages/engine/src/testing/world-thread.ts", import.meta.url), {
    workerData: seeds,
  });
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

describe("interleavings", () => {
  // A step of SQLite costs five times one in memory, and other processes' steps come between its statements as well.
  const worlds = [
    { index: "memory", seeds: scaled(10_000, 100_000) },
    { index: "sqlite", seeds: scaled(2_000, 100_000) },
  ] as const;

  for (const { index, seeds } of worlds) {
    test(`uploads, deletions, collection and rewriting in ${seeds} random orders lose nothing and fail no backup: ${index}`, async () => {
      const parts = Array.from({ length: threads }, (_, i) =>
        runSeeds({ first: i + 1, last: seeds, step: threads, kind: { index, planted: null } }),
      );
      const answers = await Promise.all(parts);
      for (const { failure } of answers) assert.equal(failure, null);
      assert.equal(
        answers.reduce((sum, { ran }) => sum + ran, 0),
        seeds,
      );
      assert.ok(answers.reduce((sum, { turns }) => sum + turns, 0) / seeds > 20, "the actors really take turns");
    });
  }

  const bugs: readonly WorldKind[] = [
    { index: "memory", planted: "unpinned-answer" },
    { index: "memory", planted: "stale-condemn" },
    { index: "memory", planted: "lost-pins" },
    { index: "sqlite", planted: "torn-roots" },
  ];
  for (const kind of bugs) {
    test(`a planted bug is found: ${kind.planted}`, async () => {
      const { failure } = await runSeeds({ first: 1, last: 2000, step: 1, kind });
      // Lost content, or a backup that fails because of a collection: both are what pins are there to prevent.
      assert.match(failure?.message ?? "nothing found", /lost|not_closed/);
    });
  }

  test("the same with real backups, restores, collection and relaying over a real store", async () => {
    for (let seed = 1; seed <= scaled(25, 2000); seed++) {
      await realInterleaving(seed).catch((cause: unknown) => {
        throw new Error(`seed ${seed}`, { cause });
      });
    }
  });
});

async function realInterleaving(seed: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "emanet-turns-"));
  try {
    const dice = new Dice(seed);
    const store = new MemoryStore();
    const index = seed % 2 === 0 ? openSqliteIndex(":memory:", labContext(seed)) : new MemoryIndex(labContext(seed));
    const lab = await openLab(store, { seed, index });
    const folders = ["a", "b"].map((name) => path.join(folder, name));
    for (const each of folders) {
      mkdirSync(each);
      for (let i = 0; i < 4; i++) writeFileSync(path.join(each, `f${i}`), new Dice(i + dice.below(2)).bytes(6000));
      settleTimes(each);
    }
    const settings = { packBytes: 10_000, unitBytes: 20_000 };
    for (const [i, each] of folders.entries()) await lab.backup(each, { sourceName: `s${i}`, settings });
    for (const each of folders) writeFileSync(path.join(each, "f0"), new Dice(90 + dice.below(3)).bytes(9000));
    for (const each of folders) settleTimes(each);
    const scheduler = new Scheduler(seed);
    const vault = {
      ...lab.vault,
      store: scheduler.gated<typeof lab.vault.store>(store),
      index: scheduler.gated<VaultIndex>(index),
    };
    const busy = labOf(lab.ctx, vault, lab.writer);
    const made: { row: SnapshotRow; lines: string[] }[] = [];
    await scheduler.run([
      ...folders.map((each, i) => async () => {
        const { snapshot } = await busy.backup(each, { sourceName: `s${i}`, settings });
        made.push({ row: snapshot, lines: describeTree(each) });
      }),
      async () => {
        const [oldest] = await vault.index.snapshots();
        if (oldest !== undefined) await deleteSnapshot(vault, oldest.id);
        await collect(vault);
      },
      () => relay(vault),
      () => collect(vault),
    ]);
    for (const [i, { row, lines }] of made.entries()) {
      const to = path.join(folder, `to${i}`);
      assert.deepEqual((await lab.restore(row, to)).failures, []);
      assert.deepEqual(describeTree(to), lines);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
