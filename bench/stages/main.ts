/**
 * `npm run bench:stages`: MB/s per core of every stage of a backup on the benchmark data, and the CPU time of a real
 * first backup divided by the sum of the floors of all stages. The limit is 1.6.
 *
 *   npm run --silent bench:stages -- [--scale S] [--seed 1] [--runs 3] [--tree DIR] [--json]
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { measure, warm } from "../engine/measure.ts";
import { emanet } from "../engine/system-emanet.ts";
import { makeOffice, treeFolder } from "../ofis/office.ts";
import { partNames, type ScaleName, scales } from "../ofis/scale.ts";
import { measureStages, type Stage } from "./stages.ts";

/** Largest CPU time of a first backup divided by the sum of the floors. */
const allowedDistance = 1.6;

const { values } = parseArgs({
  options: {
    scale: { type: "string", default: "S" },
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "3" },
    tree: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

const work = mkdtempSync(path.join(tmpdir(), "emanet-stages-"));
try {
  await main();
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const tree = await treeOf();
  const runs = Number(values.runs);
  const all: Stage[][] = [];
  const backups: number[] = [];
  for (let run = 0; run < runs; run++) {
    await warm(tree);
    all.push(await measureStages(tree, path.join(work, "packs")));
    await warm(tree);
    const repository = await emanet("").create(path.join(work, `repository-${run}`), 0);
    backups.push((await measure(repository.backup(tree))).cpuSeconds);
    rmSync(path.join(work, `repository-${run}`), { recursive: true });
  }
  report(medianStages(all), median(backups));
}

/** An existing tree, or a new one. */
async function treeOf(): Promise<string> {
  if (values.tree !== undefined) return values.tree;
  const scale = values.scale as ScaleName;
  if (!Object.hasOwn(scales, scale)) throw new Error(`--scale takes ${Object.keys(scales).join(", ")}`);
  const folder = path.join(work, "ofis");
  if (!existsSync(folder))
    await makeOffice(
      folder,
      { scale, seed: Number(values.seed), parts: partNames },
      { threads: availableParallelism() },
    );
  return treeFolder(folder);
}

function report(stages: readonly Stage[], backup: number): void {
  const floor = stages.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const distance = backup / floor;
  if (values.json) {
    console.log(
      JSON.stringify({ stages, floorSeconds: floor, backupSeconds: backup, distance, allowed: allowedDistance }),
    );
    return;
  }
  console.log("| stage | MB | CPU s | MB/s per core |\n|---|---|---|---|");
  for (const { name, bytes, cpuSeconds } of stages)
    console.log(
      `| ${name} | ${(bytes / 1e6).toFixed(0)} | ${cpuSeconds.toFixed(2)} | ${(bytes / 1e6 / cpuSeconds).toFixed(0)} |`,
    );
  console.log(`| sum of the floors | | ${floor.toFixed(2)} | |`);
  console.log(`| first backup | | ${backup.toFixed(2)} | |`);
  console.log(
    `\ndistance ${distance.toFixed(2)} × (at most ${allowedDistance}): ${distance <= allowedDistance ? "reached" : "missed"}`,
  );
}

function medianStages(all: readonly (readonly Stage[])[]): Stage[] {
  const [first = []] = all;
  return first.map((stage, index) => ({ ...stage, cpuSeconds: median(all.map((run) => run[index]?.cpuSeconds ?? 0)) }));
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0;
}
