/**
 * Random trees with random edits: several backups, then repack, prune, rebuild and restore. The cases are divided into
 * parts, which run in parallel.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../../packages/engine/src/cache/file-cache.ts";
import { MemoryCatalog } from "../../../packages/engine/src/catalog/memory.ts";
import { openSqliteCatalog } from "../../../packages/engine/src/catalog/sqlite/sqlite.ts";
import { listSnapshots } from "../../../packages/engine/src/testing/catalog-content.ts";
import { RandomTree, SeededRandom } from "../../../packages/engine/src/testing/random-tree.ts";
import { scaled } from "../../../packages/engine/src/testing/scale.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  testContext,
} from "../../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../../packages/engine/src/upkeep/rebuild.ts";
import { repack } from "../../../packages/engine/src/upkeep/repack.ts";
import { verifySnapshots } from "../../../packages/engine/src/upkeep/verify.ts";

/** The number of cases in a usual run and in a heavy one. Of a usual one's, 20 and more have any of the steps after the backups. */
const cases = scaled(120, 100_000);

/**
 * The number of parts (the line "heavy parts" of property.test.ts), and of groups per part: one failure does not hide those of
 * other groups. A case takes about 90 ms of a core: 12 500 cases take twenty minutes, less than the limit of a heavy test
 * file on two shared cores.
 */
const parts = 8;
const groups = 5;

/** Runs one case. Rejects if a restored tree differs from the one that was backed up. */
export async function runCase(seed: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "emanet-property-"));
  const random = new SeededRandom(seed);
  const cache = random.chance(50) ? new FileCache(":memory:") : undefined;
  try {
    const ctx = testContext(seed);
    const catalog = random.chance(50) ? new MemoryCatalog(ctx) : openSqliteCatalog(":memory:", ctx);
    const env = await openTestEnvironment(new MemoryStore(), { seed, catalog });
    const from = path.join(folder, "from");
    const tree = new RandomTree(from, random);
    tree.fill(1 + random.below(12));
    // Most of these trees are smaller than a pack of a megabyte. Larger packs would only need more memory.
    const settings = random.chance(30) ? { packBytes: 40_000, unitBytes: 100_000 } : { packBytes: 1_000_000 };
    const made: { snapshot: Awaited<ReturnType<typeof env.backup>>["snapshot"]; lines: string[] }[] = [];
    for (let backup = 0; backup < 1 + random.below(4); backup++) {
      if (backup > 0) for (let i = 1 + random.below(4); i > 0; i--) tree.edit();
      tree.settle();
      const { snapshot, warnings } = await env.backup(from, { cache, settings });
      assert.deepEqual(warnings, []);
      made.push({ snapshot, lines: describeTree(from) });
      env.ctx.advance(1000);
    }
    if (random.chance(20)) await repack(env.vault);
    if (random.chance(20)) await prune(env.vault);
    if (random.chance(20)) assert.deepEqual((await rebuild(env.vault)).refused, []);
    for (const [i, { snapshot, lines }] of made.entries()) {
      const to = path.join(folder, `to${i}`);
      const result = await env.restore(snapshot, to);
      assert.deepEqual(result.failures, []);
      assert.deepEqual(describeTree(to), lines);
      rmSync(to, { recursive: true });
    }
    if (random.chance(20)) {
      const report = await verifySnapshots({
        pool: inlineRestorePool,
        vault: env.vault,
        snapshots: await listSnapshots(catalog),
        readData: true,
      });
      assert.deepEqual(report.findings, []);
    }
    await catalog.close();
  } finally {
    cache?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Declares the tests of one part, or of all when the runner did not split the file. */
export function propertyTests(part: string | undefined): void {
  for (let number = 0; number < parts; number++) {
    if (part === undefined || Number(part) === number) partTests(number);
  }
}

function partTests(part: number): void {
  const share = cases / parts / groups;
  for (let group = 0; group < groups; group++) {
    test(`every backup of a random, edited tree restores byte for byte (${share} cases, group ${group})`, async () => {
      for (let i = 0; i < share; i++) {
        const seed = (part * groups + group) * share + i + 1;
        await runCase(seed).catch((cause: unknown) => {
          throw new Error(`seed ${seed}`, { cause });
        });
      }
    });
  }
}
