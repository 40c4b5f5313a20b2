/**
 * Runs a program and measures it: wall time, CPU seconds of it and of every process that it started, peak memory, and
 * bytes written. The program is the only child of a shell, because the system adds up CPU time, input and output of
 * ended children exactly; reading them while the program runs would miss the end. The system also keeps the peak memory
 * of each process; it is read every few milliseconds while the program runs.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, readdirSync, readFileSync, statSync } from "node:fs";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Exit codes besides 0 that mean "done, with warnings". */
  readonly alsoFine?: readonly number[];
}

export interface Measured {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  /** 0 on systems without /proc. */
  readonly peakBytes: number;
  /** Bytes written to the disk; 0 on systems without /proc. */
  readonly writtenBytes: number;
  readonly output: string;
}

/** Often enough for a short run; the system itself keeps the peak. */
const sampleMs = 10;

/** Longer than a night at scale L takes. */
const runLimitMs = 4 * 3600 * 1000;

/** For the shell: run the command, then write CPU times and written bytes to descriptor 3. */
const wrapper = `"$@"
status=$?
{ times; while read -r line; do printf '%s\\n' "$line"; done < /proc/$$/io; } >&3 2>/dev/null
exit $status`;

/** Runs a command to its end. Throws with its output if it fails. */
export async function measure(command: Command): Promise<Measured> {
  const { program, args, env, alsoFine = [] } = command;
  const started = performance.now();
  const child = spawn("bash", ["-c", wrapper, "bench", program, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    // Its own process group, so that stopping the benchmark ends all of it.
    detached: true,
  });
  const stop = () => endGroup(child.pid);
  process.once("exit", stop);
  const limit = setTimeout(stop, runLimitMs);
  const texts = ["", "", ""];
  for (const [index, stream] of [child.stdout, child.stderr, child.stdio[3]].entries())
    stream?.on("data", (piece: Buffer) => {
      texts[index] += piece.toString("utf8");
    });
  let peakBytes = 0;
  const sampler = setInterval(() => {
    peakBytes = Math.max(peakBytes, peakOfChildren(child.pid ?? 0));
  }, sampleMs);
  const ended = once(child, "exit") as Promise<[number | null]>;
  const closed = once(child, "close");
  const [code] = await ended;
  const wallSeconds = (performance.now() - started) / 1000;
  clearInterval(sampler);
  clearTimeout(limit);
  process.off("exit", stop);
  await closed;
  const [output = "", errors = "", counted = ""] = texts;
  if (code !== 0 && !alsoFine.includes(code ?? -1))
    throw new Error(`${program} ${args.join(" ")} ended with ${code}:\n${output}${errors}`);
  return { wallSeconds, cpuSeconds: cpuOf(counted), peakBytes, writtenBytes: writtenOf(counted), output };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The second line of `times` is of the children: `0m1.234s 0m0.567s`. */
function cpuOf(text: string): number {
  const line = text.split("\n")[1] ?? "";
  const found = [...line.matchAll(/(\d+)m([\d.]+)s/g)];
  if (found.length !== 2) throw new Error(`the shell does not say the time of its children: ${text}`);
  return found.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

function writtenOf(text: string): number {
  return Number(/^write_bytes: (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** The sum of the peaks of everything below a process. */
function peakOfChildren(pid: number): number {
  try {
    const below = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .trim()
      .split(" ")
      .filter(Boolean)
      .map(Number);
    return below.reduce((sum, child) => sum + peakOf(child) + peakOfChildren(child), 0);
  } catch {
    // It ended since the last reading, or the system has no /proc: nothing to add.
    return 0;
  }
}

function peakOf(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}

/** Reads everything below a folder, so that the page cache is warm. Locked files are skipped. */
export async function warm(folder: string): Promise<void> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = `${entry.parentPath}/${entry.name}`;
    if ((statSync(file).mode & 0o400) === 0) continue;
    for await (const piece of createReadStream(file, { highWaterMark: warmStepBytes })) void piece;
  }
}

/** Waits until everything that was written is on disk. */
export async function settle(): Promise<void> {
  await measure({ program: "sync", args: [] });
}

/** Several times the read-ahead of the system. */
const warmStepBytes = 1024 * 1024;

export interface FolderSize {
  readonly bytes: number;
  readonly files: number;
}

/** Apparent size and number of the files below a folder. */
export function folderSize(folder: string): FolderSize {
  let bytes = 0;
  let files = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    // A running server may have removed it since.
    bytes += statSync(`${entry.parentPath}/${entry.name}`, { throwIfNoEntry: false })?.size ?? 0;
    files++;
  }
  return { bytes, files };
}
