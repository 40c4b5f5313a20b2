/**
 * `npm run bench:engine`: runs the engine, restic, kopia and (if it is on the PATH) rustic on the same tree. bench/README.md
 * describes the race. The results go to bench/results.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { bundleEngine } from "../../tools/bundle.ts";
import { type PartName, partNames } from "../ofis/scale.ts";
import { findPeers } from "../peers/peers.ts";
import {
  conditionsNow,
  ownVersion,
  phasesOf,
  resultsFolder,
  scaleOf,
  whole,
  workFolder,
  writeResults,
} from "./command-line.ts";
import { otherDataDivisors, otherDataMarkdown, runOtherData } from "./other-data.ts";
import { type RaceOptions, type RaceOutcome, runRace, usualPauseMs, usualShortRounds } from "./race.ts";
import { phases } from "./records.ts";
import { markdown, type RaceConditions } from "./report.ts";
import { runSmallNights, smallNightsMarkdown, smallNightTargets } from "./small-nights.ts";
import type { System } from "./system.ts";
import { emanet } from "./system-emanet.ts";
import { systemOf } from "./system-peers.ts";
import { compareWithTargets } from "./targets.ts";

const help = `npm run --silent bench:engine -- [options]

  --scale XS|S|M|L    size of the tree (default S: 0.4 GB)
  --seed N            of the tree (default 1)
  --runs N            repetitions, of which medians are taken (default 3)
  --nights N          nights after the first backup (default 30; 400 for small-nights)
  --parts a,b         parts that are also backed up alone (default dumps,invoices-60,invoices-600,scans; "none" for none);
                      small-nights, alone: a small office without large files, verify after many nights;
                      other-data, alone: a tree made by other rules than Ofis (1.3 GB at scale M, an eighth at S)
  --only a,b          only these programs (emanet, restic, kopia, rustic) and phases (${phases.join(", ")})
  --results DIR       where table, plots and figures go (default bench/results)
  --work DIR          where tree and repositories are made (default: a new folder for temporary files)
  --keep              leave them there
  --json              all figures on standard output instead of the table

Peers are taken from the PATH or built with Go; those that are not there are left out, and the table says so.`;

const systemNames = ["emanet", "restic", "kopia", "rustic"];
/** Parts with a tree and a report of their own. */
const ownParts = ["small-nights", "other-data"] as const;

/** More than a year of workdays. */
const defaultSmallNights = "400";

const defaultParts = "dumps,invoices-60,invoices-600,scans";

try {
  await main();
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parse();
  if (values.help === true) {
    console.log(help);
    return;
  }
  const conditions = conditionsNow();
  const work = workFolder(values);
  const ownPart = ownParts.find((part) => part === values.parts);
  const options = optionsOf(ownPart === undefined ? values : { ...values, parts: "none" }, work);
  const { systems, missing } = await systemsOf(values.only, work);
  for (const sentence of missing) console.error(`bench: ${sentence}`);
  if (ownPart !== undefined) {
    await (ownPart === "small-nights" ? publishSmallNights : publishOtherData)(systems, options, values);
    return;
  }
  const outcome = await runRace(systems, options);
  publish(outcome, systems, options, { ...conditions, missing }, values);
}

function parse() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  return parseArgs({
    options: {
      ...{ scale: text, seed: text, runs: text, nights: text, parts: text, only: text, results: text, work: text },
      ...{ keep: flag, json: flag, help: { ...flag, short: "h" } },
    },
  });
}

type Values = ReturnType<typeof parse>["values"];

async function systemsOf(
  only: string | undefined,
  work: string,
): Promise<{ systems: System[]; missing: readonly string[] }> {
  const wanted = (only ?? "").split(",").filter((each) => systemNames.includes(each));
  const { found, missing } = await findPeers();
  const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);
  const peers = found.map(systemOf).filter(({ name }) => isWanted(name));
  if (!isWanted("emanet")) return { systems: peers, missing };
  const command = await bundleEngine(path.join(work, "emanet-command"));
  return { systems: [emanet(ownVersion(), command), ...peers], missing };
}

function optionsOf(values: Values, work: string): RaceOptions {
  const scale = scaleOf(values.scale ?? "S");
  const parts = (values.parts ?? defaultParts).split(",").filter((part) => part !== "none");
  for (const part of parts) if (!partNames.some((name) => name === part)) throw new Error(`no part ${part}`);
  return {
    ...{
      scale,
      work,
      parts: parts as PartName[],
      threads: availableParallelism(),
      pauseMs: usualPauseMs,
      shortRounds: usualShortRounds,
      delayMs: 0,
      fillsMemory: true,
    },
    ...{ seed: whole(values.seed ?? "1"), runs: whole(values.runs ?? "3"), nights: whole(values.nights ?? "30") },
    phases: phasesOf(values.only, systemNames),
    log: (line) => console.error(line),
  };
}

async function publishSmallNights(systems: readonly System[], options: RaceOptions, values: Values): Promise<void> {
  const nights = whole(values.nights ?? defaultSmallNights);
  const outcome = await runSmallNights(systems, { ...options, nights, pauseMs: undefined });
  const text = smallNightsMarkdown(outcome, systems);
  const folder = values.results ?? resultsFolder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "engine-small-nights.md"), text);
  const figures = { targetResults: smallNightTargets(outcome), ...outcome };
  console.log(values.json === true ? JSON.stringify(figures) : text);
}

async function publishOtherData(systems: readonly System[], options: RaceOptions, values: Values): Promise<void> {
  const own = { ...options, divisor: otherDataDivisors[options.scale] };
  const results = await runOtherData(systems, own);
  const text = otherDataMarkdown(results, systems, own);
  const folder = values.results ?? resultsFolder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "engine-other-data.md"), text);
  console.log(values.json === true ? JSON.stringify({ results }) : text);
}

function publish(
  outcome: RaceOutcome,
  systems: readonly System[],
  options: RaceOptions,
  conditions: RaceConditions,
  values: Values,
): void {
  const text = markdown(outcome, systems, options, conditions);
  const names = systems.map(({ name }) => name);
  writeResults(values.results ?? resultsFolder, `engine-${options.scale}`, text, outcome, names);
  const targetResults = compareWithTargets(outcome);
  const figures = { ...conditions, scale: options.scale, seed: options.seed, targetResults, ...outcome };
  console.log(values.json === true ? JSON.stringify(figures) : text);
}
