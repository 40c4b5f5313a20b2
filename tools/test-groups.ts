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

/** Enough that loading modules is a small part of a group's time, few enough that all cores end at the same time. */
const filesPerGroup = 20;

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

/** The files of a package or of a folder of tests load the same modules. */
function areaOf(file: string): string {
  return file.split(path.sep).slice(0, 2).join("/");
}

/** Into groups of equal size. */
function split(files: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / filesPerGroup);
  return Array.from({ length: count }, (_, index) =>
    files.slice(Math.floor((index * files.length) / count), Math.floor(((index + 1) * files.length) / count)),
  );
}

function groupName(group: readonly string[], index: number): string {
  const area = areaOf(group[0] ?? "").replaceAll("/", "-");
  return `2-group-${String(index).padStart(3, "0")}-${area}.test.mjs`;
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
