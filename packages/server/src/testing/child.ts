/**
 * Runs a program of `testing/programs/` as a separate process, for tests of locks, kills and signals. A program writes
 * lines for its test to standard output.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Cleanup } from "./database.ts";

/** Much longer than a start on a busy machine. */
const linePatienceMs = 120_000;

export interface Program {
  readonly process: ChildProcess;
  readonly pid: number;
  /** The next line of standard output; throws with the text of standard error if the program ends first. */
  line(): Promise<string>;
  /** Kills the process with SIGKILL and waits for its end. */
  kill(): Promise<void>;
  /** Waits for its end. */
  exit(): Promise<{ readonly code: number | null; readonly errors: string }>;
}

export interface ProgramOptions {
  readonly args?: readonly string[];
  /** Words before the command, e.g. to run it as another user. */
  readonly prefix?: readonly string[];
}

/** Starts `testing/programs/<name>.ts`; killed at the end of the test if it still runs. */
export function startProgram(cleanup: Cleanup, name: string, options: ProgramOptions = {}): Program {
  const file = path.join(import.meta.dirname, "programs", `${name}.ts`);
  const [command = "", ...words] = [
    ...(options.prefix ?? []),
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    file,
    ...(options.args ?? []),
  ];
  const child = spawn(command, words, { stdio: ["pipe", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString("utf8");
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  cleanup.after(kill);
  return {
    process: child,
    pid: child.pid ?? 0,
    async line() {
      const next = await withDeadline(lines.next(), `${name} said nothing. ${errors}`);
      if (!next.done) return next.value;
      throw new Error(`${name} ended with ${(await ended)[0]}. ${errors}`);
    },
    kill,
    exit: async () => ({ code: (await withDeadline(ended, `${name} did not end. ${errors}`))[0], errors }),
  };
}

async function withDeadline<T>(work: Promise<T>, message: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(message)), linePatienceMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
