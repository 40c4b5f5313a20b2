// Checks the rules of this repository that biome.json cannot express: who may import whom, and rules about texts.
//
//   node tools/run.mjs tools/tidy/main.ts            prints what breaks a rule; exit code 1 if anything does
//   node tools/run.mjs tools/tidy/main.ts --rules    prints the rules

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { checkImports, importRules } from "./imports.ts";
import { checkTexts, type Files, textRules } from "./texts.ts";

/** A larger file is data, not something a person wrote. The list holds the names of some hundred thousand files. */
const readLimitBytes = 2 * 1024 * 1024;
const listLimitBytes = 32 * 1024 * 1024;

if (import.meta.main && process.argv[2] === "--rules") {
  const abouts = [...importRules, ...textRules.map(({ name, about }) => [name, about])];
  console.log(abouts.map(([name, about]) => `${name}: ${about}`).join("\n"));
} else if (import.meta.main) {
  const root = path.resolve(import.meta.dirname, "../..");
  const files = readFiles(root);
  const findings = await check(root, files);
  console.error([...findings, `tidy: ${files.size} files, ${findings.length} findings`].join("\n"));
  process.exitCode = findings.length === 0 ? 0 : 1;
}

/** What is wrong in a checkout: one line each, `file:line rule: message`, by file. */
export async function check(root: string, files: Files): Promise<string[]> {
  return [...(await checkImports(root)), ...checkTexts(files)]
    .map(({ file, line, rule, message }) => `${file}:${line} ${rule}: ${message}`)
    .sort();
}

/** Reads a checkout: what is tracked, and what is new and not ignored. */
export function readFiles(root: string): Files {
  const files = new Map<string, string>();
  for (const file of listByGit(root) ?? listByFolder(root)) {
    const stats = statSync(path.join(root, file), { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile() || stats.size > readLimitBytes) continue;
    const content = readFileSync(path.join(root, file));
    if (!content.includes(0)) files.set(file, content.toString("utf8"));
  }
  return files;
}

/** `undefined` where there is no git or no repository. `safe.directory`: tests also run as a user who does not own it. */
function listByGit(root: string): Iterable<string> | undefined {
  const args = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: listLimitBytes });
  return status === 0 ? new Set(stdout.split("\0").filter((file) => file !== "")) : undefined;
}

function listByFolder(root: string): string[] {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/"));
  return files.filter((file) => !/(?:^|\/)(?:\.git|\.cache|node_modules|data)(?:\/|$)/.test(file));
}
