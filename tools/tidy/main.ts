// Checks the rules of this repository that biome.json cannot express: who may import whom, and rules about texts.
//
//   node tools/run.mjs tools/tidy/main.ts            prints what breaks a rule; exit code 1 if anything does
//   node tools/run.mjs tools/tidy/main.ts --rules    prints the rules

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { checkImports, importRules } from "./imports.ts";
import { checkTexts, type Files, textRules } from "./texts.ts";

/** A tracked file larger than this is data, not something a person wrote. */
const readLimitBytes = 2 * 1024 * 1024;
/** Names of some hundred thousand files. */
const listLimitBytes = 32 * 1024 * 1024;

if (import.meta.main) {
  if (process.argv[2] === "--rules") {
    for (const [name, about] of importRules) console.log(`${name}: ${about}`);
    for (const { name, about } of textRules) console.log(`${name}: ${about}`);
  } else {
    const root = path.resolve(import.meta.dirname, "../..");
    const files = readFiles(root);
    const findings = await check(root, files);
    for (const finding of findings) console.error(finding);
    console.error(`tidy: ${files.size} files, ${findings.length} findings`);
    process.exitCode = findings.length === 0 ? 0 : 1;
  }
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
