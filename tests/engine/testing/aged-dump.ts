/** A database that was changed and backed up several times: what repack is for. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { TestContext } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { SnapshotRow } from "../../../packages/engine/src/catalog/catalog.ts";
import { listSnapshots } from "../../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../../packages/engine/src/testing/random-tree.ts";
import type { TestEnvironment } from "../../../packages/engine/src/testing/test-environment.ts";
import { openTestEnvironment, scratch, settleTimes } from "../../../packages/engine/src/testing/test-environment.ts";
import { dump, pageBytes } from "./dump.ts";

interface Ageing {
  readonly pages: number;
  readonly nights: number;
  /** How many pages change between two backups, and which. */
  readonly changes: number;
  readonly pick: (random: SeededRandom) => number;
}

const hereAndThere: Ageing = { pages: 300, nights: 12, changes: 14, pick: (random) => random.below(300) };

export async function agedDump(
  t: TestContext,
  seed: number,
  { pages, nights, changes, pick } = hereAndThere,
): Promise<{
  readonly folder: string;
  readonly from: string;
  readonly env: TestEnvironment;
  readonly newest: SnapshotRow;
}> {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const random = new SeededRandom(seed);
  const bytes = dump(random, pages);
  const env = await openTestEnvironment(new MemoryStore());
  for (let night = 0; night < nights; night++) {
    for (let i = 0; i < changes; i++) random.bytes(300).copy(bytes, pick(random) * pageBytes + 200);
    writeFileSync(path.join(from, "db.bak"), bytes);
    settleTimes(from);
    await env.backup(from);
    env.ctx.advance(1000);
  }
  const newest = (await listSnapshots(env.vault.catalog)).at(-1);
  assert.ok(newest);
  return { folder, from, env, newest };
}
