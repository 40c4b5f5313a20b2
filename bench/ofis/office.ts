/**
 * A generated office in a folder:
 *
 *   tree/             what is backed up
 *   oracle/           day-000.json and so on
 *   ofis.json         scale, seed, parts, and the day of the tree
 *
 * Days are simulated one after the other, forwards only. An interrupted day leaves `ofis.json` without a day. The tree is
 * then between two days and must be made again.
 */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { kindOf, officeOf } from "./calendar.ts";
import { firstDayJobs } from "./first-day.ts";
import type { Job, MadeFile } from "./job.ts";
import { planDay } from "./next-day.ts";
import { type OracleDay, type OracleFile, oracleOf, readOracle, renamedPath, writeOracle } from "./oracle.ts";
import { runJobs } from "./run-jobs.ts";
import { type PartName, type ScaleName, scales } from "./scale.ts";

export interface OfficeState {
  readonly scale: ScaleName;
  readonly seed: number;
  readonly parts: readonly PartName[];
  /** Null while a day is being simulated. */
  readonly day: number | null;
}

export interface RunOptions {
  readonly threads: number;
  /** Gets the bytes made so far. */
  onProgress?(done: number): void;
}

export function treeFolder(folder: string): string {
  return path.join(folder, "tree");
}

export function readState(folder: string): OfficeState {
  const file = path.join(folder, "ofis.json");
  if (!existsSync(file)) throw new Error(`${folder} has no generated office; make one first`);
  return JSON.parse(readFileSync(file, "utf8")) as OfficeState;
}

/** Makes the tree of day 0 in a missing or empty folder. */
export async function makeOffice(
  folder: string,
  state: Omit<OfficeState, "day">,
  options: RunOptions,
): Promise<OracleDay> {
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`);
  mkdirSync(path.join(folder, "oracle"), { recursive: true });
  mkdirSync(treeFolder(folder));
  writeState(folder, { ...state, day: null });
  const wanted = new Set(state.parts);
  const jobs = firstDayJobs(scales[state.scale], state.seed).filter(({ part }) => wanted.has(part));
  const made = await runAll(folder, state.seed, jobs, options);
  const oracle = oracleOf(0, null, new Map(made.map(asFile)), { made, renamed: null, locked: [] });
  writeOracle(folder, oracle);
  writeState(folder, { ...state, day: 0 });
  return oracle;
}

/** Simulates the next day. */
export async function simulateDay(folder: string, options: RunOptions): Promise<OracleDay> {
  const state = readState(folder);
  if (state.day === null) throw new Error(`a day was interrupted in ${folder}; make the office again`);
  const day = state.day + 1;
  const before = readOracle(folder, state.day);
  const setting = { scale: scales[state.scale], seed: state.seed, day };
  const plan = planDay(setting, before.total.bytes);
  const wanted = new Set(state.parts);
  writeState(folder, { ...state, day: null });
  const renamed = renameOffice(folder, day);
  const files = new Map(before.files.map((file) => asFile({ ...file, path: renamedPath(file.path, renamed) })));
  for (const gone of plan.removed) {
    if (files.delete(gone)) rmSync(path.join(treeFolder(folder), gone));
  }
  const jobs = plan.jobs.filter(({ part }) => wanted.has(part));
  const made = await runAll(folder, state.seed, jobs, options);
  for (const { task } of jobs) if (task.kind === "night") files.delete(task.from);
  for (const each of made) files.set(...asFile(each));
  const locked = plan.locked.filter((at) => files.has(at));
  const oracle = oracleOf(day, before, files, { made, renamed, locked });
  writeOracle(folder, oracle);
  writeState(folder, { ...state, day });
  return oracle;
}

/** Removes an office. Locked files get their permissions back first. */
export function removeOffice(folder: string): void {
  const { day } = existsSync(path.join(folder, "ofis.json")) ? readState(folder) : { day: null };
  if (day !== null)
    for (const at of readOracle(folder, day).locked) chmodSync(path.join(treeFolder(folder), at), 0o600);
  rmSync(folder, { recursive: true, force: true });
}

async function runAll(
  folder: string,
  seed: number,
  jobs: Iterable<Job>,
  { threads, onProgress }: RunOptions,
): Promise<MadeFile[]> {
  const made: MadeFile[] = [];
  let done = 0;
  await runJobs(jobs, {
    root: treeFolder(folder),
    seed,
    threads,
    onMade: (each) => {
      made.push(each);
      done += each.size;
      onProgress?.(done);
    },
  });
  return made;
}

function renameOffice(folder: string, day: number): OracleDay["renamed"] {
  if (kindOf(day) !== "rename") return null;
  const renamed = [officeOf(day - 1), officeOf(day)] as const;
  renameSync(path.join(treeFolder(folder), renamed[0]), path.join(treeFolder(folder), renamed[1]));
  return renamed;
}

function asFile({ part, path: at, size, sha256, mtime, mode, link }: OracleFile): [string, OracleFile] {
  return [at, { part, path: at, size, sha256, mtime, mode, link }];
}

function writeState(folder: string, state: OfficeState): void {
  const file = path.join(folder, "ofis.json");
  writeFileSync(`${file}.new`, `${JSON.stringify(state)}\n`);
  renameSync(`${file}.new`, file);
}
