/** The conformance suite of the upload port on what exists, and the round trips that a backup needs. */

import assert from "node:assert/strict";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { openSqliteCatalog } from "../../packages/engine/src/catalog/sqlite/sqlite.ts";
import { countRounds, uploadTargetConformance } from "../../packages/engine/src/testing/index.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
} from "../../packages/engine/src/testing/test-environment.ts";

const catalogs = {
  memory: () => new MemoryCatalog(testContext(1)),
  SQLite: () => openSqliteCatalog(":memory:", testContext(1)),
};

for (const [name, catalog] of Object.entries(catalogs))
  uploadTargetConformance(`LocalTarget over ${name}`, async () => {
    const env = await openTestEnvironment(new MemoryStore(), { catalog: catalog() });
    const { vault } = env;
    return { env, target: (options) => new LocalTarget({ access: vault, authority: vault.authority, ...options }) };
  });

/** Round trips that a backup may wait for, whatever the number of its files and folders. */
const mostRounds = 8;

/** Backs up through a target that answers only when the client waits; returns how often it waited. */
async function roundsOf(
  env: TestEnvironment,
  from: string,
  cache: FileCache,
): Promise<{ rounds: number; text: string }> {
  env.ctx.advance(1000);
  const { vault } = env;
  const upload = Buffer.from(env.ctx.random(16)).toString("hex");
  const local = new LocalTarget({ access: vault, upload, owner: "a", authority: vault.authority });
  const { target, counts } = countRounds(local);
  await env.backup(from, { target, cache, owner: "a" });
  const { rounds, byName } = counts;
  return {
    rounds,
    text: `${rounds} round trips: ${[...byName].map(([name, count]) => `${name} ${count}`).join(", ")}`,
  };
}

test("first backup, unchanged source, one changed file, renamed folders: at most 8 round trips each", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  const bytes = seededBytes(5);
  for (let d = 0; d < 120; d++) {
    mkdirSync(path.join(from, "year", `d${d}`), { recursive: true });
    for (let f = 0; f < 3; f++) writeFileSync(path.join(from, "year", `d${d}`, `f${f}`), bytes(100 + f));
  }
  writeFileSync(path.join(from, "large"), bytes(700_000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  const check = async (what: string, used = cache, most = mostRounds) => {
    const { rounds, text } = await roundsOf(env, from, used);
    t.diagnostic(`${what}: ${text}`);
    assert.ok(rounds <= most, `${what}: ${text}`);
    return rounds;
  };
  await check("first backup");
  assert.equal(await check("unchanged"), 2);
  const empty = new FileCache(":memory:");
  t.after(() => empty.close());
  // A node's id depends on the ordinals of the nodes below: one round trip for each of the six levels of this tree.
  await check("everything is stored and the cache is lost: every node is asked for", empty, 10);
  writeFileSync(path.join(from, "year", "d7", "f1"), bytes(333));
  await check("one changed file");
  renameSync(path.join(from, "year"), path.join(from, "last year"));
  await check("a renamed folder with 120 folders in it");
});
