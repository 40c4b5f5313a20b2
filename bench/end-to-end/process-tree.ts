/** What Linux counts for a process and everything that it started. Systems without /proc count nothing. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Clock ticks of Linux are hundredths of a second. */
const ticksPerSecond = 100;

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly cpuSeconds: number;
}

export interface TreeCpu {
  /** Of the process, with its threads and what it has waited for. */
  readonly own: number;
  /** Of everything below it too. */
  readonly all: number;
}

/** CPU seconds of a process, and with all that it started. What has ended is counted by its parent. */
export function cpuOfTree(pid: number): TreeCpu {
  const tree = processTree(pid);
  const own = tree.find((each) => each.pid === pid)?.cpuSeconds ?? 0;
  return { own, all: tree.reduce((sum, each) => sum + each.cpuSeconds, 0) };
}

/** Peaks of resident memory are counted from now on. */
export function resetPeaks(pid: number): void {
  for (const each of processTree(pid))
    whileAlive(() => {
      writeFileSync(`/proc/${each.pid}/clear_refs`, "5");
      return 0;
    });
}

/** The sum of the processes' peaks. Memory that they share (PostgreSQL's buffers) is counted once. */
export function peakOfTree(pid: number): number {
  const memory = processTree(pid).map((each) => ({ peak: kib(each.pid, "VmHWM"), shared: kib(each.pid, "RssShmem") }));
  const shared = Math.max(0, ...memory.map((each) => each.shared));
  return memory.reduce((sum, each) => sum + Math.max(0, each.peak - each.shared), shared) * 1024;
}

export interface TreeMemory {
  /** Of the process alone: resident, and its part of what it shares with others. */
  readonly residentBytes: number;
  readonly ownBytes: number;
  /** Of everything below it, each its part: without memory that processes share on purpose (PostgreSQL's buffers), and that memory. */
  readonly belowBytes: number;
  readonly sharedBytes: number;
}

/** Memory of a process and of all that it started, now. A page that several processes map is divided among them. */
export function memoryOfTree(pid: number): TreeMemory {
  const [own, ...below] = processTree(pid).map((each) => {
    const text = whileAlive(() => readFileSync(`/proc/${each.pid}/smaps_rollup`, "utf8")) ?? "";
    const of = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) * 1024;
    return { resident: of("Rss"), part: of("Pss"), shared: of("Pss_Shmem") };
  });
  const sum = (value: (each: NonNullable<typeof own>) => number) => below.reduce((all, each) => all + value(each), 0);
  return {
    ...{ residentBytes: own?.resident ?? 0, ownBytes: own?.part ?? 0 },
    ...{ belowBytes: sum(({ part, shared }) => part - shared), sharedBytes: sum(({ shared }) => shared) },
  };
}

function processTree(pid: number): Stat[] {
  if (!existsSync("/proc/self/stat")) return [];
  const stats = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (statOf(name) ?? []) : []));
  const below = (parent: number): Stat[] =>
    stats.filter((each) => each.parent === parent).flatMap((each) => [each, ...below(each.pid)]);
  return [...stats.filter((each) => each.pid === pid), ...below(pid)];
}

function statOf(name: string): Stat | null {
  const text = whileAlive(() => readFileSync(`/proc/${name}/stat`, "latin1"));
  if (text === null) return null;
  // After the name of the program, which can contain spaces: state, parent, …, times of its own, times of ended children.
  const fields = text
    .slice(text.lastIndexOf(") ") + 2)
    .split(" ")
    .map(Number);
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each, 0);
  return { pid: Number(name), parent: fields[1] ?? 0, cpuSeconds: ticks / ticksPerSecond };
}

function kib(pid: number, field: "VmHWM" | "RssShmem"): number {
  const text = whileAlive(() => readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text ?? "")?.[1] ?? 0);
}

/** Null if the process has just ended. */
function whileAlive<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}
