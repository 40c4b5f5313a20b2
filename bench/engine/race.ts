/**
 * The race: every program backs up, restores and maintains the same tree, interleaved. A *program under test* is one
 * program with one repository of the whole tree or of one part. Within a phase the programs run one after the other,
 * and each round starts with another one, so that other work on the machine affects all alike.
 *
 *   day 0    first backup, then three more with nothing changed      every program, every run
 *   day 1    a workday's night; full restore, three times one file   every program, every run
 *   day 2…   the other nights                                        the first run's programs of the tree
 *   the end  full restore, upkeep, full restore, one file, verify    the first run's programs of the tree
 *            full restore of the same tree from a new repository     one more per program
 *
 * A program may have a server (`ServerSide`): its use is counted with the command, and the next command waits until it is
 * idle. With `delayMs` days 0 and 1 are also measured once with that round trip between program and server (`delayed`).
 *
 * Every restore is compared with the oracle, file by file. The page cache is warm for all: the tree is read once before
 * each backup, the repository before every other command. Every command starts after a sync and with memory filled
 * (`memory.ts` says why). A restore goes into a new folder, and restored folders are removed later. So no measurement
 * includes writing back what another program restored, or the search for free inodes after a removal (ext4 without a
 * journal skips recently removed ones, one by one).
 */

import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, truncateSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { officeOf } from "../ofis/calendar.ts";
import { findDifferences } from "../ofis/check.ts";
import { makeOffice, simulateDay, treeFolder } from "../ofis/office.ts";
import type { OracleDay, OracleFile } from "../ofis/oracle.ts";
import { type PartName, parts as partFolders, partNames, type ScaleName } from "../ofis/scale.ts";
import { type Command, measure, settle, warm } from "./measure.ts";
import { fillMemory } from "./memory.ts";
import { type Phase, type Result, type ServerResult, withoutServer } from "./records.ts";
import type { Repository, ServerSide, System, SystemName } from "./system.ts";

export interface RaceOptions {
  readonly scale: ScaleName;
  readonly seed: number;
  readonly runs: number;
  readonly nights: number;
  /** Parts that are also backed up alone. */
  readonly parts: readonly PartName[];
  /** The round trip of the programs that are also measured with one; 0 for none. */
  readonly delayMs: number;
  /** Null for all. */
  readonly phases: ReadonlySet<Phase> | null;
  /** Everything is made below this folder. */
  readonly work: string;
  readonly threads: number;
  /** Repetitions of what takes a fraction of a second: other work on the machine disturbs a single one. */
  readonly shortRounds: number;
  /** Pause after the tree changed. */
  readonly pauseMs: number;
  /** Whether free memory is filled before a program is measured. */
  readonly fillsMemory: boolean;
  log(line: string): void;
}

/** A day, for the report. */
export type DaySummary = Omit<OracleDay, "files" | "added" | "changed" | "removed">;

export interface RaceOutcome {
  readonly results: readonly Result[];
  readonly days: readonly DaySummary[];
  /** Full restores and single files that were compared with the oracle; a difference ends the race. */
  readonly checked: number;
}

/** No program trusts its cache for files that changed a moment ago. This is longer than any of them waits. */
export const usualPauseMs = 3000;

/** Parts are measured on the first workday. A rebuild is measured on the whole tree, where nothing else changes. */
const partNights = [1];

const wholeTree = "tree";
/** The whole tree again, with a round trip between program and server. */
export const delayedTree = "delayed" as const;

/** Runs with a round trip. A program that waits for every call takes ten minutes and more for a first backup then. */
const delayedRuns = 1;

/** What a race that is for its figures has. */
export const usualShortRounds = 3;

/** What programs and their servers keep beside a repository. */
const beside = [".cache", ".log", ".config"];

/** Restored trees stay as long as the disk has space for this many more. */
const spareTrees = 2;

/** A program under test, with its repository. */
interface Program {
  readonly system: SystemName;
  readonly part: PartName | typeof wholeTree | typeof delayedTree;
  readonly run: number;
  readonly folder: string;
  readonly repository: Repository;
  /** Made on the last day, for a comparison with the repository of all nights. */
  readonly isNew: boolean;
  storedBytes: number;
}

/** Runs the race. Throws if a program fails or a restore differs. */
export async function runRace(systems: readonly System[], options: RaceOptions): Promise<RaceOutcome> {
  const race = new Race(options);
  try {
    await race.begin(systems);
    for (let night = 1; night <= options.nights; night++) await race.night(night);
    await race.end();
    return race.outcome;
  } finally {
    await race.close();
  }
}

class Race {
  readonly #options: RaceOptions;
  readonly #office: string;
  readonly #programs: Program[] = [];
  readonly #results: Result[] = [];
  readonly #days: DaySummary[] = [];
  #systems: readonly System[] = [];
  #restored = 0;
  #today: OracleDay | null = null;
  /** The file that is restored alone: its content is that of day 0, its path follows the top folder. */
  #single: OracleFile | null = null;
  #checked = 0;
  readonly #rounds = new Map<Phase, number>();

  constructor(options: RaceOptions) {
    this.#options = options;
    this.#office = path.join(options.work, "ofis");
  }

  get outcome(): RaceOutcome {
    return { results: this.#results, days: this.#days, checked: this.#checked };
  }

  async begin(systems: readonly System[]): Promise<void> {
    const { scale, seed, threads, runs, parts, delayMs, log } = this.#options;
    log(`making the tree (${scale}, seed ${seed})`);
    this.#note(await makeOffice(this.#office, { scale, seed, parts: partNames }, { threads }));
    const files = this.#oracle.files.filter(({ part }) => part === "invoices-600");
    this.#single = files[files.length >> 1] ?? null;
    this.#systems = systems;
    const all: readonly Program["part"][] = [wholeTree, ...(delayMs > 0 ? [delayedTree] : []), ...parts];
    for (let run = 1; run <= runs; run++)
      for (const part of all)
        if (part !== delayedTree || run <= delayedRuns)
          for (const system of systems) this.#programs.push(await this.#program(system, part, run));
    await sleep(this.#options.pauseMs);
    await this.#each(
      "first",
      () => true,
      (program) => this.#backup(program, "first"),
    );
    for (let round = 1; round <= this.#options.shortRounds; round++)
      await this.#each("unchanged", isWhole, (program) => this.#backup(program, "unchanged"));
  }

  async night(night: number): Promise<void> {
    this.#note(await simulateDay(this.#office, { threads: this.#options.threads }));
    await sleep(this.#options.pauseMs);
    const takesPart = (program: Program) => program.part === wholeTree || partNights.includes(night);
    await this.#each("night", takesPart, (program) => this.#backup(program, "night"));
    if (night > 1) return;
    await this.#each("restore-first", isWhole, (program) => this.#restore(program, "restore-first"));
    for (let round = 1; round <= this.#options.shortRounds; round++)
      await this.#each("file-first", isWhole, (program) => this.#restoreFile(program, "file-first"));
    for (const program of this.#programs.filter(({ run, part }) => run > 1 || part === delayedTree))
      await this.#drop(program);
    await this.#emptyRestored();
  }

  async end(): Promise<void> {
    const aged = (program: Program) => program.part === wholeTree && program.run === 1 && !program.isNew;
    for (let run = 1; run <= this.#options.runs; run++)
      await this.#each("restore-last", aged, (program) => this.#restore(program, "restore-last", run));
    await this.#each("upkeep", aged, (program) => this.#keep(program, "upkeep", program.repository.upkeep()));
    if (this.#asksFor("restore-new")) await this.#makeNew();
    for (let run = 1; run <= this.#options.runs; run++) {
      const phase = this.#asksFor("restore-kept") ? "restore-kept" : "restore-new";
      await this.#each(phase, aged, (program) => this.#restoreBoth(program, run));
      await this.#each("file-last", aged, (program) => this.#restoreFile(program, "file-last", run));
    }
    await this.#emptyRestored();
    await this.#each("verify", aged, (program) => this.#keep(program, "verify", [program.repository.verify()]));
  }

  async close(): Promise<void> {
    for (const { repository } of this.#programs) await repository.close?.();
  }

  async #program(system: System, part: Program["part"], run: number, isNew = false): Promise<Program> {
    const folder = path.join(this.#options.work, `${system.name}-${part}-${isNew ? "new" : run}`);
    const repository = await system.create(folder, part === delayedTree ? this.#options.delayMs : 0);
    return { system: system.name, part, run, folder, repository, isNew, storedBytes: repository.stored().bytes };
  }

  /** Backs the last day's tree up into new repositories, unmeasured. */
  async #makeNew(): Promise<void> {
    for (const system of this.#systems) {
      const program = await this.#program(system, wholeTree, 1, true);
      const { output } = await measure(program.repository.backup(this.#folderOf(program)));
      await program.repository.backedUp(this.#folderOf(program), output);
      await program.repository.server?.untilIdle();
      this.#programs.push(program);
    }
  }

  get #oracle(): OracleDay {
    if (this.#today === null) throw new Error("there is no tree yet");
    return this.#today;
  }

  #note(oracle: OracleDay): void {
    this.#today = oracle;
    const { files: _files, added: _added, changed: _changed, removed: _removed, ...summary } = oracle;
    this.#days.push(summary);
    this.#options.log(`day ${oracle.day} (${oracle.kind}): ${(oracle.total.bytes / 1e6).toFixed(0)} MB`);
  }

  /** Runs the phase with every program that takes part, run by run and part by part. Each time another program starts. */
  async #each(
    phase: Phase,
    takesPart: (program: Program) => boolean,
    work: (program: Program) => Promise<unknown>,
  ): Promise<void> {
    // Without a first backup and its nights there is nothing to measure later.
    if (!this.#asksFor(phase) && phase !== "first" && phase !== "night") return;
    const groups = Map.groupBy(this.#programs.filter(takesPart), ({ run, part }) => `${run} ${part}`);
    for (const group of groups.values()) {
      const round = this.#rounds.get(phase) ?? 0;
      this.#rounds.set(phase, round + 1);
      const first = round % group.length;
      for (const program of [...group.slice(first), ...group.slice(0, first)]) await work(program);
    }
  }

  #asksFor(phase: Phase): boolean {
    return this.#options.phases?.has(phase) ?? true;
  }

  async #backup(program: Program, phase: Phase): Promise<void> {
    const folder = this.#folderOf(program);
    await warm(folder);
    const output = await this.#measured(
      program,
      phase,
      [program.repository.backup(folder)],
      program.run,
      phase !== "unchanged",
    );
    await program.repository.backedUp(folder, output);
  }

  async #keep(program: Program, phase: Phase, commands: readonly Command[]): Promise<void> {
    await warm(program.repository.content ?? program.folder);
    await this.#measured(program, phase, commands);
  }

  async #restore(program: Program, phase: Phase, run = program.run): Promise<void> {
    const target = await this.#target();
    await program.repository.forgetContents?.();
    await warm(program.repository.content ?? program.folder);
    await this.#measured(program, phase, [program.repository.restore(this.#folderOf(program), target)], run);
    const mayMiss = process.getuid?.() === 0 ? [] : this.#oracle.locked;
    const findings = await findDifferences(target, this.#oracle, { mayMiss });
    if (findings.length > 0) throw new Error(`${program.system}: restored wrongly: ${findings.slice(0, 5).join("; ")}`);
    this.#checked++;
  }

  /** Restores from the repository of all nights and from the new one, one after the other; each time another starts. */
  async #restoreBoth(program: Program, run: number): Promise<void> {
    const other = this.#programs.find(({ system, isNew }) => isNew && system === program.system);
    const turns: [Phase, Program | undefined][] = [
      ["restore-kept", program],
      ["restore-new", other],
    ];
    for (const [phase, each] of run % 2 === 0 ? turns.reverse() : turns)
      if (each !== undefined && this.#asksFor(phase)) await this.#restore(each, phase, run);
  }

  async #restoreFile(program: Program, phase: Phase, run = program.run): Promise<void> {
    const single = this.#single;
    const now = this.#oracle.files.find(({ sha256 }) => sha256 === single?.sha256);
    if (now === undefined) throw new Error("the tree has no file to be restored alone");
    const target = await this.#target();
    await this.#measured(
      program,
      phase,
      [program.repository.restoreFile(this.#folderOf(program), now.path, target)],
      run,
    );
    const found = readdirSync(target, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const hashes = found.map((entry) => sha256Of(path.join(entry.parentPath, entry.name)));
    if (hashes.join() !== now.sha256) throw new Error(`${program.system}: restored ${now.path} wrongly`);
    this.#checked++;
  }

  /** A new folder to restore into. */
  async #target(): Promise<string> {
    const { bavail, bsize } = statfsSync(this.#options.work);
    if (bavail * bsize < spareTrees * this.#oracle.total.bytes) {
      this.#options.log("  the disk is nearly full: restored files are truncated");
      await this.#emptyRestored();
    }
    const target = path.join(this.#restoredFolder, String(++this.#restored));
    mkdirSync(target, { recursive: true });
    return target;
  }

  get #restoredFolder(): string {
    return path.join(this.#options.work, "restored");
  }

  /** Frees disk space. Files stay, empty: ext4 skips inodes of removed files for up to six minutes, one by one. */
  async #emptyRestored(): Promise<void> {
    if (!existsSync(this.#restoredFolder)) return;
    for (const entry of readdirSync(this.#restoredFolder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = path.join(entry.parentPath, entry.name);
      chmodSync(file, 0o600);
      truncateSync(file);
    }
    await settle();
  }

  /** Runs the commands one after the other and records their sum. Returns the last one's output. */
  async #measured(
    program: Program,
    phase: Phase,
    commands: readonly Command[],
    run = program.run,
    asksNew = false,
  ): Promise<string> {
    const sum = { wallSeconds: 0, cpuSeconds: 0, peakBytes: 0, writtenBytes: 0 };
    let output = "";
    const { server } = program.repository;
    await settle();
    if (this.#options.fillsMemory) fillMemory(this.#options.work);
    await server?.begin();
    for (const command of commands) {
      const measured = await measure(command);
      sum.wallSeconds += measured.wallSeconds;
      sum.cpuSeconds += measured.cpuSeconds;
      sum.peakBytes = Math.max(sum.peakBytes, measured.peakBytes);
      sum.writtenBytes += measured.writtenBytes;
      output = measured.output;
    }
    const use = server === undefined ? withoutServer : await useOf(server, sum.cpuSeconds);
    sum.cpuSeconds += use.serverCpuSeconds ?? 0;
    const { bytes: storedBytes, files: objects } = program.repository.stored();
    const result: Result = {
      ...{ system: program.system, phase, part: program.part, day: this.#oracle.day, run, ...sum },
      ...{ storedBytes, addedBytes: storedBytes - program.storedBytes, objects },
      newBytes: asksNew ? await program.repository.newBytes() : null,
      ...use,
    };
    program.storedBytes = storedBytes;
    this.#results.push(result);
    this.#options.log(lineOf(result));
    return output;
  }

  #folderOf({ part }: Program): string {
    const tree = treeFolder(this.#office);
    return part === wholeTree || part === delayedTree
      ? tree
      : path.join(tree, officeOf(this.#oracle.day), partFolders[part]);
  }

  /** Later phases need one repository of each program only. */
  async #drop(program: Program): Promise<void> {
    await program.repository.close?.();
    this.#programs.splice(this.#programs.indexOf(program), 1);
    for (const suffix of ["", ...beside, ...beside.map((each) => `.server${each}`)])
      rmSync(program.folder + suffix, { recursive: true, force: true });
  }
}

function isWhole({ part }: Program): boolean {
  return part === wholeTree || part === delayedTree;
}

/** What a server used for a command that itself used so many CPU seconds, with what it did afterwards. */
async function useOf(server: ServerSide, commandCpuSeconds: number): Promise<ServerResult> {
  const { cpuSeconds: serverCpuSeconds, peakBytes: serverPeakBytes, ...rest } = await server.used();
  const laterCpuSeconds = await server.untilIdle();
  const totalCpuSeconds = commandCpuSeconds + serverCpuSeconds + laterCpuSeconds;
  return { ...rest, serverCpuSeconds, serverPeakBytes, laterCpuSeconds, totalCpuSeconds };
}

function sha256Of(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function lineOf(result: Result): string {
  const { system, phase, part, run, wallSeconds, cpuSeconds, peakBytes, storedBytes, addedBytes } = result;
  const { sentBytes, receivedBytes, laterCpuSeconds } = result;
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  return `  ${phase} ${part} #${run} ${system}: ${wallSeconds.toFixed(2)} s, CPU ${cpuSeconds.toFixed(2)} s, peak ${megabytes(peakBytes)}, +${megabytes(addedBytes)} = ${megabytes(storedBytes)}${
    sentBytes === null
      ? ""
      : `, sent ${megabytes(sentBytes)}, received ${megabytes(receivedBytes ?? 0)}, CPU afterwards ${(laterCpuSeconds ?? 0).toFixed(2)} s`
  }`;
}
