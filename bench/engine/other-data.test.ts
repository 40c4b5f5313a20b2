import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { otherDataMarkdown, runOtherData } from "./other-data.ts";
import { changeOtherOffice, makeOtherOffice, otherOffice } from "./other-office.ts";
import { emanet } from "./system-emanet.ts";

const scratch = mkdtempSync(path.join(tmpdir(), "emanet-other-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** 1.3 MB. */
const divisor = 1000;

/** All files of a folder, with their bytes. */
function contentOf(folder: string): Map<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [path.relative(folder, file), readFileSync(file)];
    }),
  );
}

test("the same seed makes the same tree and the same night; another seed makes another", () => {
  const trees = [1, 1, 2].map((seed, i) => {
    const folder = path.join(scratch, `tree ${i}`);
    const office = otherOffice(seed, divisor);
    makeOtherOffice(folder, office);
    const before = contentOf(folder);
    changeOtherOffice(folder, office, 1);
    return { before, after: contentOf(folder) };
  });
  assert.deepEqual(trees[0], trees[1]);
  assert.notDeepEqual(trees[0], trees[2]);
  const dumps = [...(trees[0]?.after.keys() ?? [])].filter((name) => name.startsWith("yedek"));
  assert.deepEqual(dumps.sort(), ["yedek/VERI0_gun001.dmp", "yedek/VERI1_gun001.dmp"]);
});

test("the race backs up, changes and restores the tree, and reports each step", async () => {
  const options = {
    ...{ seed: 3, runs: 1, divisor, work: path.join(scratch, "work"), pauseMs: 0 },
    log: () => {},
  };
  const systems = [emanet("test")];
  const results = await runOtherData(systems, options);
  assert.deepEqual(
    results.map(({ step }) => step),
    ["first", "night", "restore"],
  );
  assert.ok(results.every(({ wallSeconds, cpuSeconds }) => wallSeconds > 0 && cpuSeconds > 0));
  assert.match(otherDataMarkdown(results, systems, options), /\| night \| [\d.]+ \/ [\d.]+ \/ [\d.]+ \|/);
});
