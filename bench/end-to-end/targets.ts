/** What agent and service together must reach beside the better of restic and kopia with their servers. Ratios only. */

import { delayedTree, type RaceOutcome } from "../engine/race.ts";
import type { Key, Phase } from "../engine/records.ts";
import { type Comparison, comparisonOf, quotient, type TargetResult, targetResult } from "../engine/targets.ts";

/** Calls that may wait for each other where almost nothing is sent. */
const allowedWaits = 8;

const tree = { part: "tree" } as const;
const night1 = { ...tree, phase: "night", day: 1 } as const;
const dumps = { part: "dumps", phase: "night", day: 1 } as const;

/** Compares every target with the figures of a race. */
export function compareWithTargets({ results, days }: RaceOutcome, delayMs: number): TargetResult[] {
  const comparison = comparisonOf(results);
  const { ours, ratio } = comparison;
  const bytesOf = (day: number) => days[day]?.total.bytes ?? null;
  const perByte = (phase: Phase, day: number) => quotient(ours("wallSeconds", { ...tree, phase }), bytesOf(day));
  return [
    ratio("first backup: wall ≤ 0.55 ×", 0.55, "wallSeconds", { ...tree, phase: "first" }),
    ratio("first backup: CPU of both sides ≤ 0.65 ×", 0.65, "cpuSeconds", { ...tree, phase: "first" }),
    ratio("first backup: CPU with what the server does afterwards ≤ 1.0 ×", 1, "totalCpuSeconds", {
      ...{ ...tree, phase: "first" },
    }),
    ratio("next night: wall ≤ 0.5 ×", 0.5, "wallSeconds", night1),
    ratio("next night, dumps alone: sent ≤ 1/10", 0.1, "sentBytes", dumps),
    ratio("next night, dumps alone: stored ≤ 1/10", 0.1, "addedBytes", dumps),
    ratio("nothing changed: wall ≤ 0.5 ×", 0.5, "wallSeconds", { ...tree, phase: "unchanged" }),
    ratio("full restore after night 1: wall ≤ 0.7 ×", 0.7, "wallSeconds", { ...tree, phase: "restore-first" }),
    ratio("full restore after the last night and upkeep: wall ≤ 0.7 ×", 0.7, "wallSeconds", {
      ...{ ...tree, phase: "restore-kept" },
    }),
    targetResult(
      "full restore after the last night and upkeep: per byte ≤ 1.2 × of after night 1",
      1.2,
      perByte("restore-kept", days.length - 1),
      perByte("restore-first", 1),
    ),
    ratio("one file: wall ≤ 0.3 × restic's", 0.3, "wallSeconds", { ...tree, phase: "file-first" }, ["restic"]),
    ...delayTargets(comparison, delayMs),
  ];
}

function delayTargets({ ours }: Comparison, delayMs: number): TargetResult[] {
  if (delayMs === 0) return [];
  const walls = (key: Key) => {
    const [without, withDelay] = ["tree", delayedTree].map((part) => ours("wallSeconds", { ...key, part }));
    return { without: without ?? null, withDelay: withDelay ?? null };
  };
  const cost = (name: string, key: Key) => {
    const { without, withDelay } = walls(key);
    return targetResult(`${name}: ${delayMs} ms of round trip cost ≤ 15 %`, 1.15, withDelay, without);
  };
  const waits = (name: string, key: Key): TargetResult => {
    const { without, withDelay } = walls(key);
    const target = `${name}: ≤ ${allowedWaits} round trips are waited for`;
    if (without === null || withDelay === null) return { target, measured: "not measured", reached: null };
    const count = waitsOf(without, withDelay, delayMs);
    return { target, measured: count.toFixed(1), reached: count <= allowedWaits };
  };
  return [
    cost("first backup", { phase: "first" }),
    cost("next night", { phase: "night", day: 1 }),
    waits("nothing changed", { phase: "unchanged" }),
    waits("one file", { phase: "file-first" }),
  ];
}

/** Round trips that a program could not hide, by what they added to its time. */
export function waitsOf(without: number, withDelay: number, delayMs: number): number {
  return Math.max(0, ((withDelay - without) * 1000) / delayMs);
}
