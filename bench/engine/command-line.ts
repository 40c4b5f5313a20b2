/** What the commands of the races have in common: their options, the machine, the folder they work in. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, platform, release, tmpdir, totalmem } from "node:os";
import path from "node:path";
import { type ScaleName, scales } from "../ofis/scale.ts";
import { storedPlot, wallPlot } from "./plot.ts";
import type { RaceOutcome } from "./race.ts";
import { type Phase, phases } from "./records.ts";
import type { RaceConditions } from "./report.ts";
import type { SystemName } from "./system.ts";

export const resultsFolder = path.resolve(import.meta.dirname, "../results");

/** The folder to work in. It is removed at the end, unless it shall be kept. A signal also ends what is being measured (measure.ts). */
export function workFolder({ work: wanted, keep }: { work?: string | undefined; keep?: boolean | undefined }): string {
  const work = wanted ?? mkdtempSync(path.join(tmpdir(), "emanet-bench-"));
  mkdirSync(work, { recursive: true });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
  // A server that was killed a moment ago may still write.
  if (keep !== true) process.once("exit", () => rmSync(work, { recursive: true, force: true, maxRetries: 5 }));
  return work;
}

/** The version of this repository and of the Node that runs it. */
export function ownVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return `${(JSON.parse(text) as { version: string }).version}, Node ${process.version}`;
}

export function scaleOf(text: string): ScaleName {
  const scale = text as ScaleName;
  if (!Object.hasOwn(scales, scale)) throw new Error(`--scale takes ${Object.keys(scales).join(", ")}`);
  return scale;
}

/** The phases that `--only` lists beside programs; null for all. */
export function phasesOf(only: string | undefined, systemNames: readonly string[]): ReadonlySet<Phase> | null {
  const listed = (only ?? "").split(",").filter((each) => each !== "");
  const unknown = listed.filter((each) => !systemNames.includes(each) && !phases.some((phase) => phase === each));
  if (unknown.length > 0) throw new Error(`--only does not know ${unknown.join(", ")}`);
  const wanted = phases.filter((phase) => listed.includes(phase));
  return wanted.length === 0 ? null : new Set(wanted);
}

export function whole(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${text} is not a whole number`);
  return number;
}

/** Machine, time, and load before a race. */
export function conditionsNow(): Omit<RaceConditions, "missing"> {
  const [cpu] = cpus();
  return {
    machine: `${cpu?.model ?? "unknown processor"}, ${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GB, ${platform()} ${release()}`,
    load: loadavg()
      .map((each) => each.toFixed(1))
      .join(" "),
    date: new Date().toISOString().slice(0, 16),
  };
}

/** Writes a report and its plots: `base.md`, `base-wall.svg`, `base-stored.svg`. */
export function writeResults(
  folder: string,
  base: string,
  text: string,
  outcome: RaceOutcome,
  names: readonly SystemName[],
): void {
  mkdirSync(folder, { recursive: true });
  const plots = `![wall time](${base}-wall.svg)\n\n![repository by night](${base}-stored.svg)\n`;
  writeFileSync(path.join(folder, `${base}.md`), `${text}\n${plots}`);
  writeFileSync(path.join(folder, `${base}-wall.svg`), wallPlot(outcome, names));
  writeFileSync(path.join(folder, `${base}-stored.svg`), storedPlot(outcome, names));
}
