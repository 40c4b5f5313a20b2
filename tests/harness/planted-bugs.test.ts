/**
 * The harness finds bugs: each is planted in a copy of the sources, and the short form of the harness runs there with one seed after the
 * other until it fails. `npm run test:heavy -- tests/harness/planted-bugs.test.ts` says which seed has found which bug.
 * EMANET_HARNESS_BUG runs only those whose name has this text.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { copyOfCheckout, plant, plantedBugs, withBug } from "./testing/planted-bugs.ts";

const root = path.resolve(import.meta.dirname, "../..");
/** On the same disk as the modules, which are hard links. */
const copy = path.join(root, ".cache", "planted-bugs");

const firstSeed = 25;
/** A bug that so many seeds do not find is not found. */
const mostSeeds = 10;
/** Of each seed: enough for every kind that costs no start of the service. */
const faults = 15;
const { EMANET_HARNESS_BUG: wanted = "" } = process.env;

/** Runs the short form in the copy. Returns why it failed; null if it did not. */
async function failureOf(seed: number): Promise<string | null> {
  const words = ["tools/run.mjs", "tools/test.ts", "tests/harness/harness.test.ts"];
  const plan = { EMANET_HARNESS_SEED: String(seed), EMANET_HARNESS_FAULTS: String(faults) };
  const env = { ...process.env, ...plan, EMANET_TEST_HEAVY: "0", NODE_TEST_CONTEXT: "" };
  const child = spawn(process.execPath, words, { cwd: copy, env, stdio: ["ignore", "pipe", "pipe"] });
  const [[code], printed, said] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]);
  if (code === 0) return null;
  assert.doesNotMatch(`${printed}${said}`, /did not end within|left open/, "a run that fails ends at once");
  return /EMANET_HARNESS_SEED=\d+ .*/.exec(printed)?.[0] ?? assert.fail(`it did not run:\n${printed.slice(-3000)}`);
}

if (scaled(0, 1) === 1) after(() => rm(copy, { recursive: true, force: true }));

for (const bug of plantedBugs.filter(({ name }) => name.includes(wanted)))
  test(`${scaled(0, 1) === 1 ? "the harness finds" : "can be planted"}: ${bug.name}`, async (t) => {
    if (scaled(0, 1) === 0) {
      // The long form needs minutes; here the bug must still fit the sources.
      assert.notEqual(await withBug(root, bug), "");
      return;
    }
    await copyOfCheckout(root, copy);
    const undo = await plant(root, copy, bug);
    for (let seed = firstSeed; seed < firstSeed + mostSeeds; seed++) {
      const failure = await failureOf(seed);
      if (failure === null) continue;
      t.diagnostic(failure);
      await undo();
      return;
    }
    assert.fail(`${mostSeeds} seeds from ${firstSeed} on do not find it`);
  });
