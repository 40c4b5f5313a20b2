import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { encodeRecipe } from "../../format/recipe.ts";
import { testContext } from "../../testing/test-environment.ts";
import { openSqliteCatalog } from "./sqlite.ts";

test("every step but pins and leases is synced before it returns, so a power cut undoes nothing that was relied on", async (t) => {
  const exec = DatabaseSync.prototype.exec;
  let level = "";
  let commits: string[] = [];
  DatabaseSync.prototype.exec = function (sql: string) {
    level = /synchronous = (\w+)/.exec(sql)?.[1] ?? level;
    if (sql === "commit") commits.push(level);
    return exec.call(this, sql);
  };
  t.after(() => {
    DatabaseSync.prototype.exec = exec;
  });
  const catalog = openSqliteCatalog(":memory:", testContext(1));
  const levels: Record<string, string[]> = {};
  const step = async (name: string, work: () => Promise<unknown>) => {
    commits = [];
    await work();
    levels[name] = commits;
  };
  await step("begin", () => catalog.beginUpload({ upload: "u", owner: "a", leaseUntil: 9, base: null }));
  await step("claim", () => catalog.settleClaim(1, true));
  await step("reserve", () => catalog.reserveOrdinals(4));
  await step("acquire", () => catalog.acquire("u", [Buffer.alloc(32)]));
  await step("frames", () => catalog.acquireFrames("u", [1]));
  await step("renew", () => catalog.renewUpload("u", 1, 10));
  const unit = { packs: [], header: Buffer.alloc(0), frames: [], items: [], hooks: [], follows: [] };
  await step("unit", () => catalog.addUnit("u", 1, unit));
  const known = {
    ordinal: 1,
    kind: "segment",
    id: Buffer.alloc(32, 1),
    recipe: encodeRecipe([]),
    recordFrame: 0,
  } as const;
  const items = [{ ...known, next: 0, owner: "a", verified: true }];
  await step("item", () => catalog.addUnit("u", 1, { ...unit, items }));
  await step("acquire known", () => catalog.acquire("u", [known.id]));
  await step("move", () => catalog.moveFrames("u", 1, unit, [], []));
  await step("condemn", () => catalog.condemn([], 1));
  await step("delete", () => catalog.beginDelete("p", 1, []));
  await step("damaged", () => catalog.setDamaged([{ frame: 1, pack: "p", generation: 0 }], true));
  // An unknown id: there is nothing to pin.
  const light = { acquire: [], "acquire known": ["normal"], frames: ["normal"], renew: ["normal"] };
  const expected = Object.fromEntries(Object.keys(levels).map((name) => [name, ["full"]]));
  assert.deepEqual(levels, { ...expected, ...light });
  await catalog.close();
});
