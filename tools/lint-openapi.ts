// Checks the OpenAPI document with two public rule sets: Spectral (OpenAPI + OWASP) and Redocly `recommended-strict`.
// A finding of any severity fails: warnings that may stay are not read.
//
//   node tools/run.mjs tools/lint-openapi.ts [file]        default: openapi.json
//
// Both linters run under Node's permission model with reading as their only right, so they can neither reach a
// network (telemetry, update check, a remote `$ref`) nor write a file, whatever their own settings say.

import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const ruleSets = path.join(import.meta.dirname, "openapi");

/** Spectral needs 20 s of one core; it took 180 s on two cores with fifteen other processes. Longer than this, it hangs. */
const lintLimitMs = 480_000;
/** Enough for a document with an error in every line. */
const outputLimitBytes = 64 * 1024 * 1024;

/** One thing a linter objects to. */
export type Finding = {
  readonly linter: "spectral" | "redocly";
  readonly rule: string;
  /** Path or pointer into the document. */
  readonly where: string;
  readonly message: string;
};

if (import.meta.main) process.exitCode = await main(process.argv[2] ?? path.join(root, "openapi.json"));

async function main(file: string): Promise<number> {
  try {
    const findings = await lintOpenapi(path.resolve(file));
    for (const one of findings) console.error(`${one.linter} ${one.rule}\n  at ${one.where}\n  ${one.message}`);
    console.error(`${file}: ${findings.length} findings by Spectral (oas, OWASP) and Redocly (recommended-strict)`);
    return findings.length === 0 ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  }
}

/** Lints one document with both linters. Rejects when a linter itself cannot run. */
export async function lintOpenapi(file: string): Promise<readonly Finding[]> {
  const answers = await Promise.all([spectral(file), redocly(file)]);
  return answers.flat();
}

async function spectral(file: string): Promise<Finding[]> {
  const rules = path.join(ruleSets, "spectral.yaml");
  const output = await run("spectral", [
    "lint",
    "--ruleset",
    rules,
    "--format=json",
    "--fail-severity=hint",
    "--quiet",
    file,
  ]);
  const results: { code: string; message: string; path: (string | number)[] }[] = JSON.parse(output);
  return results.map((result) => ({
    linter: "spectral" as const,
    rule: result.code,
    where: result.path.join("."),
    message: result.message,
  }));
}

async function redocly(file: string): Promise<Finding[]> {
  const config = path.join(ruleSets, "redocly.yaml");
  const output = await run("redocly", ["lint", "--config", config, "--format=json", "--max-problems=10000", file]);
  const { problems }: { problems: RedoclyProblem[] } = JSON.parse(output);
  return problems.map((problem) => ({
    linter: "redocly" as const,
    rule: problem.ruleId,
    where: problem.location[0]?.pointer ?? "#",
    message: problem.message,
  }));
}

type RedoclyProblem = { ruleId: string; message: string; location: { pointer?: string }[] };

/** Runs a linter and gives back the JSON it printed; without any (no such file, not JSON) the linter has failed. */
function run(command: string, args: readonly string[]): Promise<string> {
  const bin = realpathSync(path.join(root, "node_modules", ".bin", command));
  const rights = ["--permission", "--allow-fs-read=*", "--disable-warning=SecurityWarning"];
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...rights, bin, ...args],
      { cwd: root, env: quiet(), timeout: lintLimitMs, maxBuffer: outputLimitBytes, killSignal: "SIGKILL" },
      (error, stdout, stderr) => {
        if (/^\s*[[{]/.test(stdout) && (error === null || error.code === 1)) resolve(stdout);
        else reject(new Error(`${command} could not lint: ${stderr || stdout || error?.message}`));
      },
    );
  });
}

/** The linters' own switches as well, so that they do not waste time on what the permission model refuses. */
function quiet(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CI: "true",
    NO_COLOR: "1",
    REDOCLY_TELEMETRY: "off",
    REDOCLY_SUPPRESS_NOTIFICATIONS: "true",
  };
}
