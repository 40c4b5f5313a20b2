/** The figures of a run as Markdown, and what must hold. */

import type { RaceConditions } from "../engine/report.ts";
import type { TargetResult } from "../engine/targets.ts";
import { quantile } from "../requests/half-load.ts";
import type { Figures, Load, Options } from "./bench.ts";
import { isContent } from "./call-times.ts";
import type { Worked } from "./clients.ts";
import { type Reading, type Slope, type Slopes, type StepName, slopesOf } from "./growth.ts";
import { type Course, courseOf, type Sample } from "./memory.ts";
import { boundOf, controlOf, shareWithin } from "./service-times.ts";

const mebibyte = 2 ** 20;
const mostApiMib = 1024;
/** The last quarter's mean beside the second's: what runs of the same load differ by. */
const mostGrowth = 1.05;
const mostControlMs = 100;
const controlShare = 0.95;
/** Tables that are named for each thing. */
const namedTables = 6;

export type Conditions = Omit<RaceConditions, "missing">;

/** What is measured of a kind of call. */
export interface CallFigures {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Of all control calls, or of one kind. */
export function callFigures(times: readonly number[]): CallFigures {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((part) => quantile(sorted, part));
  return { count: sorted.length, p50, p95, p99 };
}

export function controlTimes({ calls }: Worked): readonly number[] {
  return Object.entries(calls.times).flatMap(([name, times]) => (isContent(name) ? [] : times));
}

export function targetsOf({ first, unchanged, nights }: Figures): TargetResult[] {
  const api = courseOf(nights.samples, ({ apiResident }) => apiResident);
  const [, second = 0, , fourth = 0] = api.quarters;
  const peak = Math.max(...[first, unchanged, nights].map(({ peaks }) => peaks.api));
  const p95 = (target: string, worked: Worked): TargetResult => {
    const figures = callFigures(controlTimes(worked));
    if (figures.count === 0) return { target, measured: "not measured", reached: null };
    return { target, measured: `${figures.p95.toFixed(1)} ms`, reached: figures.p95 <= mostControlMs };
  };
  const atService = (target: string, { times }: Load): TargetResult => {
    const share = shareWithin(controlOf(times), mostControlMs / 1000);
    return { target, measured: `${(share * 100).toFixed(1)} %`, reached: share >= controlShare };
  };
  return [
    {
      target: `peak of the API process ≤ ${mostApiMib} MiB`,
      ...{ measured: `${peak} MiB`, reached: peak <= mostApiMib },
    },
    {
      target: `API memory is flat: mean of the last quarter ≤ ${mostGrowth} × that of the second`,
      ...{ measured: `${(fourth / second).toFixed(3)} ×`, reached: fourth <= mostGrowth * second },
    },
    p95(`nights: control calls of readers, p95 ≤ ${mostControlMs} ms`, nights.readers),
    atService(`nights: the service answers 95 % of all control calls within ${mostControlMs} ms`, nights),
    p95(`first backups: control calls of readers, p95 ≤ ${mostControlMs} ms`, first.readers),
    atService(`first backups: the service answers 95 % of all control calls within ${mostControlMs} ms`, first),
  ];
}

export function markdown(figures: Figures, options: Options, { machine, date, load }: Conditions): string {
  const { first, unchanged, nights, readings, setUpSeconds } = figures;
  const loads = { "first backups": first, "nothing changed": unchanged, nights };
  const processes = options.isOneProcess ? "API and worker in one process" : "one API process, one worker process";
  const clients = `${options.processes} processes (niceness ${options.niceness} above the service's)`;
  const errors = Object.values(loads)
    .flatMap(({ agents, readers }) => [agents, readers])
    .flatMap(problemsOf);
  return [
    `# ${options.agents} agents of ${options.accounts} accounts`,
    "",
    `${date}; ${machine}; load before ${load}. ${processes}, embedded PostgreSQL (durable commits), objects in a folder, TLS on loopback. Agents in ${clients}; each tree ${options.files} files, ${options.changed} changed a night; ${options.readsPerSecond} reads a second beside${options.pauseSeconds > 0 ? `; an agent pauses ${options.pauseSeconds} s between two backups` : ""}. Clients share the machine with the service.`,
    "",
    `Made in ${setUpSeconds.accounts.toFixed(0)} s: ${options.accounts} accounts; in ${setUpSeconds.vaults.toFixed(0)} s: a taxpayer with a vault each; in ${setUpSeconds.agents.toFixed(0)} s: an agent each.`,
    "",
    "## Targets",
    "",
    ...["| target | measured | |", "|---|---|---|"],
    ...targetsOf(figures).map(
      ({ target, measured, reached }) =>
        `| ${target} | ${measured} | ${reached === null ? "–" : reached ? "yes" : "**NO**"} |`,
    ),
    "",
    "## Throughput",
    "",
    "| load | seconds | backups | backups/s | files/s | MB/s read | MB/s sent | a backup: p50, p95 s | all verified after |",
    "|---|---|---|---|---|---|---|---|---|",
    ...rows(loads, throughput),
    "",
    "Files and MB read are those of the trees; sent is what was new. CPU seconds, and cores in use:",
    "",
    ...["| load | API | worker | PostgreSQL | agents | readers | all, cores |", "|---|---|---|---|---|---|---|"],
    ...rows(loads, cpu),
    "",
    errors.length === 0 ? "No call was refused, repeated or lost." : "Refused, repeated or failed:",
    "",
    ...errors.map((line) => `- ${line}`),
    ...(errors.length === 0 ? [] : [""]),
    "## Calls",
    "",
    ...callTable("Nights", nights),
    ...callTable("First backups", first),
    "## Memory over the nights",
    "",
    ...["| MiB | start | quarters | end | largest sample | peak | per minute |", "|---|---|---|---|---|---|---|"],
    ...memoryRows(nights, options.isOneProcess),
    "",
    `Quarters: means. Peak: what Linux saw (VmHWM); with the first backups API ${first.peaks.api}${options.isOneProcess ? "" : `, worker ${first.peaks.worker}`} MiB. Per minute: least squares after the first quarter. PSS: pages that processes share are divided among them.`,
    "",
    "## What grows",
    "",
    ...growth(readings, slopesOf(readings), options),
  ].join("\n");
}

function rows(loads: Readonly<Record<string, Load>>, cells: (load: Load) => readonly string[]): string[] {
  return Object.entries(loads).map(([name, load]) => `| ${[name, ...cells(load)].join(" | ")} |`);
}

function throughput({ seconds, agents, afterwards }: Load): string[] {
  const sorted = agents.seconds.toSorted((a, b) => a - b);
  const rate = (value: number, digits = 1) => (value / seconds).toFixed(digits);
  return [
    ...[seconds.toFixed(0), String(agents.backups), rate(agents.backups), rate(agents.files, 0)],
    ...[rate(agents.bytes / 1e6), rate(agents.newBytes / 1e6, 2)],
    `${quantile(sorted, 0.5).toFixed(1)}, ${quantile(sorted, 0.95).toFixed(1)}`,
    `${afterwards.toFixed(0)} s`,
  ];
}

function cpu({ cpu: used, seconds }: Load): string[] {
  const { api, worker, database, agents, readers } = used;
  const parts = [api, worker, database, agents, readers];
  const all = parts.reduce((sum, each) => sum + each, 0);
  return [...parts.map((each) => each.toFixed(1)), (all / seconds).toFixed(2)];
}

function problemsOf({ calls, errors, leftOut }: Worked): string[] {
  return [
    ...Object.entries({ ...calls.refused, ...errors }).map(([what, count]) => `${count} × ${what}`),
    ...(leftOut === 0 ? [] : [`${leftOut} reads were not sent: too many were not answered`]),
  ];
}

function callTable(title: string, { readers, agents, times }: Load): string[] {
  const line = (name: string, times: readonly number[]) => {
    const { count, p50, p95, p99 } = callFigures(times);
    return `| ${name} | ${count} | ${[p50, p95, p99].map((each) => each.toFixed(1)).join(" | ")} |`;
  };
  const of = (who: string, worked: Worked) => [
    line(`**${who}: all control calls**`, controlTimes(worked)),
    ...Object.entries(worked.calls.times)
      .sort(([a], [b]) => Number(isContent(a)) - Number(isContent(b)) || a.localeCompare(b))
      .map(([name, times]) => line(`${name}${isContent(name) ? " (content)" : ""}`, times)),
  ];
  const late = callFigures(readers.lateMs);
  return [
    ...[`| ${title} | calls | p50 ms | p95 ms | p99 ms |`, "|---|---|---|---|---|"],
    ...[...of("readers", readers), ...of("agents", agents), ""],
    `Readers sent their calls later than due by ${late.p50.toFixed(1)} ms at p50, ${late.p95.toFixed(1)} at p95. Times of agents have the wait for their own process in them, which runs many.`,
    "",
    ...[
      `| ${title}, at the service | calls | within ${mostControlMs} ms | p50 ms ≤ | p95 ms ≤ | p99 ms ≤ |`,
      "|---|---|---|---|---|---|",
    ],
    ...Object.entries({ "**all control calls**": controlOf(times), ...times }).map(([name, counts]) => {
      const within = `${(shareWithin(counts, mostControlMs / 1000) * 100).toFixed(1)} %`;
      return `| ${[name, counts["+Inf"] ?? 0, within, ...[0.5, 0.95, 0.99].map((part) => boundOf(counts, part))].join(" | ")} |`;
    }),
    "",
  ];
}

function memoryRows({ samples, peaks }: Load, isOneProcess: boolean): string[] {
  const mib = (bytes: number) => (bytes / mebibyte).toFixed(0);
  const row = (name: string, peak: number | null, of: (sample: Sample) => number) => {
    const { start, quarters, end, peak: largest, slope }: Course = courseOf(samples, of);
    const cells = [
      mib(start),
      quarters.map(mib).join(" "),
      mib(end),
      mib(largest),
      peak ?? "",
      (slope / mebibyte).toFixed(2),
    ];
    return `| ${[name, ...cells].join(" | ")} |`;
  };
  return [
    row("API, resident", peaks.api, ({ apiResident }) => apiResident),
    row("API, PSS", null, ({ apiOwn }) => apiOwn),
    ...(isOneProcess
      ? []
      : [
          row("worker, resident", peaks.worker, ({ workerResident }) => workerResident),
          row("worker, PSS", null, ({ workerOwn }) => workerOwn),
        ]),
    row("PostgreSQL without shared buffers, PSS", null, ({ database }) => database),
    row("PostgreSQL's shared buffers", null, ({ databaseShared }) => databaseShared),
  ];
}

function growth(readings: readonly Reading[], slopes: Slopes, { files, changed }: Options): string[] {
  const line = (name: string, slope: Slope) => {
    const kb = (bytes: number) => (bytes / 1000).toFixed(2);
    const cells = [slope.rows.toFixed(1), kb(slope.databaseBytes), slope.objects.toFixed(2), kb(slope.objectBytes)];
    return `| ${[name, ...cells, kb(slope.apiBytes), kb(slope.workerBytes)].join(" | ")} |`;
  };
  const largest = (step: StepName) =>
    slopes.tables[step]
      .slice(0, namedTables)
      .map(({ name, rows: count, bytes }) => `${name} ${count.toFixed(1)} rows, ${(bytes / 1000).toFixed(2)} kB`)
      .join("; ");
  return [
    ...["| one more | rows | kB in PostgreSQL | objects | kB of objects | kB of API memory | kB of worker memory |"],
    "|---|---|---|---|---|---|---|",
    line("account (owner, program, default vault)", slopes.account),
    line("taxpayer with its vault", slopes.vault),
    line("agent that is registered", slopes.agent),
    line(`first backup (${files} files)`, slopes.firstBackup),
    line(`night (${changed} files changed)`, slopes.night),
    line("snapshot with nothing new", slopes.snapshot),
    line("new file in a snapshot", slopes.newFile),
    line("new version of a file", slopes.version),
    "",
    "Differences between readings while the service was idle, divided by what was made between them. Memory keeps what a load left behind: a slope of memory is an upper bound. Bytes of PostgreSQL are tables with indexes, without its log. New files and versions: what a first backup or a night adds to a snapshot with nothing new, divided by its files; folders and the vault's first things are in it.",
    "",
    ...(["accounts", "vaults", "agents", "first backups", "unchanged", "nights"] as const).map(
      (step) => `- Tables that grow most with ${step}, each: ${largest(step)}.`,
    ),
    "",
    ...[
      "| after | made | rows | MB in PostgreSQL | objects | MB of objects | API MiB | worker MiB |",
      "|---|---|---|---|---|---|---|---|",
    ],
    ...readings.map(({ step, made, tables, objects, objectBytes, apiBytes, workerBytes }) => {
      const all = Object.values(tables);
      const [count, bytes] = (["rows", "bytes"] as const).map((name) => all.reduce((sum, each) => sum + each[name], 0));
      const mb = (value = 0) => (value / 1e6).toFixed(1);
      const memory = [apiBytes, workerBytes].map((each) => (each / mebibyte).toFixed(0));
      return `| ${[step, made, count, mb(bytes), objects, mb(objectBytes), ...memory].join(" | ")} |`;
    }),
    "",
  ];
}
