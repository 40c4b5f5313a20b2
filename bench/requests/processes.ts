/** The processes that are measured, and the CPU time that Linux counts for them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import serviceEnvironment from "../../tools/service-environment.json" with { type: "json" };
import type { Stalls } from "./stalls.ts";

export interface Program {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The words of its line `ready …`. */
  readonly ready: readonly string[];
}

/** Starts a program of this folder and waits for its line `ready …`. */
export async function startProgram(
  file: string,
  args: readonly string[],
  more: readonly string[] = [],
): Promise<Program> {
  const flags = ["--disable-warning=ExperimentalWarning", ...more];
  const child = spawn(process.execPath, [...flags, path.join(import.meta.dirname, file), ...args], {
    // As `npm start` does; the bare server gets the same.
    env: { ...serviceEnvironment, ...process.env },
    // The log of a request is part of its cost; what is done with the lines is not.
    stdio: ["ignore", "pipe", process.env.EMANET_BENCH_STDERR === "1" ? "inherit" : "ignore", "ipc"],
  });
  const line = await Promise.race([
    once(child.stdout ?? child, "data").then(([bytes]) => String(bytes)),
    once(child, "exit").then(() => {
      throw new Error(`${file} ended before it was ready; EMANET_BENCH_STDERR=1 shows its messages`);
    }),
  ]);
  return { child, pid: child.pid ?? 0, ready: line.trim().split(" ").slice(1) };
}

export async function stopProgram({ child }: Program): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

export interface ServiceCounts {
  readonly statements: number;
  readonly roundTrips: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** The heap of the first thread with what is free in it, and the buffers outside of it. */
  readonly heapTotalBytes: number;
  readonly bufferBytes: number;
}

/** Asks the service what it has sent; `collect` collects garbage first. */
export async function countsOf({ child }: Program, how: "counts" | "collect" = "counts"): Promise<ServiceCounts> {
  child.send(how);
  const [counts] = (await once(child, "message")) as [ServiceCounts];
  return counts;
}

/** Begins to watch what stops a server that was started with `stall-probe.ts`. Returns what ends it. */
export function watchProgram({ child }: Program): () => Promise<Stalls> {
  child.send("watch");
  return async () => {
    child.send("stalls");
    const [stalls] = (await once(child, "message")) as [Stalls];
    return stalls;
  };
}

/** Milliseconds in which threads of a process could run and had no processor. */
export function waitedMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const waited = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[1]);
  return waited.reduce((sum, ns) => sum + Number(ns), 0) / nanosecondsPerMs;
}

const ticksPerSecond = 100;

/** The unit of Linux's scheduler. */
const nanosecondsPerMs = 1_000_000;

/**
 * CPU milliseconds of a process so far. By the nanoseconds that Linux counts for each thread: a short request of a bare server costs
 * a few hundredths of a millisecond, and thousands of them only a few ticks.
 */
function cpuMs(pid: number | string): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + threadCpuMs(`${pid}/task/${thread}`), 0);
  } catch {
    return 0;
  }
}

function threadCpuMs(place: string): number {
  return Number(readFileSync(`/proc/${place}/schedstat`, "utf8").split(" ", 1)[0]) / nanosecondsPerMs;
}

/** CPU milliseconds of the children of a process that have ended. */
function endedCpuMs(pid: number): number {
  const fields = statFields(pid);
  return ((Number(fields[13]) + Number(fields[14])) * 1000) / ticksPerSecond;
}

export function programCpuMs({ pid }: Program): number {
  return cpuMs(pid);
}

/** CPU milliseconds of the thread that answers requests. */
export function mainThreadCpuMs({ pid }: Program): number {
  return threadCpuMs(`${pid}/task/${pid}`);
}

/** Begins a new peak of resident memory. */
export function resetPeak({ pid }: Pick<Program, "pid">): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** The most resident memory since the start, or since {@link resetPeak}. */
export function peakMib({ pid }: Pick<Program, "pid">): number {
  return mibOf(pid, "VmHWM");
}

/** CPU milliseconds of a PostgreSQL server: its first process, its living backends and those that ended. */
export function postgresCpuMs(postmaster: number): number {
  return cpuMs(postmaster) + endedCpuMs(postmaster) + childrenOf(postmaster).reduce((sum, pid) => sum + cpuMs(pid), 0);
}

export function childrenOf(parent: number): readonly number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.filter((pid) => parentOf(pid) === parent).map(Number);
}

export function parentOf(pid: number | string): number | null {
  try {
    return Number(statFields(pid)[1]);
  } catch {
    // It ended meanwhile.
    return null;
  }
}

export interface MemoryReading {
  /** After a garbage collection. */
  readonly heapMib: number;
  readonly residentMib: number;
}

export async function readMemory(program: Program): Promise<MemoryReading> {
  const { heapBytes } = await countsOf(program, "collect");
  return { heapMib: heapBytes / 2 ** 20, residentMib: residentMib(program) };
}

function residentMib({ pid }: Program): number {
  return mibOf(pid, "VmRSS");
}

function mibOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  const kib = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kib) / 1024);
}

/** The fields after the name of the program, which can contain spaces. */
function statFields(pid: number | string): readonly string[] {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
}
