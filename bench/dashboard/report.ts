/** The figures as tables, and the names of those that miss their targets. */

import { availableParallelism, loadavg } from "node:os";
import type { BenchResult } from "./bench.ts";
import type { Scale } from "./scale.ts";
import type { Trace } from "./traced-page.ts";

export interface Row {
  readonly name: string;
  readonly targetMs: number;
  readonly medianMs: number;
  readonly worstMs: number;
  /** CPU time of the page's main thread, the median. */
  readonly cpuMs: number;
  /** Of the worst one. */
  readonly worst: Trace;
}

/** One per interaction; of those that were done several times in a round, all together. */
export function rowsOf({ traces }: BenchResult): Row[] {
  return [...Map.groupBy(traces, ({ name }) => name)].map(([name, all]) => {
    const sorted = all.toSorted((one, other) => one.ms - other.ms);
    const [worst, middle] = [sorted.at(-1), sorted[Math.floor((sorted.length - 1) / 2)]];
    if (worst === undefined || middle === undefined) throw new Error(`${name} was not measured`);
    return { name, targetMs: worst.targetMs, medianMs: middle.ms, worstMs: worst.ms, cpuMs: medianCpu(all), worst };
  });
}

function medianCpu(all: readonly Trace[]): number {
  const sorted = all.map(({ cpuMs }) => cpuMs).sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/** Interactions whose median is above the target or which did not end, and lists with an empty place. */
export function missed(result: BenchResult): string[] {
  const slow = rowsOf(result)
    .filter(({ medianMs, targetMs }) => medianMs > targetMs)
    .map(({ name, medianMs, targetMs }) => `${name}: ${medianMs.toFixed(0)} ms, ${targetMs} are allowed`);
  const blank = result.scrolls
    .filter(({ blankFrames }) => blankFrames > 0)
    .map(({ name, blankFrames, frames }) => `${name}: ${blankFrames} of ${frames} frames have an empty place`);
  return [...slow, ...new Set(blank), ...result.failures];
}

export function markdown(
  result: BenchResult,
  { taxpayers, nights, files, auditRecords }: Scale,
  { showsRequests }: { readonly showsRequests: boolean },
): string {
  const rows = rowsOf(result).map((row) => line(row, showsRequests));
  const scrolls = [...Map.groupBy(result.scrolls, ({ name }) => name)].map(([name, all]) => {
    const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
    const longest = Math.max(...all.map(({ longestFrameMs }) => longestFrameMs));
    return `| ${name} | ${sum(({ frames }) => frames)} | ${sum(({ blankFrames }) => blankFrames)} | ${longest.toFixed(0)} |`;
  });
  const misses = missed(result);
  return [
    `## ${taxpayers} taxpayers × ${nights} nights, a folder of ${files} files, ${auditRecords} audit records`,
    "",
    `From the input to the paint of what it brings, in milliseconds; beside it the CPU time of the page's main thread, which other work on the machine does not change. Load of the machine at the end: ${(loadavg()[0] ?? 0).toFixed(1)} on ${availableParallelism()} cores.`,
    "",
    "| interaction | median | worst | CPU of the page, median | longest task of the worst | requests of the worst, last answer after |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
    "| list | frames while it was scrolled | with an empty place | longest frame, ms |",
    "|---|---|---|---|",
    ...scrolls,
    "",
    misses.length === 0
      ? "All within their targets."
      : ["Above the target:", ...misses.map((miss) => `- ${miss}`)].join("\n"),
    ...(result.complaints.length === 0 ? [] : ["", "Complaints:", ...result.complaints.map((one) => `- ${one}`)]),
    "",
  ].join("\n");
}

function line({ name, medianMs, worstMs, cpuMs, worst }: Row, showsRequests: boolean): string {
  const { requests, longestTaskMs } = worst;
  const last = Math.max(0, ...requests.map(({ to }) => to));
  const list = requests.map(({ path, from, to }) => `${path.split("?")[0]} ${from.toFixed(0)}–${to.toFixed(0)}`);
  const waited = requests.length === 0 ? "–" : `${requests.length}, ${last.toFixed(0)}`;
  const detail = showsRequests && list.length > 0 ? `${waited}: ${list.join("; ")}` : waited;
  return `| ${name} | ${medianMs.toFixed(0)} | ${worstMs.toFixed(0)} | ${cpuMs.toFixed(0)} | ${longestTaskMs.toFixed(0)} | ${detail} |`;
}
