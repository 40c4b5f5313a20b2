/**
 * The race on data that the engine was not tuned for (`other-office.ts`): first backup, the next night, full restore; also through
 * servers. Programs run interleaved, each with as many repositories as there are runs; medians are compared. A restored tree is
 * compared with the source.
 */

import { mkdirSync } from "node:fs";
import path from "node:path";
import type { ScaleName } from "../ofis/scale.ts";
import { type Command, measure, settle, warm } from "./measure.ts";
import { changeOtherOffice, makeOtherOffice, otherOffice } from "./other-office.ts";
import type { Repository, System, SystemName } from "./system.ts";

/** What the 1.3 GB of other data are divided by. */
export const otherDataDivisors: Readonly<Record<ScaleName, number>> = { XS: 64, S: 8, M: 1, L: 1 };

export interface OtherDataOptions {
  readonly seed: number;
  readonly runs: number;
  /** The tree has 1.3 GB divided by this. */
  readonly divisor: number;
  /** Everything is made below this folder. */
  readonly work: string;
  /** Pause after the tree changed. */
  readonly pauseMs: number;
  log(line: string): void;
}

const steps = ["first", "night", "restore"] as const;
type Step = (typeof steps)[number];

export interface OtherDataResult {
  readonly system: SystemName;
  readonly step: Step;
  readonly run: number;
  readonly wallSeconds: number;
  /** Of the program, and of its server while it ran. */
  readonly cpuSeconds: number;
  /** Of its server afterwards. */
  readonly laterCpuSeconds: number;
  /** To its server; null without one. */
  readonly sentBytes: number | null;
  readonly addedBytes: number;
}

interface Program {
  readonly system: SystemName;
  readonly run: number;
  readonly folder: string;
  readonly repository: Repository;
  storedBytes: number;
}

export async function runOtherData(systems: readonly System[], options: OtherDataOptions): Promise<OtherDataResult[]> {
  const { work, runs, seed, divisor, log } = options;
  const tree = path.join(work, "other-office");
  const office = otherOffice(seed, divisor);
  makeOtherOffice(tree, office);
  const programs: Program[] = [];
  try {
    for (let run = 1; run <= runs; run++)
      for (const system of systems) programs.push(await programOf(system, run, work));
    const results: OtherDataResult[] = [];
    for (const step of steps) {
      if (step === "night") changeOtherOffice(tree, office, 1);
      await new Promise((resolve) => setTimeout(resolve, options.pauseMs));
      for (const program of programs) {
        const result = step === "restore" ? await restore(program, tree) : await backUp(program, step, tree);
        results.push(result);
        log(
          `  ${step} #${program.run} ${program.system}: ${result.wallSeconds.toFixed(2)} s, CPU ${result.cpuSeconds.toFixed(2)} s, +${(result.addedBytes / 1e6).toFixed(2)} MB`,
        );
      }
    }
    return results;
  } finally {
    for (const { repository } of programs) await repository.close?.();
  }
}

/** The part's report. */
export function otherDataMarkdown(
  results: readonly OtherDataResult[],
  systems: readonly System[],
  { seed, divisor, runs }: OtherDataOptions,
): string {
  const value = (system: SystemName, step: Step, of: (result: OtherDataResult) => number) =>
    median(results.filter((each) => each.system === system && each.step === step).map(of)) ?? 0;
  const cell = (system: SystemName, step: Step) => {
    const isRestore = step === "restore";
    const isServed = results.some((each) => each.system === system && each.sentBytes !== null);
    const of = (measure: (each: OtherDataResult) => number) => value(system, step, measure).toFixed(2);
    return [
      of((each) => each.wallSeconds),
      of((each) => each.cpuSeconds),
      ...(isServed ? [of((each) => each.laterCpuSeconds)] : []),
      ...(isServed && !isRestore ? [of((each) => (each.sentBytes ?? 0) / 1e6)] : []),
      ...(isRestore ? [] : [of((each) => each.addedBytes / 1e6)]),
    ].join(" / ");
  };
  const isServed = results.some(({ sentBytes }) => sentBytes !== null);
  const [ours, ...peers] = systems.map(({ name }) => name);
  const ratios = steps.flatMap((step) => {
    const wall = (system: SystemName) => value(system, step, (each) => each.wallSeconds);
    const [own, better] = [ours === undefined ? 0 : wall(ours), Math.min(...peers.map(wall))];
    return Number.isFinite(better) && better > 0 ? [`${step} ${(own / better).toFixed(3)} ×`] : [];
  });
  return [
    "# Data that the engine was not tuned for",
    "",
    `1.3 GB divided by ${divisor}, seed ${seed}, medians of ${runs}: small XML files, two dumps of an unknown format (renamed, 1.7 % of the pages changed), a mailbox, PDFs, workbooks. ${
      isServed
        ? "Wall s / CPU s of both sides / those of the server afterwards / sent MB / stored MB"
        : "Wall s / CPU s / stored MB"
    }; of a restore without bytes.`,
    "",
    `| | ${systems.map(({ name }) => name).join(" | ")} |`,
    `|---|${systems.map(() => "---|").join("")}`,
    ...steps.map((step) => `| ${step} | ${systems.map(({ name }) => cell(name, step)).join(" | ")} |`),
    "",
    ...(ratios.length > 0 ? [`${ours} beside the better peer, wall: ${ratios.join(", ")}.`, ""] : []),
  ].join("\n");
}

async function programOf(system: System, run: number, work: string): Promise<Program> {
  const folder = path.join(work, `${system.name}-other-data-${run}`);
  const repository = await system.create(folder, 0);
  return { system: system.name, run, folder, repository, storedBytes: repository.stored().bytes };
}

async function backUp(program: Program, step: Step, tree: string): Promise<OtherDataResult> {
  await warm(tree);
  const { output, ...figures } = await measured(program, program.repository.backup(tree));
  await program.repository.backedUp(tree, output);
  const { bytes } = program.repository.stored();
  const addedBytes = bytes - program.storedBytes;
  program.storedBytes = bytes;
  return { system: program.system, run: program.run, step, ...figures, addedBytes };
}

async function restore(program: Program, tree: string): Promise<OtherDataResult> {
  const { system, run, folder, repository } = program;
  const target = `${folder}-restored`;
  mkdirSync(target, { recursive: true });
  await repository.forgetContents?.();
  await warm(repository.content ?? folder);
  const { output: _output, ...figures } = await measured(program, repository.restore(tree, target));
  // Fails if a file is missing or differs.
  await measure({ program: "diff", args: ["-r", tree, target] });
  return { system, run, step: "restore", ...figures, addedBytes: 0 };
}

/** Runs a command with what its server uses for it. */
async function measured({ repository: { server } }: Program, command: Command) {
  await settle();
  await server?.begin();
  const { wallSeconds, cpuSeconds, output } = await measure(command);
  if (server === undefined) return { wallSeconds, cpuSeconds, output, laterCpuSeconds: 0, sentBytes: null };
  const { cpuSeconds: serverCpuSeconds, sentBytes } = await server.used();
  const laterCpuSeconds = await server.untilIdle();
  return { wallSeconds, cpuSeconds: cpuSeconds + serverCpuSeconds, output, laterCpuSeconds, sentBytes };
}

function median(values: readonly number[]): number | null {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;
}
