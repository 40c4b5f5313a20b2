/**
 * `npm test`: every test of the repository on one PostgreSQL server, started for the run.
 *
 *   npm test                                     all tests
 *   npm test -- packages/server/src/kernel       the tests below a folder, or in a file
 *   npm test -- --test-name-pattern=lock         options of Node's test runner pass through
 *   npm test -- --file-timeout=60                seconds that a process of test files may take
 *   npm test -- --cpu                            also lists the CPU seconds of every file (test-cpu.ts)
 *   npm run test:heavy                           the long versions of the same tests
 *
 * A file with the line `// parts: N` is split into N processes (test-parts.ts); others share a process (test-groups.ts).
 * The npm scripts build the dashboard first: tests read its pages.
 * The summary of the runner is the last output, and its exit status is ours.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, statSync } from "node:fs";
import { availableParallelism, constants } from "node:os";
import path from "node:path";
import { type TestServer, testServerVariable } from "../packages/server/src/testing/database.ts";
import { serviceFileVariable } from "../packages/server/src/testing/main-process.ts";
import { heavyVariable } from "../packages/server/src/testing/scale.ts";
import { cpuFileVariable, readCosts } from "./test-cpu.ts";
import { groupTests } from "./test-groups.ts";
import { splitTests } from "./test-parts.ts";
import { startTestServer } from "./test-server.ts";
import { fileTimeoutVariable } from "./test-watchdog.ts";

const root = path.resolve(import.meta.dirname, "..");

const everyTest = [
  "packages/*/src/**/*.test.ts",
  "packages/*/test/**/*.test.ts",
  "tools/**/*.test.ts",
  "tests/**/*.test.ts",
  "bench/**/*.test.ts",
];

/**
 * The longest time for one process. Ordinary files take seconds, the engine's interleavings five minutes on busy cores and ten
 * on a machine that gets half of its CPU time; a heavy one may take most of an hour.
 */
const fileTimeoutSeconds = 20 * 60;
const heavyFileTimeoutSeconds = 60 * 60;

/** Test files often wait for a timer, a server, a disk or a child process. With two more than there are cores these are always busy. */
const concurrency = availableParallelism() + 2;

/**
 * Below this a process collects no old garbage. V8 begins with a few megabytes and counts buffers too, so a test of the engine
 * collected twice per backup: a quarter of its CPU time. The peak of a process grows by a tenth.
 */
const initialHeapMib = 512;

/** From so many files on, processes of the service start from a bundle. Building it takes as long as two starts from the sources. */
const bundledFrom = 20;

/** What an interrupted runner gets to print its summary before its whole group is killed. */
const interruptGraceMs = 5_000;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const { heavy, cpu, timeoutSeconds, options, files, grouped } = readArguments(args);
  // An interrupt ends the runner; we end when it has ended and the server is gone.
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => interrupt.abort(signal));
  }
  const { server, temporary, stop } = await startTestServer({ large: heavy, outer: outerServer() });
  try {
    const isBundled = heavy || files.length >= bundledFrom;
    const costsFile = path.join(temporary, "cpu.jsonl");
    const environment = {
      ...(cpu && { [cpuFileVariable]: costsFile }),
      [testServerVariable]: JSON.stringify(server),
      [heavyVariable]: heavy ? "1" : "0",
      ...(isBundled && { [serviceFileVariable]: await (await import("./bundle-service.ts")).bundleService() }),
      [fileTimeoutVariable]: String(timeoutSeconds),
      // Files of killed processes are removed with the run.
      TMPDIR: temporary,
      // Half of the CPU time of a short process is compiling modules. A run by npm has the folder of tools/run.mjs.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(temporary, "compile-cache"),
    };
    const entries = makeEntries({ files, grouped, heavy }, path.join(temporary, "entries"));
    const runner = [...runnerOptions(timeoutSeconds), ...options, ...entries];
    const status = await runTests(runner, environment, interrupt.signal);
    if (cpu) showCosts(costsFile);
    return status;
  } finally {
    await stop();
  }
}

/** The server of the run that this one is a test of. */
function outerServer(): TestServer | null {
  const text = process.env[testServerVariable];
  return text === undefined ? null : (JSON.parse(text) as TestServer);
}

function readArguments(args: readonly string[]) {
  const timeoutOption = "--file-timeout=";
  const heavy = args.includes("--heavy");
  const timeout = args.find((arg) => arg.startsWith(timeoutOption))?.slice(timeoutOption.length);
  const own = (arg: string) => ["--heavy", "--cpu"].includes(arg) || arg.startsWith(timeoutOption);
  return {
    heavy,
    cpu: args.includes("--cpu"),
    // Long versions get a process each. A pattern of names would match the name of a file in a group.
    grouped: args.every((arg) => !arg.startsWith("--") || arg === "--cpu" || arg.startsWith(timeoutOption)),
    timeoutSeconds: Number(timeout ?? (heavy ? heavyFileTimeoutSeconds : fileTimeoutSeconds)),
    options: args.filter((arg) => arg.startsWith("--") && !own(arg)),
    files: findTests(args.filter((arg) => !arg.startsWith("--"))),
  };
}

function showCosts(file: string): void {
  const costs = readCosts(file);
  const sum = costs.reduce((total, { seconds }) => total + seconds, 0);
  console.log(`\nCPU seconds (${sum.toFixed(0)} in all):`);
  for (const { file: name, seconds } of costs) console.log(`${seconds.toFixed(2).padStart(8)}  ${name}`);
}

function findTests(places: readonly string[]): readonly string[] {
  const patterns = places.length === 0 ? everyTest : places.map(patternOf);
  const files = globSync(patterns, { cwd: root, exclude: (name) => name === "node_modules" }).sort();
  if (files.length > 0) return files;
  console.error(`emanet: no test file in ${places.join(", ") || root}`);
  process.exit(1);
}

function patternOf(place: string): string {
  const file = path.relative(root, path.resolve(place));
  return statSync(path.join(root, file), { throwIfNoEntry: false })?.isDirectory()
    ? path.join(file, "**/*.test.ts")
    : file;
}

type RunArguments = Pick<ReturnType<typeof readArguments>, "files" | "grouped" | "heavy">;

/** The files that Node's runner gets, in a process each. It starts them by name, so the ones that take long are named first. */
function makeEntries({ files, grouped, heavy }: RunArguments, folder: string): readonly string[] {
  const { parts, whole } = splitTests(files, root, folder, heavy);
  return [...parts, ...(grouped ? groupTests(whole, root, folder) : whole)];
}

function runnerOptions(timeoutSeconds: number): readonly string[] {
  return [
    "--disable-warning=ExperimentalWarning",
    `--initial-old-space-size=${initialHeapMib}`,
    `--import=${path.join(import.meta.dirname, "test-watchdog.ts")}`,
    `--import=${path.join(import.meta.dirname, "test-promises.ts")}`,
    `--import=${path.join(import.meta.dirname, "test-cpu.ts")}`,
    "--test",
    "--test-reporter=spec",
    `--test-concurrency=${concurrency}`,
    // Fails a test that hangs, by name; the watchdog ends a file that is still running after that.
    `--test-timeout=${timeoutSeconds * 1000}`,
  ];
}

async function runTests(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  interrupted: AbortSignal,
): Promise<number> {
  if (interrupted.aborted) return statusOf(interrupted.reason);
  const runner = spawn(process.execPath, args, {
    cwd: root,
    // Without that variable of Node's own: inside a test it makes a runner run nothing and report success.
    env: { ...process.env, ...environment, NODE_TEST_CONTEXT: undefined },
    stdio: ["ignore", "inherit", "inherit"],
    // A separate process group, so that an interrupt reaches it once and every test file with it.
    detached: true,
  });
  interrupted.addEventListener("abort", () => {
    signalGroup(runner.pid, interrupted.reason);
    setTimeout(signalGroup, interruptGraceMs, runner.pid, "SIGKILL").unref();
  });
  const [code, signal] = (await once(runner, "exit")) as [number | null, NodeJS.Signals | null];
  // Ends every process that a test file started.
  signalGroup(runner.pid, "SIGKILL");
  return interrupted.aborted ? statusOf(interrupted.reason) : (code ?? statusOf(signal ?? "SIGKILL"));
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // The whole group has ended already.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function statusOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
