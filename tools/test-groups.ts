/**
 * Test files that share a process. Node's runner starts a process per file, and a process of the server's tests takes two
 * seconds of CPU before its first test: for loading and compiling modules. So neighbouring files are put into groups, and a
 * process runs the files of its group one after the other (test-group.ts).
 *
 * A file that measures or changes its process has the line `// own process: <reason>` and is in no group. A file that takes
 * long has the line `// long: <CPU seconds> s`: it gets a process too, and the longest start first. At the end of a run only
 * short ones are left, so all cores have work until then.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

/** So many that loading modules is a small part of a group's time. */
const mostFiles = 40;
/** The last groups are small, so that all cores end at the same time. */
const leastFiles = 18;
/** A group takes this part of the files that are left. */
const shareOfRest = 1 / 8;

const ownProcessLine = /^\/\/ own process: \S/m;
const longLine = /^\/\/ long: (\d+) s$/m;

const groupModule = pathToFileURL(path.join(import.meta.dirname, "test-group.ts")).href;

/** Replaces files by one small file per group, in the folder. */
export function groupTests(files: readonly string[], root: string, folder: string): readonly string[] {
  const texts = new Map(files.map((file) => [file, readFileSync(path.resolve(root, file), "utf8")]));
  const seconds = (file: string) => Number(longLine.exec(texts.get(file) ?? "")?.[1] ?? 0);
  const isAlone = (file: string) => seconds(file) > 0 || ownProcessLine.test(texts.get(file) ?? "");
  const alone = files.filter(isAlone).sort((a, b) => seconds(b) - seconds(a));
  const areas = Map.groupBy(
    files.filter((file) => !alone.includes(file)),
    areaOf,
  );
  const groups = [...areas.values()].flatMap(split);
  return [
    ...alone.map((file, index) => writeAlone(file, root, folder, index)),
    ...groups.map((group, index) => writeGroup(group, root, path.join(folder, groupName(group, index)))),
  ];
}

const engineFile = /^(?:packages\/(?:engine|engine-cli|storage)|tests\/engine)\//;

/** Tests of the engine load its few modules, nearly all others those of the service. */
function areaOf(file: string): "engine" | "service" {
  return engineFile.test(file.replaceAll(path.sep, "/")) ? "engine" : "service";
}

/** Into groups of neighbours that become smaller. Files outside packages take longer, so they come first, few at a time. */
function split(files: readonly string[]): readonly (readonly string[])[] {
  const isInPackage = (file: string) => file.startsWith(`packages${path.sep}`);
  const shrinking = (left: number) => Math.min(mostFiles, Math.max(leastFiles, Math.ceil(left * shareOfRest)));
  return [
    ...cut(
      files.filter((file) => !isInPackage(file)),
      () => leastFiles,
    ),
    ...cut(files.filter(isInPackage), shrinking),
  ];
}

function cut(files: readonly string[], size: (left: number) => number): readonly (readonly string[])[] {
  const groups: (readonly string[])[] = [];
  for (const rest = [...files]; rest.length > 0; ) groups.push(rest.splice(0, size(rest.length)));
  return groups;
}

function groupName(group: readonly string[], index: number): string {
  return `2-group-${String(index).padStart(3, "0")}-${areaOf(group[0] ?? "")}.test.mjs`;
}

function writeAlone(file: string, root: string, folder: string, index: number): string {
  const name = file.replaceAll(path.sep, "-").replace(/\.ts$/, ".mjs");
  const entry = path.join(folder, `0-${String(index).padStart(3, "0")}-${name}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(entry, `await import(${JSON.stringify(pathToFileURL(path.resolve(root, file)).href)});\n`);
  return entry;
}

function writeGroup(group: readonly string[], root: string, entry: string): string {
  mkdirSync(path.dirname(entry), { recursive: true });
  const lines = [
    `import { runGroup } from ${JSON.stringify(groupModule)};`,
    `await runGroup(${JSON.stringify(root)}, ${JSON.stringify(group)});`,
  ];
  writeFileSync(entry, `${lines.join("\n")}\n`);
  return entry;
}
