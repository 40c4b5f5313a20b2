/** The `engine` command as `npm run bundle` writes it does what the sources do. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { describeTree, scratch } from "../../packages/engine/src/testing/test-environment.ts";
import { bundleEngine } from "../../tools/bundle.ts";

test("the bundled command backs up, restores with threads and verifies, from any folder", async (t) => {
  const folder = scratch(t);
  const built = await bundleEngine(path.join(folder, "built"));
  const installed = path.join(folder, "kurulu program");
  cpSync(path.dirname(built), installed, { recursive: true });
  const engine = (...args: readonly string[]) =>
    JSON.parse(
      execFileSync(process.execPath, [path.join(installed, path.basename(built)), ...args, "--json"], {
        encoding: "utf8",
        timeout: 120_000,
        env: { ...process.env, NODE_COMPILE_CACHE: path.join(folder, "compile-cache") },
        stdio: ["ignore", "pipe", "inherit"],
      }),
    ) as Record<string, unknown>;

  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "Taramalar"), { recursive: true });
  const random = new SeededRandom(11);
  // More than a restore writes without threads.
  for (let i = 0; i < 4; i++) writeFileSync(path.join(from, "Taramalar", `${i}.pdf`), random.bytes(6_000_000));
  for (let i = 0; i < 50; i++)
    writeFileSync(path.join(from, `fatura ${i}.xml`), `<Invoice><ID>${i}</ID>${"<Line/>".repeat(i)}</Invoice>`);

  const repo = ["--repo", path.join(folder, "repo")];
  engine("init", ...repo);
  const { file_count } = engine("backup", from, ...repo);
  assert.equal(file_count, 54);
  const target = path.join(folder, "to");
  engine("restore", "latest", "--target", target, ...repo);
  assert.deepEqual(describeTree(target), describeTree(from));
  const { findings } = engine("verify", "--full", ...repo);
  assert.deepEqual(findings, []);
  engine("prune", ...repo);
});
