/** The figures of all runs as medians per case, and these as a table. */

import { availableParallelism, cpus, platform, release, totalmem } from "node:os";
import type { Side } from "./bench.ts";
import type { ApiCase, Moved } from "./cases.ts";
import { type Cost, medianCost } from "./measure.ts";

/** One run of a case at one side. */
export interface Run {
  readonly name: string;
  readonly side: Side;
  readonly round: number;
  readonly moved: Moved;
  readonly cost: Cost;
  /** Of the verification in the background that followed. */
  readonly verification: Cost | null;
}

export interface Conditions {
  readonly scale: string;
  readonly protocol: string;
  readonly rounds: number;
  readonly date: string;
  readonly load: string;
}

export interface CaseResult {
  readonly name: string;
  readonly title: string;
  readonly unit: ApiCase["unit"];
  readonly bytes: number;
  readonly requests: number;
  readonly service: Cost;
  readonly bare: Cost;
  readonly verification: Cost | null;
}

export function resultsOf(cases: readonly ApiCase[], runs: readonly Run[]): readonly CaseResult[] {
  return cases.flatMap(({ name, title, unit }) => {
    const of = (side: Side) => runs.filter((run) => run.name === name && run.side === side);
    const [first] = of("service");
    if (first === undefined) return [];
    const verified = of("service").flatMap(({ verification }) => verification ?? []);
    return {
      ...{ name, title, unit, bytes: first.moved.bytes, requests: first.moved.requests },
      service: medianCost(of("service").map(({ cost }) => cost)),
      // Zeros with `--sides service`.
      bare: medianCost(of("bare").map(({ cost }) => cost)),
      verification: verified.length === 0 ? null : medianCost(verified),
    };
  });
}

export function markdown(results: readonly CaseResult[], conditions: Conditions): string {
  const { scale, protocol, rounds, date, load } = conditions;
  return [
    `# The API beside a bare server, scale ${scale}, ${protocol}`,
    "",
    `${date}; ${machine()}; load before ${load}. Medians of ${rounds}, interleaved; peaks are the highest.`,
    "",
    "| | service | bare | ratio | CPU: service + PostgreSQL | bare | ratio | main thread | client | peak MiB |",
    "|---|---|---|---|---|---|---|---|---|---|",
    ...results.map(row),
    "",
    "CPU is in seconds per GB, or in milliseconds per request. The column of the main thread is a part of the service's; the client's CPU time is of the measured service.",
    "",
    "| verification in the background | MB/s | CPU s per GB: service + PostgreSQL | main thread | peak MiB |",
    "|---|---|---|---|---|",
    ...results.flatMap(verificationRow),
    "",
  ].join("\n");
}

function row(result: CaseResult): string {
  const { title, service, bare } = result;
  const [fast, slow] = [speed(result, service), speed(result, bare)];
  const [own, other] = [cpu(result, service.server + service.postgres), cpu(result, bare.server + bare.postgres)];
  return cells(
    title,
    `${shown(fast)} ${result.unit}`,
    bare.seconds === 0 ? "–" : shown(slow),
    bare.seconds === 0 ? "–" : `${(fast / slow).toFixed(2)} ×`,
    `${shown(cpu(result, service.server))} + ${shown(cpu(result, service.postgres))}`,
    shown(other),
    // Linux counts in hundredths of a second.
    other === 0 ? "–" : `${(own / other).toFixed(1)} ×`,
    shown(cpu(result, service.mainThread)),
    shown(cpu(result, service.client)),
    String(service.peakMib),
  );
}

function verificationRow(result: CaseResult): string[] {
  const { title, verification: cost, bytes } = result;
  if (cost === null) return [];
  const perGb = (seconds: number) => shown((seconds * 1e9) / bytes);
  const speedOf = shown(bytes / 1e6 / cost.seconds);
  return [
    cells(
      title,
      speedOf,
      `${perGb(cost.server)} + ${perGb(cost.postgres)}`,
      perGb(cost.mainThread),
      String(cost.peakMib),
    ),
  ];
}

function cells(...texts: readonly string[]): string {
  return `| ${texts.join(" | ")} |`;
}

/** In the unit of the case. */
export function speed({ unit, bytes, requests }: Pick<CaseResult, "unit" | "bytes" | "requests">, cost: Cost): number {
  return (unit === "MB/s" ? bytes / 1e6 : requests) / cost.seconds;
}

/** Seconds per GB, or milliseconds per request. */
function cpu({ unit, bytes, requests }: CaseResult, seconds: number): number {
  return unit === "MB/s" ? (seconds * 1e9) / bytes : (seconds * 1000) / requests;
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}

function machine(): string {
  const gigabytes = Math.round(totalmem() / 1024 ** 3);
  return `${cpus()[0]?.model ?? "unknown processor"}, ${availableParallelism()} cores, ${gigabytes} GB, ${platform()} ${release()}`;
}
