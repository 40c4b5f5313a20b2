/**
 * `npm run bench`: the agent with its service beside restic with rest-server and kopia with its server, on the same tree. bench/README.md
 * describes the race. The results go to bench/results.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { bundleAgent } from "../../tools/bundle-agent.ts";
import {
  conditionsNow,
  ownVersion,
  phasesOf,
  resultsFolder,
  scaleOf,
  whole,
  workFolder,
  writeResults,
} from "../engine/command-line.ts";
import { otherDataDivisors, otherDataMarkdown, runOtherData } from "../engine/other-data.ts";
import { type RaceOptions, runRace, usualPauseMs, usualShortRounds } from "../engine/race.ts";
import type { Phase } from "../engine/records.ts";
import type { System } from "../engine/system.ts";
import { findPeers, findRestServer, firstLine } from "../peers/peers.ts";
import { Lines } from "./lines.ts";
import { markdown } from "./report.ts";
import { kopiaWithServer, makeTlsFiles, resticWithServer } from "./system-servers.ts";
import { startServiceSystem } from "./system-service.ts";
import { compareWithTargets } from "./targets.ts";

const systemNames = ["emanet", "restic", "kopia"];

/** The others are about the engine alone: `bench:engine` has them. */
const racePhases: readonly Phase[] = [
  ...(["first", "unchanged", "night", "restore-first", "file-first"] as const),
  ...(["upkeep", "restore-kept", "file-last"] as const),
];

const help = `npm run --silent bench -- [options]

  --scale XS|S|M|L    size of the tree (default M: 5.1 GB)
  --seed N            of the tree (default 1)
  --runs N            repetitions, of which medians are taken (default 3)
  --nights N          nights after the first backup (default 7: a week with a rebuild and a renamed folder)
  --data ofis|other   other: a tree made by other rules than Ofis (1.3 GB at scale M, an eighth at S); first backup, one night, full restore
  --delay MS          also once with this round trip between program and server (default 30; 0 for without)
  --only a,b          only these programs (${systemNames.join(", ")}) and phases (${racePhases.join(", ")})
  --results DIR       where table and plots go (default bench/results)
  --work DIR          where tree and repositories are made (default: a new folder for temporary files)
  --keep              leave them there
  --profile DIR       CPU profiles of agent and service; they slow both down
  --fill-memory       fill free memory before every command, as bench:engine does (some 10 s each)
  --json              all figures on standard output instead of the table

Everything runs on this machine and listens on loopback. Peers and rest-server are taken from the PATH or built with Go; without them
agent and service run alone, and the table says so. Progress goes to standard error.`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

try {
  await main();
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ...{ scale: { ...text, default: "M" }, seed: { ...text, default: "1" }, runs: { ...text, default: "3" } },
      ...{
        nights: { ...text, default: "7" },
        delay: { ...text, default: "30" },
        only: text,
        results: text,
        work: text,
      },
      ...{
        data: { ...text, default: "ofis" },
        profile: text,
        "fill-memory": flag,
        keep: flag,
        json: flag,
        help: { ...flag, short: "h" },
      },
    },
  });
  if (values.help === true) {
    console.log(help);
    return;
  }
  const now = conditionsNow();
  const scale = scaleOf(values.scale);
  if (values.data !== "ofis" && values.data !== "other")
    throw new Error(`--data takes ofis or other, and not ${values.data}`);
  const wanted = phasesOf(values.only, systemNames);
  const options: Omit<RaceOptions, "work"> = {
    ...{ scale, seed: whole(values.seed), runs: whole(values.runs), parts: ["dumps"] },
    ...{ nights: whole(values.nights), delayMs: whole(values.delay), threads: availableParallelism() },
    ...{ phases: wanted ?? new Set(racePhases), pauseMs: usualPauseMs, shortRounds: usualShortRounds },
    fillsMemory: values["fill-memory"] === true,
    log: (line) => console.error(line),
  };
  const work = workFolder(values);
  const only = (values.only ?? "").split(",").filter((each) => systemNames.includes(each));
  const isWanted = (name: string) => only.length === 0 || only.includes(name);
  const lines = new Lines();
  const cleanups: (() => Promise<void>)[] = [() => lines.close()];
  try {
    const { systems, missing } = await peersOf(isWanted, lines, work);
    for (const sentence of missing) console.error(`bench: ${sentence}`);
    if (isWanted("emanet")) {
      const running = await ownSystem(lines, work, values.profile);
      cleanups.push(running.close);
      systems.unshift(running.system);
    }
    if (values.data === "other") {
      await raceOnOtherData(systems, { ...options, work }, values);
      return;
    }
    const outcome = await runRace(systems, { ...options, work });
    const conditions = { ...now, missing };
    const report = markdown(outcome, systems, { ...options, work }, conditions);
    const names = systems.map(({ name }) => name);
    writeResults(values.results ?? resultsFolder, `end-to-end-${options.scale}`, report, outcome, names);
    const targetResults = compareWithTargets(outcome, options.delayMs);
    const figures = { ...conditions, scale: options.scale, seed: options.seed, targetResults, ...outcome };
    console.log(values.json === true ? JSON.stringify(figures) : report);
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

async function ownSystem(lines: Lines, work: string, profile: string | undefined) {
  console.error("starting the service");
  const agent = await bundleAgent(path.join(work, "agent"));
  const folder = path.join(work, "service");
  return startServiceSystem({ version: ownVersion(), agent, folder, lines, profile });
}

async function raceOnOtherData(
  systems: readonly System[],
  options: RaceOptions,
  { results: folder = resultsFolder, json = false }: { readonly results?: string; readonly json?: boolean },
): Promise<void> {
  const own = { ...options, divisor: otherDataDivisors[options.scale] };
  const results = await runOtherData(systems, own);
  const text = otherDataMarkdown(results, systems, own);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "end-to-end-other-data.md"), text);
  console.log(json ? JSON.stringify({ results }) : text);
}

async function peersOf(
  isWanted: (name: string) => boolean,
  lines: Lines,
  work: string,
): Promise<{ systems: System[]; missing: readonly string[] }> {
  const { found, missing: all } = await findPeers();
  const missing = all.filter((sentence) => !sentence.startsWith("rustic"));
  const setup = { lines, tls: await makeTlsFiles(path.join(work, "tls")) };
  const systems: System[] = [];
  const restic = found.find(({ name }) => name === "restic");
  if (restic !== undefined && isWanted("restic")) {
    const server = await findRestServer();
    if (server === null) missing.push("rest-server is neither on the PATH nor can it be built: restic does not run");
    else systems.push(resticWithServer(restic, server, await firstLine(server, "--version"), setup));
  }
  const kopia = found.find(({ name }) => name === "kopia");
  if (kopia !== undefined && isWanted("kopia")) systems.push(kopiaWithServer(kopia, setup));
  return { systems, missing };
}
