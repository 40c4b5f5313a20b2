/** What the engine must reach compared with the better of restic and kopia, and whether it did. Ratios only. */

import type { RaceOutcome } from "./race.ts";
import { type Key, type Measure, medianOf } from "./records.ts";
import type { SystemName } from "./system.ts";

export interface TargetResult {
  readonly target: string;
  /** The measured value as text, or "not measured". */
  readonly measured: string;
  readonly reached: boolean | null;
}

const peers: readonly SystemName[] = ["restic", "kopia"];
const rebuildDay = 6;
const renameDay = 7;

export interface Comparison {
  ours(measure: Measure, key: Key): number | null;
  /** Ours beside the better peer's. */
  ratio(target: string, limit: number, measure: Measure, key: Key, among?: readonly SystemName[]): TargetResult;
}

/** Medians of a race, for comparisons. */
export function comparisonOf(results: RaceOutcome["results"]): Comparison {
  const ours = (measure: Measure, key: Key) => medianOf(results, measure, { system: "emanet", ...key });
  const best = (measure: Measure, key: Key, among: readonly SystemName[]) => {
    const values = among.flatMap((system) => medianOf(results, measure, { ...key, system }) ?? []);
    return values.length === 0 ? null : Math.min(...values);
  };
  return {
    ours,
    ratio: (target, limit, measure, key, among = peers) =>
      targetResult(target, limit, ours(measure, key), best(measure, key, among)),
  };
}

/** Compares every target with the figures of a race. */
export function compareWithTargets({ results, days }: RaceOutcome): TargetResult[] {
  const { ours, ratio } = comparisonOf(results);
  const bytesOf = (day: number, part?: "dumps") =>
    (part === undefined ? days[day]?.total.bytes : days[day]?.parts[part]?.bytes) ?? null;
  const tree = { part: "tree" } as const;
  const lastDay = days.length - 1;
  return [
    targetResult(
      "next night, dumps alone: new bytes ≤ 2.5 % of the dumps",
      0.025,
      ours("newBytes", { part: "dumps", phase: "night", day: 1 }),
      bytesOf(1, "dumps"),
    ),
    ratio("next night, dumps alone: stored ≤ 1/10 of the better peer", 0.1, "addedBytes", {
      part: "dumps",
      phase: "night",
      day: 1,
    }),
    ratio("invoices of 60 issuers: stored ≤ 1/8", 0.125, "addedBytes", { part: "invoices-60", phase: "first" }),
    ratio("invoices of 600 issuers: stored ≤ 1/8", 0.125, "addedBytes", { part: "invoices-600", phase: "first" }),
    targetResult(
      "renamed parent folder: < 0.1 % of the tree stored",
      0.001,
      ours("addedBytes", { ...tree, phase: "night", day: renameDay }),
      bytesOf(renameDay),
    ),
    ratio("weekly rebuild (only databases change): stored not more", 1, "addedBytes", {
      ...tree,
      phase: "night",
      day: rebuildDay,
    }),
    ratio("first backup: wall ≤ 0.5 ×", 0.5, "wallSeconds", { ...tree, phase: "first" }),
    ratio("first backup: CPU ≤ 0.6 ×", 0.6, "cpuSeconds", { ...tree, phase: "first" }),
    ratio("nothing changed: wall ≤ 0.5 ×", 0.5, "wallSeconds", { ...tree, phase: "unchanged" }),
    ratio("next night: wall ≤ 0.5 ×", 0.5, "wallSeconds", { ...tree, phase: "night", day: 1 }),
    ratio("full restore: wall ≤ 0.7 ×", 0.7, "wallSeconds", { ...tree, phase: "restore-first" }),
    targetResult(
      "full restore after all nights and upkeep: ≤ 1.2 × of the same tree from a new repository",
      1.2,
      ours("wallSeconds", { ...tree, phase: "restore-kept" }),
      ours("wallSeconds", { ...tree, phase: "restore-new" }),
    ),
    targetResult(
      "full restore after all nights and upkeep: per byte ≤ 1.2 × of after night 1",
      1.2,
      quotient(ours("wallSeconds", { ...tree, phase: "restore-kept" }), bytesOf(lastDay)),
      quotient(ours("wallSeconds", { ...tree, phase: "restore-first" }), bytesOf(1)),
    ),
    ratio("one file: wall ≤ 0.3 × restic's", 0.3, "wallSeconds", { ...tree, phase: "file-first" }, ["restic"]),
    ratio("whole tree after all nights and upkeep: stored less", 1, "storedBytes", { ...tree, phase: "upkeep" }),
  ];
}

export function quotient(a: number | null, b: number | null): number | null {
  return a === null || b === null || b === 0 ? null : a / b;
}

export function targetResult(target: string, limit: number, value: number | null, of: number | null): TargetResult {
  const share = quotient(value, of);
  if (share === null) return { target, measured: "not measured", reached: null };
  const text = limit < 0.05 ? `${(share * 100).toFixed(3)} %` : `${share.toFixed(3)} ×`;
  return { target, measured: text, reached: share <= limit };
}
