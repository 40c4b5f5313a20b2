// Runs all checks of a checkout. It prints the name and time of each, and the output of those that fail.
//
//   npm run check                 static checks, then the tests
//   npm run check -- --static     static checks only
//
// The static checks read the same files and write none, so they run at the same time; the output of one is shown only
// when it fails. The tests run last and alone, so that their summary ends the output. They do not run if a static
// check fails. The exit code is 0 only if everything passed.

import { type ChildProcess, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");

/** The slowest step takes half a minute of a core; one that takes longer hangs. The tests have their own limit. */
const staticStepLimitMs = 10 * 60_000;

interface Step {
  readonly name: string;
  /** Arguments of the pinned Node. */
  readonly command: readonly string[];
  /** What to do when the step fails. */
  readonly remedy: string;
}

interface Outcome {
  readonly ok: boolean;
  readonly output: string;
  readonly seconds: string;
}

const staticSteps: readonly Step[] = [
  {
    name: "format and lint",
    command: [bin("biome"), "check", "--error-on-warnings", "--colors=off", "."],
    remedy: "npm run format",
  },
  { name: "types", command: [bin("tsc"), "-p", "."], remedy: "fix the types" },
  {
    name: "types of the dashboard",
    command: [bin("tsc"), "-p", "packages/dashboard"],
    remedy: "fix the types; a missing string is one too",
  },
  {
    name: "size of the dashboard",
    command: ["tools/dashboard.ts", "--check"],
    remedy: "load less on that screen, or split it",
  },
  { name: "tidy", command: ["tools/tidy/main.ts"], remedy: "each line says what to do; --rules prints the rules" },
  { name: "generated files", command: ["tools/generate.ts", "--check"], remedy: "npm run generate" },
  {
    name: "openapi compatible",
    command: ["tools/openapi-compatible.ts"],
    remedy: "take the breaking change back, or put it under /v2",
  },
  { name: "openapi lint", command: ["tools/lint-openapi.ts"], remedy: "fix the endpoint or schema, npm run generate" },
];

const running = new Set<ChildProcess>();

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.filter((arg) => arg !== "--static");
  if (unknown.length > 0) return complain(`unknown argument ${unknown.join(" ")}; usage: npm run check [-- --static]`);
  if (!process.execPath.startsWith(path.join(root, "node_modules"))) {
    return complain("not on the pinned Node; run it as: npm run check");
  }
  stopChildrenOnSignals();
  const passed = await Promise.all(staticSteps.map(runStatic));
  const failed = staticSteps.filter((_, index) => passed[index] === false);
  if (failed.length > 0)
    return complain(`failed: ${failed.map((step) => step.name).join(", ")}; the tests did not run`);
  return args.includes("--static") ? 0 : runTests();
}

/** Runs one step quietly and reports it in one line, with its output below if it failed. */
async function runStatic(step: Step): Promise<boolean> {
  const { ok, output, seconds } = await capture(step.command);
  if (ok) console.log(`ok    ${step.name} (${seconds} s)`);
  else console.log(`FAIL  ${step.name} (${seconds} s)\n\n${output.trimEnd()}\n\n      to fix: ${step.remedy}\n`);
  return ok;
}

function capture(command: readonly string[]): Promise<Outcome> {
  const started = performance.now();
  const child = start(command, "pipe");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const limit = setTimeout(() => {
    output += `\nstopped after ${staticStepLimitMs / 1000} s`;
    child.kill("SIGKILL");
  }, staticStepLimitMs);
  return new Promise((resolve) => {
    child.on("error", (error) => {
      output += error.message;
    });
    child.on("close", (code) => {
      clearTimeout(limit);
      resolve({ ok: code === 0, output, seconds: ((performance.now() - started) / 1000).toFixed(1) });
    });
  });
}

function runTests(): Promise<number> {
  const child = start(["tools/test.ts"], "inherit");
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

function start(command: readonly string[], stdio: "pipe" | "inherit"): ChildProcess {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...command], {
    cwd: root,
    stdio: ["ignore", stdio, stdio],
  });
  running.add(child);
  child.on("close", () => running.delete(child));
  return child;
}

/** Ends the children too: a step that runs on would keep its database and its ports. */
function stopChildrenOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      for (const child of running) child.kill(signal);
    });
  }
}

function bin(name: string): string {
  return realpathSync(path.join(root, "node_modules", ".bin", name));
}

function complain(message: string): number {
  console.error(`check: ${message}`);
  return 1;
}
