/**
 * Test files that share a process. Node's runner starts a process per file, and a process of the server's tests takes two
 * seconds of CPU before its first test: for loading and compiling modules. So neighbouring files are put into groups, and a
 * process runs the files of its group one after the other (test-group.ts).
 *
 * A file that measures or changes its process has the line `// own process: <reason>` and is in no group.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

/** Enough that loading modules is a small part of a group's time, few enough that all cores end at the same time. */
const filesPerGroup = 12;

const ownProcessLine = /^\/\/ own process: \S/m;

const groupModule = pathToFileURL(path.join(import.meta.dirname, "test-group.ts")).href;

/** Replaces files by one small file per group, in the folder. */
export function groupTests(files: readonly string[], root: string, folder: string): readonly string[] {
  const isAlone = (file: string) => ownProcessLine.test(readFileSync(path.resolve(root, file), "utf8"));
  const alone = files.filter(isAlone);
  const areas = Map.groupBy(
    files.filter((file) => !alone.includes(file)),
    areaOf,
  );
  const groups = [...areas.values()].flatMap(split);
  return [
    ...alone.map((file) => writeAlone(file, root, folder)),
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

function writeAlone(file: string, root: string, folder: string): string {
  const entry = path.join(folder, `1-${file.replaceAll(path.sep, "-").replace(/\.ts$/, ".mjs")}`);
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
