/** What was measured: one record per run of a program, and medians over the runs that measured the same thing. */

import type { SystemName } from "./system.ts";

/** What was done. `restore N` and `file N` name the night after which it was done. */
export const phases = [
  "first",
  "unchanged",
  "night",
  "restore-first",
  "file-first",
  "restore-last",
  "upkeep",
  "restore-kept",
  "restore-new",
  "file-last",
  "verify",
] as const;

export type Phase = (typeof phases)[number];

/** The name of each phase in tables. */
export const phaseTitles: Readonly<Record<Phase, string>> = {
  first: "first backup",
  unchanged: "nothing changed",
  night: "night",
  "restore-first": "full restore after night 1",
  "file-first": "one file after night 1",
  "restore-last": "full restore after the last night",
  upkeep: "upkeep",
  "restore-kept": "full restore after upkeep",
  "restore-new": "full restore of the same tree from a new repository",
  "file-last": "one file after upkeep",
  verify: "verify all data",
};

/** What a program's server used; all null for a local repository. */
export interface ServerResult {
  /** The server's part of the CPU seconds, and of these the database's. */
  readonly serverCpuSeconds: number | null;
  readonly databaseCpuSeconds: number | null;
  /** What the server used afterwards, in the background. */
  readonly laterCpuSeconds: number | null;
  /** CPU seconds of both sides, with those afterwards. */
  readonly totalCpuSeconds: number | null;
  readonly serverPeakBytes: number | null;
  readonly sentBytes: number | null;
  readonly receivedBytes: number | null;
}

export interface Result extends ServerResult {
  readonly system: SystemName;
  readonly phase: Phase;
  /** `tree`, or the part that was backed up alone. */
  readonly part: string;
  readonly day: number;
  readonly run: number;
  readonly wallSeconds: number;
  /** Of the program and, where it has one, of its server while the program ran. */
  readonly cpuSeconds: number;
  /** Of the program alone. */
  readonly peakBytes: number;
  readonly writtenBytes: number;
  /** Size of the repository afterwards, and what it grew by. */
  readonly storedBytes: number;
  readonly addedBytes: number;
  readonly objects: number;
  /** Bytes of new blocks before compression; null if the program does not report it. */
  readonly newBytes: number | null;
}

export const withoutServer: ServerResult = {
  ...{ serverCpuSeconds: null, databaseCpuSeconds: null, laterCpuSeconds: null, totalCpuSeconds: null },
  ...{ serverPeakBytes: null, sentBytes: null, receivedBytes: null },
};

export type Measure =
  | "wallSeconds"
  | "cpuSeconds"
  | "peakBytes"
  | "writtenBytes"
  | "storedBytes"
  | "addedBytes"
  | "objects"
  | "newBytes"
  | keyof ServerResult;

export interface Key {
  readonly system?: SystemName;
  readonly phase?: Phase;
  readonly part?: string;
  readonly day?: number;
}

/** The median of a measure over all results that match; null if nothing was measured. */
export function medianOf(results: readonly Result[], measure: Measure, key: Key): number | null {
  const values = select(results, key).flatMap((result) => result[measure] ?? []);
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

export function select(results: readonly Result[], key: Key): Result[] {
  return results.filter(
    (result) =>
      (key.system === undefined || key.system === result.system) &&
      (key.phase === undefined || key.phase === result.phase) &&
      (key.part === undefined || key.part === result.part) &&
      (key.day === undefined || key.day === result.day),
  );
}
