/**
 * Small nights: a few scattered small files change every night, as in a small office. What counts here is what a night
 * stores beside the new content, and whether verify stays fast when there are hundreds of snapshots.
 *
 * The first nights are measured with every program, interleaved. The engine then goes on alone with a clock that is ahead
 * (`later-clock.ts`): without it, the files of the nights before would be too new for the file cache, and each night would write them
 * and most of the tree again. Verify is measured after the first night and after the last.
 */

import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Measured, measure, settle } from "./measure.ts";
import { changeSmallOffice, makeSmallOffice, smallOffice } from "./small-office.ts";
import { type BytesByUse, bytesByUse } from "./stored-by-use.ts";
import type { Repository, System, SystemName } from "./system.ts";
import type { TargetResult } from "./targets.ts";

export interface SmallNightsOptions {
  /** Nights of the engine; verify is measured after the last. */
  readonly nights: number;
  /** Repetitions of verify, of which medians are taken. */
  readonly runs: number;
  /** Everything is made below this folder. */
  readonly work: string;
  /** Pause after files changed, in the nights that all programs have. */
  readonly pauseMs?: number | undefined;
  log(line: string): void;
}

export interface SmallNight {
  readonly system: SystemName;
  readonly night: number;
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly addedBytes: number;
}

export interface SmallNightsOutcome {
  readonly nights: readonly SmallNight[];
  /** Bytes of the files that change in a night. */
  readonly changedBytes: number;
  /** What a night of the engine stores, by use: the mean of the nights that all programs have. */
  readonly stored: BytesByUse;
  readonly verify: readonly { readonly night: number; readonly wallSeconds: number; readonly cpuSeconds: number }[];
}

/** Nights of every program: enough for a median, and a peer needs no more. */
const sharedNights = 5;

/** Real nights are hours apart. A file that changed less than 35 s before a backup is not cached (docs/decisions/0132). */
const usualPauseMs = 36_000;

const laterClock = pathToFileURL(path.join(import.meta.dirname, "later-clock.ts")).href;

interface Program {
  readonly system: SystemName;
  readonly folder: string;
  readonly repository: Repository;
  storedBytes: number;
}

export async function runSmallNights(
  systems: readonly System[],
  options: SmallNightsOptions,
): Promise<SmallNightsOutcome> {
  const { work, nights, log } = options;
  const tree = path.join(work, "small-office");
  mkdirSync(tree, { recursive: true });
  makeSmallOffice(tree, smallOffice);
  const programs = await Promise.all(systems.map((system) => programOf(system, work)));
  const results: SmallNight[] = [];
  const verify: SmallNightsOutcome["verify"][number][] = [];
  let changedBytes = 0;
  await sleep(options.pauseMs ?? usualPauseMs);
  for (const program of programs) results.push(await backUp(program, tree, 0));
  const ours = programs.find(({ system }) => system === "emanet");
  const before = ours === undefined ? {} : bytesByUse(ours.folder);
  let after: BytesByUse = {};
  for (let night = 1; night <= nights; night++) {
    changedBytes = changeSmallOffice(tree, smallOffice, night);
    if (night <= sharedNights) await sleep(options.pauseMs ?? usualPauseMs);
    const first = night % programs.length;
    const taking = night <= sharedNights ? [...programs.slice(first), ...programs.slice(0, first)] : [ours];
    for (const program of taking) if (program !== undefined) results.push(await backUp(program, tree, night));
    if (ours !== undefined && night === Math.min(nights, sharedNights)) after = bytesByUse(ours.folder);
    if (night <= sharedNights || night % 50 === 0)
      for (const result of results.slice(-taking.length)) log(lineOf(result));
    if (ours !== undefined && (night === 1 || night === nights))
      for (let run = 0; run < options.runs; run++) verify.push({ night, ...(await verifyOnce(ours, log)) });
  }
  return { nights: results, changedBytes, stored: meanOf(before, after, Math.min(nights, sharedNights)), verify };
}

/** What the engine must reach here. */
export function smallNightTargets({ nights, verify }: SmallNightsOutcome): TargetResult[] {
  const added = (system: SystemName) =>
    median(nights.filter((each) => each.system === system && isShared(each)).map(({ addedBytes }) => addedBytes));
  const last = Math.max(...verify.map(({ night }) => night));
  const seconds = (at: number) => median(verify.filter(({ night }) => night === at).map((each) => each.wallSeconds));
  return [
    ratioResult("small nights: stored ≤ 0.4 × restic's", 0.4, added("emanet"), added("restic")),
    ratioResult(`verify after ${last} small nights: ≤ 3 × of after one`, 3, seconds(last), seconds(1)),
  ];
}

/** The part's section of a report. */
export function smallNightsMarkdown(outcome: SmallNightsOutcome, systems: readonly System[]): string {
  const { nights, stored, changedBytes, verify } = outcome;
  const rows = systems.map(({ name, version }) => {
    const own = nights.filter((each) => each.system === name && isShared(each));
    const of = (measured: (each: SmallNight) => number) => median(own.map(measured)) ?? 0;
    return `| ${name} (${version}) | ${of((each) => each.wallSeconds).toFixed(2)} | ${of((each) => each.cpuSeconds).toFixed(2)} | ${kilobytes(of((each) => each.addedBytes))} |`;
  });
  const uses = Object.entries(stored).map(([use, bytes]) => `| ${use} | ${kilobytes(bytes)} |`);
  const last = Math.max(...nights.map(({ night }) => night));
  const verified = verify.map(
    (each) => `| ${each.night} | ${each.wallSeconds.toFixed(2)} | ${each.cpuSeconds.toFixed(2)} |`,
  );
  return [
    "# Small nights",
    "",
    `${smallOffice.files} files of ${smallOffice.fileBytes} bytes in ${smallOffice.folders} folders; ${smallOffice.changedPerNight} scattered files (${kilobytes(changedBytes)} kB) are saved every night. Medians of ${sharedNights} nights; the engine went on to night ${last}.`,
    "",
    "| program | wall s | CPU s | stored kB |",
    "|---|---|---|---|",
    ...rows,
    "",
    "What a night of the engine stores:",
    "",
    "| use | kB |",
    "|---|---|",
    ...uses,
    "",
    "| verify after night | wall s | CPU s |",
    "|---|---|---|",
    ...verified,
    "",
    "| target | measured | |",
    "|---|---|---|",
    ...smallNightTargets(outcome).map(
      ({ target, measured, reached }) =>
        `| ${target} | ${measured} | ${reached === null ? "" : reached ? "reached" : "missed"} |`,
    ),
    "",
  ].join("\n");
}

async function programOf(system: System, work: string): Promise<Program> {
  const folder = path.join(work, `${system.name}-small-nights`);
  const repository = await system.create(folder, 0);
  return { system: system.name, folder, repository, storedBytes: repository.stored().bytes };
}

async function backUp(program: Program, tree: string, night: number): Promise<SmallNight> {
  await settle();
  const env = { NODE_OPTIONS: `--import=${laterClock}` };
  const command = program.repository.backup(tree);
  const { wallSeconds, cpuSeconds, output } = await measure(night > sharedNights ? { ...command, env } : command);
  await program.repository.backedUp(tree, output);
  const { bytes } = program.repository.stored();
  const addedBytes = bytes - program.storedBytes;
  program.storedBytes = bytes;
  return { system: program.system, night, wallSeconds, cpuSeconds, addedBytes };
}

async function verifyOnce(
  { repository }: Program,
  log: (line: string) => void,
): Promise<Pick<Measured, "wallSeconds" | "cpuSeconds">> {
  await settle();
  const { wallSeconds, cpuSeconds } = await measure(repository.verify());
  log(`  verify: ${wallSeconds.toFixed(2)} s, CPU ${cpuSeconds.toFixed(2)} s`);
  return { wallSeconds, cpuSeconds };
}

function isShared({ night }: SmallNight): boolean {
  return night >= 1 && night <= sharedNights;
}

function meanOf(before: BytesByUse, after: BytesByUse, nights: number): BytesByUse {
  return Object.fromEntries(
    Object.entries(after).map(([use, bytes]) => [use, (bytes - (before[use] ?? 0)) / Math.max(1, nights)]),
  );
}

function median(values: readonly number[]): number | null {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;
}

function ratioResult(target: string, limit: number, value: number | null, of: number | null): TargetResult {
  if (value === null || of === null || of === 0) return { target, measured: "not measured", reached: null };
  return { target, measured: `${(value / of).toFixed(3)} ×`, reached: value / of <= limit };
}

function kilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}

function lineOf({ system, night, wallSeconds, cpuSeconds, addedBytes }: SmallNight): string {
  return `  night ${night} ${system}: ${wallSeconds.toFixed(2)} s, CPU ${cpuSeconds.toFixed(2)} s, +${kilobytes(addedBytes)} kB`;
}
