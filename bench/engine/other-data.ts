/**
 * The race on data that the engine was not tuned for (`other-office.ts`): first backup, the next night, full restore. Programs run
 * interleaved, each with as many repositories as there are runs; medians are compared. A restored tree is compared with the source.
 */

import { mkdirSync } from "node:fs";
import path from "node:path";
import { measure, settle, warm } from "./measure.ts";
import { changeOtherOffice, makeOtherOffice, otherOffice } from "./other-office.ts";
import type { Repository, System, SystemName } from "./system.ts";

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
  readonly cpuSeconds: number;
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
  for (let run = 1; run <= runs; run++) for (const system of systems) programs.push(await programOf(system, run, work));
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
    const [wall, cpu, added] = [
      value(system, step, (each) => each.wallSeconds),
      value(system, step, (each) => each.cpuSeconds),
      value(system, step, (each) => each.addedBytes / 1e6),
    ];
    return step === "restore"
      ? `${wall.toFixed(2)} / ${cpu.toFixed(2)}`
      : `${wall.toFixed(2)} / ${cpu.toFixed(2)} / ${added.toFixed(2)}`;
  };
  return [
    "# Data that the engine was not tuned for",
    "",
    `1.3 GB divided by ${divisor}, seed ${seed}, medians of ${runs}: small XML files, two dumps of an unknown format (renamed, 1.7 % of the pages changed), a mailbox, PDFs, workbooks. Wall s / CPU s / stored MB.`,
    "",
    `| | ${systems.map(({ name }) => name).join(" | ")} |`,
    `|---|${systems.map(() => "---|").join("")}`,
    ...steps.map((step) => `| ${step} | ${systems.map(({ name }) => cell(name, step)).join(" | ")} |`),
    "",
  ].join("\n");
}

async function programOf(system: System, run: number, work: string): Promise<Program> {
  const folder = path.join(work, `${system.name}-other-data-${run}`);
  const repository = await system.create(folder, 0);
  return { system: system.name, run, folder, repository, storedBytes: repository.stored().bytes };
}

async function backUp(program: Program, step: Step, tree: string): Promise<OtherDataResult> {
  await warm(tree);
  await settle();
  const { wallSeconds, cpuSeconds, output } = await measure(program.repository.backup(tree));
  await program.repository.backedUp(tree, output);
  const { bytes } = program.repository.stored();
  const addedBytes = bytes - program.storedBytes;
  program.storedBytes = bytes;
  return { system: program.system, run: program.run, step, wallSeconds, cpuSeconds, addedBytes };
}

async function restore(program: Program, tree: string): Promise<OtherDataResult> {
  const target = `${program.folder}-restored`;
  mkdirSync(target, { recursive: true });
  await warm(program.folder);
  await settle();
  const { wallSeconds, cpuSeconds } = await measure(program.repository.restore(tree, target));
  // Fails if a file is missing or differs.
  await measure({ program: "diff", args: ["-r", tree, target] });
  return { system: program.system, run: program.run, step: "restore", wallSeconds, cpuSeconds, addedBytes: 0 };
}

function median(values: readonly number[]): number | null {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;
}
