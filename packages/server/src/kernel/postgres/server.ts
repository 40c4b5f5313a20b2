/**
 * The server's process: run, waited for, and ended. The order of its ends: a fast shutdown (SIGINT), which writes a
 * checkpoint; if that takes too long an immediate one (SIGQUIT), which the next start recovers from; then SIGKILL.
 */

import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../log.ts";
import { StartError } from "../start-error.ts";
import { doneWithin } from "../within.ts";
import { programEnvironment } from "./binaries.ts";
import type { Launcher } from "./launcher.ts";
import { readPostmasterFile } from "./orphan.ts";
import { openServerLog, type ServerLog } from "./server-log.ts";
import { type ServerSettingsOptions, serverSettings } from "./settings.ts";

/** Recovery reads at most 512 MB of log, but a slow disk may first have to be synced. */
const startPatienceMs = 5 * 60_000;

/** The processes of a server that was killed notice it and end; until then a start is refused, and tried again. */
const startsMax = 100;
const pauseBetweenStartsMs = 100;

/** A fast shutdown writes a checkpoint. With the next limit, a stop ends before a supervisor's usual 90 s. */
const fastShutdownMs = 30_000;

/** An immediate shutdown writes nothing; the server itself kills what does not end within 5 s. */
const immediateShutdownMs = 15_000;

/** What a process said before it ended is there to be read at once; this is for a machine that is busy. */
const lastWordsMs = 1_000;

/** A start takes 40 ms: more often than this gains nothing. */
const pollMs = 15;

export interface ServerOptions {
  /** The data folder. */
  readonly folder: string;
  readonly cluster: string;
  /** The program. */
  readonly postgres: string;
  readonly launcher: Launcher;
  readonly settings: ServerSettingsOptions;
  readonly log: Log;
}

export interface RunningServer {
  readonly pid: number;
  readonly lost: Promise<StartError>;
  stop(): Promise<void>;
}

/** Starts the server and waits until it is ready; again while processes of a killed one are still ending. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  for (let starts = 1; ; starts += 1) {
    const output = openServerLog(path.join(options.folder, "postgres.log"), options.log);
    const child = spawnServer(options, output);
    const end = ended(child);
    try {
      await ready(child, options.cluster);
      return runningServer(child, end, output, options.log);
    } catch (error) {
      await endChild(child, end);
      if (starts === startsMax || !output.tail().includes("is still in use")) throw failedStart(error, output);
      await delay(pauseBetweenStartsMs);
    }
  }
}

function spawnServer(options: ServerOptions, output: ServerLog): ChildProcess {
  const [command = "", ...words] = [
    ...options.launcher.words,
    options.postgres,
    "-D",
    options.cluster,
    ...Object.entries(serverSettings(options.settings)).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  const child = spawn(command, words, {
    cwd: options.folder,
    env: programEnvironment,
    stdio: ["ignore", "pipe", "pipe"],
    // A separate session: Ctrl-C in a terminal must reach only the service, which needs the database for its shutdown.
    detached: true,
  });
  child.stdout?.on("data", output.write);
  child.stderr?.on("data", output.write);
  child.once("close", output.close);
  return child;
}

/** Settles, never with an error, when the process has ended or could not be run, and its last words are read. */
async function ended(child: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => child.once("close", resolve));
  await new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", resolve);
  });
  // A child of a server that was killed may hold the other end of the pipe for a while: it is not waited for.
  await doneWithin(lastWordsMs, closed);
}

/** Resolves when the server says so in its pid file, as pg_ctl does; rejects when it ends first. */
async function ready(child: ChildProcess, cluster: string): Promise<void> {
  let failure: Error | null = null;
  child.once("error", (error) => {
    failure = error;
  });
  for (let waited = 0; waited < startPatienceMs; waited += pollMs) {
    if (failure !== null) throw failure;
    if (hasEnded(child)) throw new Error(`it ended with ${child.signalCode ?? `status ${child.exitCode}`}`);
    const file = await readPostmasterFile(cluster);
    if (file?.ready && file.pid === child.pid) return;
    await delay(pollMs);
  }
  throw new Error(`it was not ready after ${startPatienceMs / 60_000} minutes`);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function failedStart(error: unknown, output: ServerLog): StartError {
  const reason = error instanceof Error ? error.message : String(error);
  return new StartError(
    "postgres_failed",
    `The embedded PostgreSQL did not start: ${reason}. It said:\n${output.tail()}`,
    {
      cause: error,
    },
  );
}

function runningServer(child: ChildProcess, end: Promise<void>, output: ServerLog, log: Log): RunningServer {
  let stopping: Promise<void> | null = null;
  const lost = new Promise<StartError>((resolve) => {
    void end.then(() => {
      if (stopping !== null) return;
      log.error("postgres_lost");
      resolve(
        new StartError("postgres_failed", `The embedded PostgreSQL ended unexpectedly. Its output:\n${output.tail()}`),
      );
    });
  });
  const stop = () => {
    stopping ??= endChild(child, end);
    return stopping;
  };
  return { pid: child.pid ?? 0, lost, stop };
}

async function endChild(child: ChildProcess, end: Promise<void>): Promise<void> {
  const steps = [
    ["SIGINT", fastShutdownMs],
    ["SIGQUIT", immediateShutdownMs],
  ] as const;
  for (const [signal, patienceMs] of steps) {
    if (hasEnded(child) || child.pid === undefined) break;
    child.kill(signal);
    if (await doneWithin(patienceMs, end)) return;
  }
  // Its children notice and end by themselves; the next start recovers.
  child.kill("SIGKILL");
  await end;
}
