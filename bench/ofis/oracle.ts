/**
 * The oracle: which files are in the tree on a day, and what changed since the day before. It is written while the files
 * are made, one JSON document per day. A restore is compared with it, so the comparison needs no backup program.
 *
 * - `changed` counts bytes in the units in which the programs of the office write: a page of a database, an appended message,
 *   a whole saved file. A rename counts 0.
 * - `dense` counts those of them that no compressor makes smaller.
 */

import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";
import { type DayKind, dateOf, kindOf } from "./calendar.ts";
import type { MadeFile } from "./job.ts";
import { type PartName, partNames } from "./scale.ts";

export type OracleFile = Omit<MadeFile, "changed" | "dense">;

export interface PartSums {
  readonly files: number;
  readonly bytes: number;
  readonly changed: number;
  readonly dense: number;
}

export interface OracleDay {
  readonly day: number;
  readonly date: string;
  readonly kind: DayKind;
  readonly total: PartSums;
  readonly parts: Readonly<Partial<Record<PartName, PartSums>>>;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** The name of the top folder before and after, if it changed. */
  readonly renamed: readonly [from: string, to: string] | null;
  /** Files that only the administrator can read that day. */
  readonly locked: readonly string[];
  /** SHA-256 over path, size, time, mode and SHA-256 of every file, in the order of their paths. */
  readonly treeSha256: string;
  readonly files: readonly OracleFile[];
}

interface Events {
  readonly made: readonly MadeFile[];
  readonly renamed: OracleDay["renamed"];
  readonly locked: readonly string[];
}

/** The oracle of a day, from the oracle of the day before and the changes. `files` is everything in the tree now. */
export function oracleOf(
  day: number,
  before: OracleDay | null,
  files: ReadonlyMap<string, OracleFile>,
  events: Events,
): OracleDay {
  const sorted = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  const old = new Map((before?.files ?? []).map((file) => [renamedPath(file.path, events.renamed), file]));
  const same = (file: OracleFile) => {
    const was = old.get(file.path);
    return was?.sha256 === file.sha256 && was.mtime === file.mtime && was.mode === file.mode;
  };
  return {
    day,
    date: dateOf(day),
    kind: kindOf(day),
    total: sums(sorted, events.made),
    parts: partSums(sorted, events.made),
    added: sorted.filter(({ path: at }) => !old.has(at)).map(({ path: at }) => at),
    changed: sorted.filter((file) => old.has(file.path) && !same(file)).map(({ path: at }) => at),
    removed: [...old.keys()].filter((at) => !files.has(at)).sort(),
    renamed: events.renamed,
    locked: events.locked,
    treeSha256: treeHash(sorted),
    files: sorted,
  };
}

/** A path after the top folder got another name. */
export function renamedPath(at: string, renamed: OracleDay["renamed"]): string {
  if (renamed === null || !at.startsWith(`${renamed[0]}/`)) return at;
  return renamed[1] + at.slice(renamed[0].length);
}

function partSums(files: readonly OracleFile[], made: readonly MadeFile[]): Partial<Record<PartName, PartSums>> {
  const ofPart = Object.groupBy(files, ({ part }) => part);
  const madeOfPart = Object.groupBy(made, ({ part }) => part);
  const present = partNames.filter((part) => ofPart[part] !== undefined);
  return Object.fromEntries(present.map((part) => [part, sums(ofPart[part] ?? [], madeOfPart[part] ?? [])]));
}

function sums(files: readonly OracleFile[], made: readonly MadeFile[]): PartSums {
  const add = <T>(list: readonly T[], value: (each: T) => number) => list.reduce((sum, each) => sum + value(each), 0);
  return {
    files: files.length,
    bytes: add(files, ({ size }) => size),
    changed: add(made, ({ changed }) => changed),
    dense: add(made, ({ dense }) => dense),
  };
}

function treeHash(sorted: readonly OracleFile[]): string {
  const hash = createHash("sha256");
  for (const { path: at, size, mtime, mode, sha256 } of sorted)
    hash.update(`${at}\0${size}\0${mtime}\0${mode}\0${sha256}\n`);
  return hash.digest("hex");
}

function oracleFile(folder: string, day: number): string {
  return path.join(folder, "oracle", `day-${String(day).padStart(3, "0")}.json`);
}

/** Writes the oracle of a day, one file per line: the whole can be longer than the longest string. */
export function writeOracle(folder: string, oracle: OracleDay): void {
  const { files, ...rest } = oracle;
  const fd = openSync(oracleFile(folder, oracle.day), "wx");
  try {
    writeSync(fd, `${JSON.stringify(rest).slice(0, -1)},"files":[`);
    for (const [index, file] of files.entries()) writeSync(fd, `${index === 0 ? "" : ","}\n${JSON.stringify(file)}`);
    writeSync(fd, "\n]}\n");
  } finally {
    closeSync(fd);
  }
}

export function readOracle(folder: string, day: number): OracleDay {
  const file = oracleFile(folder, day);
  if (!existsSync(file)) throw new Error(`${folder} has no oracle of day ${day}`);
  return JSON.parse(readFileSync(file, "utf8")) as OracleDay;
}
