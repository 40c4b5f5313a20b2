/**
 * `npm run bench:api`: what uploads, downloads and lists cost. Each round does the same work at the service and at a bare
 * Fastify server with the same certificate, in turn, so that other work on the machine affects both alike. The client is this
 * process. bench/README.md says what is measured.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import type { Protocol } from "../requests/clients.ts";
import { type Bench, type Side, startBench } from "./bench.ts";
import { type ApiCase, cases, type Round, upload } from "./cases.ts";
import { writeLargeFile, writeTar } from "./content.ts";
import { costOf } from "./measure.ts";
import type { Part } from "./part.ts";
import { parts as allParts } from "./parts.ts";
import { markdown, type Run, resultsOf, speed } from "./report.ts";
import { restoreCases } from "./restores.ts";
import { type Scale, type ScaleName, scales } from "./scale.ts";

const allCases: readonly ApiCase[] = [...cases, ...restoreCases];

const help = `npm run --silent bench:api -- [options]

  --scale XS|S|M|L     XS: 2 MB of small files and 32 MB in one file, within a minute
                       S: 20 MB and 256 MB; M (default): 10 000 files of 10 KB and 2 GB; L: 5 GB and 5 GB, one round
  --only a,b           only these cases: ${[...allCases, ...allParts].map(({ name }) => name).join(", ")}
  --sides a,b          only service, or only bare (default both)
  --rounds N           rounds, of which medians are taken
  --seed N             of the content (default 1)
  --protocol P         http/1.1 (default) or h2
  --profile DIR        writes CPU profiles of the service and of its threads there
  --results DIR        where the table goes (default bench/results; nothing with --only, --sides or --profile)
  --json               all figures on standard output instead of the table`;

const resultsFolder = path.resolve(import.meta.dirname, "../results");

/** A page of the list. */
const snapshotsOfList = 25;

const cleanups: (() => unknown)[] = [];

try {
  await main();
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

async function cleanUp(): Promise<void> {
  for (let undo = cleanups.pop(); undo !== undefined; undo = cleanups.pop()) await undo();
}

function parse() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  return parseArgs({
    options: {
      ...{
        scale: text,
        only: text,
        sides: text,
        rounds: text,
        seed: text,
        protocol: text,
        profile: text,
        results: text,
      },
      ...{ json: flag, help: { ...flag, short: "h" } },
    },
  }).values;
}

type Values = ReturnType<typeof parse>;

interface Options {
  readonly scaleName: ScaleName;
  readonly scale: Scale;
  readonly cases: readonly ApiCase[];
  readonly parts: readonly Part[];
  readonly sides: readonly Side[];
  readonly rounds: number;
  readonly seed: number;
  readonly protocol: Protocol;
}

function optionsOf({ scale = "M", only, sides, rounds, seed = "1", protocol = "http/1.1" }: Values): Options {
  if (!Object.hasOwn(scales, scale)) throw new Error(`--scale takes ${Object.keys(scales).join(", ")}`);
  if (protocol !== "http/1.1" && protocol !== "h2") throw new Error("--protocol takes http/1.1 or h2");
  const names = only?.split(",");
  const unknown = names?.find((name) => ![...allCases, ...allParts].some((one) => one.name === name));
  if (unknown !== undefined) throw new Error(`--only does not know ${unknown}`);
  const scaleName = scale as ScaleName;
  return {
    ...{ scaleName, scale: scales[scaleName], protocol, seed: Number(seed) },
    cases: allCases.filter(({ name }) => names === undefined || names.includes(name)),
    parts: allParts.filter(({ name }) => names === undefined || names.includes(name)),
    sides: (["service", "bare"] as const).filter((side) => sides === undefined || sides.split(",").includes(side)),
    rounds: Number(rounds ?? scales[scaleName].rounds),
  };
}

async function main(): Promise<void> {
  const values = parse();
  if (values.help === true) {
    console.log(help);
    return;
  }
  const options = optionsOf(values);
  const load = loadavg()
    .map((each) => each.toFixed(1))
    .join(" ");
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => void cleanUp().then(() => process.exit(1)));
  const { scaleName, protocol, rounds, cases } = options;
  const runs = cases.length === 0 ? [] : await runCases(options, values.profile);
  const results = resultsOf(cases, runs);
  const conditions = { scale: scaleName, protocol, rounds, date: new Date().toISOString().slice(0, 16), load };
  const sections = await runParts(options);
  const table = [...(cases.length === 0 ? [] : [markdown(results, conditions)]), ...sections].join("\n");
  const isWhole = values.only === undefined && values.sides === undefined && values.profile === undefined;
  if (isWhole || values.results !== undefined) publish(values.results ?? resultsFolder, conditions, table);
  console.log(values.json === true ? JSON.stringify({ ...conditions, results, runs }) : table);
}

/** The cases that are compared with the bare server. */
async function runCases(options: Options, profile: string | undefined): Promise<Run[]> {
  log("starting PostgreSQL, the service and the bare server");
  const bench = await startBench({ protocol: options.protocol, profile, cleanups });
  await prepareList(bench, options);
  const runs: Run[] = [];
  for (let number = 0; number < options.rounds; number++) await runRound(bench, options, number, runs);
  await cleanUp();
  return runs;
}

async function runParts({ parts, scaleName: scale, seed }: Options): Promise<string[]> {
  const sections: string[] = [];
  for (const part of parts) {
    log(part.name);
    const temporary = mkdtempSync(path.join(tmpdir(), "emanet-bench-"));
    cleanups.push(() => rmSync(temporary, { recursive: true, force: true }));
    sections.push(await part.run({ scale, seed, cleanups, temporary, log }));
    await cleanUp();
  }
  return sections;
}

function publish(folder: string, { scale, protocol }: { scale: string; protocol: string }, table: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `api-${scale}${protocol === "h2" ? "-h2" : ""}.md`), table);
}

/** So many tiny snapshots that a page of the list is full. */
async function prepareList(bench: Bench, { cases, scale, seed }: Options): Promise<void> {
  if (!cases.some(({ name }) => name === "list")) return;
  log(`uploading ${snapshotsOfList} tiny snapshots`);
  const file = path.join(bench.folder, "tiny");
  const bytes = writeTar(file, seed, { ...scale, files: 1 });
  const tiny = { path: file, bytes };
  const round = { number: 0, seed, scale, tar: tiny, large: tiny, snapshots: {} };
  for (let count = 0; count < snapshotsOfList; count++) {
    const { snapshotId } = await upload(bench, "service", round, "tar");
    if (snapshotId !== undefined) await bench.untilVerified(snapshotId);
  }
}

async function runRound(bench: Bench, options: Options, number: number, runs: Run[]): Promise<void> {
  const { cases, rounds } = options;
  const named = `round ${number + 1}/${rounds}`;
  log(`${named}: making the content`);
  const round = makeRound(bench, options, number);
  await bench.copyRows();
  for (const one of cases) {
    await uploadNeeded(bench, options, one, round);
    await one.prepare?.(bench, round);
    // Each side is first in every other round.
    for (const side of number % 2 === 0 ? options.sides : options.sides.toReversed()) {
      const run = await runCase(bench, one, side, round);
      runs.push(run);
      const { server, postgres, peakMib } = run.cost;
      const figure = speed({ unit: one.unit, ...run.moved }, run.cost).toFixed(1);
      log(
        `${named}: ${one.name}, ${side}: ${figure} ${one.unit}, CPU ${server.toFixed(2)} + ${postgres.toFixed(2)} s, peak ${peakMib} MiB`,
      );
    }
  }
  for (const { path: file } of [round.tar, round.large]) rmSync(file);
}

function makeRound({ folder }: Bench, { cases, scale, seed }: Options, number: number): Round {
  const uses = (what: "tar" | "large") =>
    cases.some(
      ({ name, needs }) => needs.includes(what) || name === (what === "tar" ? "upload-files" : "upload-large"),
    );
  const own = seed * 1_000 + number;
  const [tar, large] = [path.join(folder, `tar-${number}`), path.join(folder, `large-${number}`)];
  return {
    ...{ number, seed: own, scale, snapshots: {} },
    tar: { path: tar, bytes: writeTar(tar, own, uses("tar") ? scale : { ...scale, files: 1 }) },
    large: { path: large, bytes: writeLargeFile(large, own, uses("large") ? scale : { ...scale, largeBytes: 1 }) },
  };
}

/** Uploads what a case reads and no case before it has uploaded. */
async function uploadNeeded(bench: Bench, { sides }: Options, { needs }: ApiCase, round: Round): Promise<void> {
  for (const what of needs) {
    if (round.snapshots[what] !== undefined) continue;
    for (const side of sides) {
      const { snapshotId } = await upload(bench, side, round, what);
      if (snapshotId !== undefined) await bench.untilVerified(snapshotId);
    }
  }
}

async function runCase(bench: Bench, one: ApiCase, side: Side, round: Round): Promise<Run> {
  const program = bench.programs[side];
  const { result: moved, cost } = await costOf(program, bench.postmaster, () => one.run(bench, side, round));
  const base = { name: one.name, side, round: round.number, moved, cost };
  const { snapshotId } = moved;
  if (snapshotId === undefined) return { ...base, verification: null };
  const verified = await costOf(program, bench.postmaster, () => bench.untilVerified(snapshotId));
  return { ...base, verification: verified.cost };
}

function log(line: string): void {
  console.error(`bench: ${line}`);
}
