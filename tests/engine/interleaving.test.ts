import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { MemoryStore } from "@emanet/storage";
import type { Catalog, SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { openSqliteCatalog } from "../../packages/engine/src/catalog/sqlite/sqlite.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { scaled } from "../../packages/engine/src/testing/scale.ts";
import { Scheduler } from "../../packages/engine/src/testing/scheduler.ts";
import type { SimulationKind } from "../../packages/engine/src/testing/simulation.ts";
import type { Seeds, SeedsAnswer } from "../../packages/engine/src/testing/simulation-thread.ts";
import {
  describeTree,
  openTestEnvironment,
  settleTimes,
  testContext,
  testEnvironmentOf,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";

/** Threads for the simulation. */
const threads = 2;

/** The seeds of an ordinary run. On SQLite a seed takes four times as long. `.ci/run` asks for 10 000 of both, the heavy run for more. */
const memorySeeds = Number(process.env.EMANET_MEMORY_SEEDS ?? "1000");
const sqliteSeeds = Number(process.env.EMANET_SQLITE_SEEDS ?? "100");

/** Each bug below is found by one of so many seeds, all of which `.ci/run` tries. */
const seedsForBugs = 10_000;

async function runSeeds(seeds: Seeds): Promise<SeedsAnswer> {
  const worker = new Worker(new URL("../../packages/engine/src/testing/simulation-thread.ts", import.meta.url), {
    workerData: seeds,
  });
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

describe("interleavings", () => {
  // On SQLite, steps of another process also run between any two statements.
  const catalogs = [
    { catalog: "memory", seeds: scaled(memorySeeds, 100_000) },
    { catalog: "sqlite", seeds: scaled(sqliteSeeds, 100_000) },
  ] as const;

  for (const { catalog, seeds } of catalogs) {
    test(`uploads, deletions, prunes and repacks in ${seeds} random orders lose nothing and fail no backup: ${catalog}`, async () => {
      const parts = Array.from({ length: threads }, (_, i) =>
        runSeeds({ first: i + 1, last: seeds, step: threads, kind: { catalog, bug: null } }),
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

  // With the seed that finds it, one of those of `.ci/run`: what changes the simulation may need another one.
  const bugs: readonly { kind: SimulationKind; seed: number }[] = [
    { kind: { catalog: "memory", bug: "unpinned-answers" }, seed: 1 },
    { kind: { catalog: "memory", bug: "stale-markings" }, seed: 1 },
    { kind: { catalog: "memory", bug: "lost-pins" }, seed: 4180 },
    { kind: { catalog: "sqlite", bug: "torn-roots" }, seed: 1 },
  ];
  for (const { kind, seed } of bugs) {
    test(`the simulation finds a catalog that breaks a rule: ${kind.bug}`, async () => {
      const known = await runSeeds({ first: seed, last: seed, step: 1, kind });
      const { failure } =
        known.failure === null ? await runSeeds({ first: 1, last: seedsForBugs, step: 1, kind }) : known;
      // Pins prevent all of these: lost content, which the next prune may be the first to notice, and a backup that fails
      // because of a prune.
      assert.match(
        failure?.message ?? "nothing found",
        /lost|not_closed|(items|frames) that the catalog does not have/,
      );
    });
  }

  test("the same with real backups, restores, prunes and repacks over a real store", async () => {
    for (let seed = 1; seed <= scaled(12, 2000); seed++) {
      await realInterleaving(seed).catch((cause: unknown) => {
        throw new Error(`seed ${seed}`, { cause });
      });
    }
  });
});

async function realInterleaving(seed: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "emanet-turns-"));
  try {
    const random = new SeededRandom(seed);
    const store = new MemoryStore();
    const catalog =
      seed % 2 === 0 ? openSqliteCatalog(":memory:", testContext(seed)) : new MemoryCatalog(testContext(seed));
    const env = await openTestEnvironment(store, { seed, catalog });
    const folders = ["a", "b"].map((name) => path.join(folder, name));
    for (const each of folders) {
      mkdirSync(each);
      for (let i = 0; i < 4; i++)
        writeFileSync(path.join(each, `f${i}`), new SeededRandom(i + random.below(2)).bytes(6000));
      settleTimes(each);
    }
    const settings = { packBytes: 10_000, unitBytes: 20_000 };
    for (const [i, each] of folders.entries()) await env.backup(each, { sourceName: `s${i}`, settings });
    for (const each of folders)
      writeFileSync(path.join(each, "f0"), new SeededRandom(90 + random.below(3)).bytes(9000));
    for (const each of folders) settleTimes(each);
    const scheduler = new Scheduler(seed);
    const vault = {
      ...env.vault,
      store: scheduler.gated<typeof env.vault.store>(store),
      catalog: scheduler.gated<Catalog>(catalog),
    };
    const busy = testEnvironmentOf(env.ctx, vault, env.writer);
    const made: { row: SnapshotRow; lines: string[] }[] = [];
    await scheduler.run([
      ...folders.map((each, i) => async () => {
        const { snapshot } = await busy.backup(each, { sourceName: `s${i}`, settings });
        made.push({ row: snapshot, lines: describeTree(each) });
      }),
      async () => {
        const [oldest] = await listSnapshots(vault.catalog);
        if (oldest !== undefined) await deleteSnapshot(vault, oldest.id);
        await prune(vault);
      },
      () => repack(vault),
      () => prune(vault),
    ]);
    for (const [i, { row, lines }] of made.entries()) {
      const to = path.join(folder, `to${i}`);
      assert.deepEqual((await env.restore(row, to)).failures, []);
      assert.deepEqual(describeTree(to), lines);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
