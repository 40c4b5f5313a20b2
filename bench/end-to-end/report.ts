/** The race through servers as Markdown: the results against the targets, and a table per kind of figure. */

import { delayedTree, type RaceOptions, type RaceOutcome } from "../engine/race.ts";
import { type Key, type Measure, medianOf, type Result } from "../engine/records.ts";
import { heading, megabytes, partRows, type RaceConditions, seconds, table, treeRows } from "../engine/report.ts";
import type { System } from "../engine/system.ts";
import { compareWithTargets, waitsOf } from "./targets.ts";

export function markdown(
  outcome: RaceOutcome,
  systems: readonly System[],
  options: RaceOptions,
  conditions: RaceConditions,
): string {
  const { results } = outcome;
  const { delayMs } = options;
  const names = systems.map(({ name }) => name);
  const race = { outcome, systems, options, conditions };
  const where = "every program through its own server, over TLS and one counting proxy on loopback";
  const cells = (cell: (of: Of) => string) => (key: Key) =>
    names.map((system) => {
      const of: Of = (measure, part) => medianOf(results, measure, { ...key, ...(part && { part }), system });
      return of("wallSeconds") === null ? "" : cell(of);
    });
  const delayed = [
    `## With ${delayMs} ms of round trip`,
    "",
    ...table(
      names,
      treeRows(outcome, delayedTree),
      cells((of) => delayCell(of, delayMs)),
    ),
    "",
    "Each cell: wall seconds, those without delay, how many times as long, round trips that this is.",
    "",
  ];
  return [
    ...heading("Agent and service beside their peers", where, compareWithTargets(outcome, delayMs), race),
    "## Whole tree",
    "",
    ...table(names, treeRows(outcome), cells(timeCell)),
    "",
    "Each cell: wall seconds / CPU seconds of both sides (program + server, of which database) + those of the server afterwards, in the background.",
    "",
    ...table(names, treeRows(outcome), cells(memoryCell)),
    "",
    "Each cell: peak MiB of the program / of the server with its database.",
    "",
    ...table(names, treeRows(outcome), cells(byteCell)),
    "",
    "Each cell: MB sent to the server / received from it / added to what is stored / stored in all.",
    "",
    ...(delayMs > 0 ? delayed : []),
    "## Parts alone",
    "",
    ...table(
      names,
      partRows(outcome),
      cells((of) => `${timeCell(of)}; ${byteCell(of)}`),
    ),
    "",
    "Each cell: times and bytes as above.",
    "",
  ].join("\n");
}

type Of = (measure: Measure, part?: Result["part"]) => number | null;

function timeCell(of: Of): string {
  const [server, database] = [of("serverCpuSeconds") ?? 0, of("databaseCpuSeconds") ?? 0];
  const cpu = of("cpuSeconds") ?? 0;
  const [own, later] = [cpu - server, of("laterCpuSeconds") ?? 0];
  const ofWhich = database > 0 ? `, ${seconds(database)}` : "";
  return `${seconds(of("wallSeconds") ?? 0)} / ${seconds(cpu)} (${seconds(own)} + ${seconds(server)}${ofWhich}) + ${seconds(later)}`;
}

function memoryCell(of: Of): string {
  return (["peakBytes", "serverPeakBytes"] as const)
    .map((each) => ((of(each) ?? 0) / 1024 ** 2).toFixed(0))
    .join(" / ");
}

function byteCell(of: Of): string {
  const measures = ["sentBytes", "receivedBytes", "addedBytes", "storedBytes"] as const;
  return measures.map((each) => megabytes(of(each) ?? 0)).join(" / ");
}

function delayCell(of: Of, delayMs: number): string {
  const [withDelay, without] = [of("wallSeconds") ?? 0, of("wallSeconds", "tree")];
  if (without === null) return seconds(withDelay);
  const waits = waitsOf(without, withDelay, delayMs);
  return `${seconds(withDelay)}, ${seconds(without)}, ${(withDelay / without).toFixed(2)}, ${waits.toFixed(1)}`;
}
