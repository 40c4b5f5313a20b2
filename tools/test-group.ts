/**
 * Runs several test files in this process, one after the other. Each is a suite with the path of the file as its name, so its
 * hooks run at its own end, and a failure names it.
 *
 * A file must leave the process as it found it: what it leaves behind would change the files after it. That fails the file.
 */

import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { countFile } from "./test-cpu.ts";
import { watchFile } from "./test-watchdog.ts";

/** Connections and processes that were told to end may take this long on a busy machine. */
const endingMs = 5_000;

/** Short beside a test file, long beside a look at the resources. */
const pollMs = 10;

/** More than a process needs to write the results of a group. */
const reportMs = 2_000;

/** The longest time of a timer: it only keeps the process running. */
const neverMs = 2 ** 31 - 1;

export async function runGroup(root: string, files: readonly string[]): Promise<void> {
  // Opened now: they count as resources, and stay.
  void [process.stdin, process.stdout, process.stderr];
  let running: string | null = null;
  process.on("exit", (code) => {
    if (running === null) return;
    process.stderr.write(`${running} ended its process with status ${code}\n`);
    // The files after it did not run.
    process.exitCode = 1;
  });
  // The runner does this for the first suite of a process only. Some tests wait for what does not keep a process running.
  const keepRunning = setInterval(() => undefined, neverMs);
  let isClean = true;
  for (const file of files) {
    running = file;
    watchFile(file);
    countFile(file);
    isClean = (await runFile(root, file)) && isClean;
    running = null;
  }
  clearInterval(keepRunning);
  if (!isClean) endProcess();
}

/** For a process that does not end by itself: the runner reports at this event. */
function endProcess(): void {
  process.emit("beforeExit", 1);
  setTimeout(() => process.exit(), reportMs);
}

/** False if the file left something behind. */
async function runFile(root: string, file: string): Promise<boolean> {
  let state: ReturnType<typeof processState> = new Map();
  let open: ReturnType<typeof openResources> = new Map();
  await describe(file, async () => {
    state = processState();
    open = openResources();
    try {
      await import(pathToFileURL(path.join(root, file)).href);
    } catch (error) {
      // As a test, since the runner's summary does not count suites that fail.
      test("the file is loaded", () => Promise.reject(error));
    }
  });
  const findings = [...changes(state), ...(await leftOpen(open))];
  if (findings.length === 0) return true;
  await test(`${file} leaves its process as it was`, () => assert.deepEqual(findings, []));
  return false;
}

/** What the files of a process share, as texts by name. */
function processState(): ReadonlyMap<string, string> {
  const environment = Object.entries(process.env).map(
    ([name, value]) => [`environment ${name}`, String(value)] as const,
  );
  const listeners = handledEvents.map((event) => [`listeners ${event}`, String(process.listenerCount(event))] as const);
  return new Map([["folder", process.cwd()], ...environment, ...listeners]);
}

const handledEvents = ["uncaughtException", "unhandledRejection", "SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"] as const;

/** Names only: values may be secrets of the machine. */
function changes(before: ReadonlyMap<string, string>): readonly string[] {
  const now = processState();
  const names = [...new Set([...before.keys(), ...now.keys()])];
  return names.filter((name) => before.get(name) !== now.get(name)).map((name) => `changed: ${name}`);
}

/** The resources that keep the process running, by type. */
function openResources(): ReadonlyMap<string, number> {
  const types = Map.groupBy(process.getActiveResourcesInfo(), (type) => type);
  return new Map([...types].map(([type, all]) => [type, all.length]));
}

async function leftOpen(before: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const deadline = performance.now() + endingMs;
  for (;;) {
    const left = [...openResources()].filter(([type, count]) => count > (before.get(type) ?? 0));
    if (left.length === 0 || performance.now() > deadline) return left.map(([type]) => `left open: ${type}`);
    await delay(pollMs);
  }
}
