/** The race as Markdown: the machine, the programs and their settings, the results against the targets, and a table per kind of figure. */

import { delayedTree, type RaceOptions, type RaceOutcome } from "./race.ts";
import { type Key, type Measure, medianOf, type Phase, phases, phaseTitles, select } from "./records.ts";
import type { System, SystemName } from "./system.ts";
import { compareWithTargets, type TargetResult } from "./targets.ts";

export interface RaceConditions {
  readonly machine: string;
  /** Load of the machine before the race, in processes. */
  readonly load: string;
  readonly date: string;
  readonly missing: readonly string[];
}

/** What ran where on what, and the results against the targets. `where`: where the repositories are. */
export function heading(
  title: string,
  where: string,
  targets: readonly TargetResult[],
  race: { outcome: RaceOutcome; systems: readonly System[]; options: RaceOptions; conditions: RaceConditions },
): string[] {
  const { outcome, systems, options, conditions } = race;
  const { days, checked } = outcome;
  const first = days[0];
  return [
    `# ${title}, scale ${options.scale}`,
    "",
    `${conditions.date}; ${conditions.machine}; load before the race ${conditions.load}. Tree: ${first?.total.files ?? 0} files, ${megabytes(first?.total.bytes ?? 0)} MB, seed ${options.seed}, ${options.nights} nights. Medians of ${options.runs}, interleaved; page cache warm for all; ${where}. ${checked} restores were compared with the oracle, all alike.`,
    "",
    ...systems.map(({ name, version, settings }) => `- **${name}** (${version}): ${settings}`),
    ...conditions.missing.map((sentence) => `- ${sentence}`),
    "",
    "## Targets",
    "",
    "| target | measured | |",
    "|---|---|---|",
    ...targets.map(
      ({ target, measured, reached }) =>
        `| ${target} | ${measured} | ${reached === null ? "–" : reached ? "reached" : "**missed**"} |`,
    ),
    "",
  ];
}

export function markdown(
  outcome: RaceOutcome,
  systems: readonly System[],
  options: RaceOptions,
  conditions: RaceConditions,
): string {
  const { results } = outcome;
  const names = systems.map(({ name }) => name);
  const race = { outcome, systems, options, conditions };
  return [
    ...heading("The engine and its peers", "local repositories", compareWithTargets(outcome), race),
    "## Whole tree",
    "",
    ...table(names, treeRows(outcome), (key) => cells(results, key, names)),
    "",
    "Each cell: wall seconds / CPU seconds / peak MiB. Written and stored bytes:",
    "",
    ...table(names, treeRows(outcome), (key) => byteCells(results, key, names)),
    "",
    "Each cell: MB added to the repository / MB sent to the disk / MB in the repository / objects in it.",
    "",
    "## Parts alone",
    "",
    ...table(names, partRows(outcome), (key) => partCells(results, key, names)),
    "",
    "Each cell: wall seconds / CPU seconds / MB added to the repository. For emanet the bytes of new blocks before compression follow in brackets.",
    "",
  ].join("\n");
}

export type Row = readonly [title: string, key: Key];

export function treeRows({ days }: RaceOutcome, part = "tree"): Row[] {
  const rows: Row[] = [];
  for (const phase of phases) {
    if (phase !== "night") rows.push([phaseTitles[phase], { phase, part }]);
    else for (const { day, kind } of days.slice(1)) rows.push([`night ${day} (${kind})`, { phase, part, day }]);
  }
  return rows;
}

export function partRows({ results }: RaceOutcome): Row[] {
  const wholes = ["tree", delayedTree];
  const parts = [...new Set(results.map(({ part }) => part))].filter((part) => !wholes.includes(part));
  const of = (part: string, phase: Phase): Row[] => {
    const days = [...new Set(select(results, { part, phase }).map(({ day }) => day))];
    return days.map((day) => [`${part}, ${phase === "first" ? "first backup" : `night ${day}`}`, { part, phase, day }]);
  };
  return parts.flatMap((part) => [...of(part, "first"), ...of(part, "night")]);
}

export function table(
  names: readonly SystemName[],
  rows: readonly Row[],
  cellsOf: (key: Key) => readonly string[],
): string[] {
  const measured = rows
    .map(([title, key]) => [title, ...cellsOf(key)])
    .filter((row) => row.slice(1).some((cell) => cell !== ""));
  return [
    `| | ${names.join(" | ")} |`,
    `|---|${names.map(() => "---").join("|")}|`,
    ...measured.map((row) => `| ${row.join(" | ")} |`),
  ];
}

type Results = RaceOutcome["results"];

function cells(results: Results, key: Key, names: readonly SystemName[]): string[] {
  return names.map((system) => {
    const of = (measure: Measure) => medianOf(results, measure, { ...key, system });
    const wall = of("wallSeconds");
    if (wall === null) return "";
    return `${seconds(wall)} / ${seconds(of("cpuSeconds") ?? 0)} / ${((of("peakBytes") ?? 0) / 1024 ** 2).toFixed(0)}`;
  });
}

function byteCells(results: Results, key: Key, names: readonly SystemName[]): string[] {
  return names.map((system) => {
    const of = (measure: Measure) => medianOf(results, measure, { ...key, system });
    const stored = of("storedBytes");
    if (stored === null || (key.phase ?? "").startsWith("restore") || (key.phase ?? "").startsWith("file")) return "";
    return `${megabytes(of("addedBytes") ?? 0)} / ${megabytes(of("writtenBytes") ?? 0)} / ${megabytes(stored)} / ${of("objects") ?? 0}`;
  });
}

function partCells(results: Results, key: Key, names: readonly SystemName[]): string[] {
  return names.map((system) => {
    const of = (measure: Measure) => medianOf(results, measure, { ...key, system });
    const wall = of("wallSeconds");
    if (wall === null) return "";
    const fresh = medianOf(results, "newBytes", { ...key, system });
    return `${seconds(wall)} / ${seconds(of("cpuSeconds") ?? 0)} / ${megabytes(of("addedBytes") ?? 0)}${fresh === null ? "" : ` (${megabytes(fresh)})`}`;
  });
}

export function seconds(value: number): string {
  return value.toFixed(2);
}

export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 0);
}
