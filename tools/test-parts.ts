/**
 * A test file with the line `// parts: 8` is split by the runner: it runs in eight processes, in parallel, each with its
 * number from 0 in an environment variable. The file declares the tests of that part; without a number, all of them.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

export const partVariable = "EMANET_TEST_PART";

const partsLine = /^\/\/ parts: ([1-9]\d?)$/m;

/**
 * Replaces each file that has parts by one small file per part, in the folder. Paths that begin with a slash sort first, so
 * Node's runner starts the parts, which are long, before all other files.
 */
export function splitTests(files: readonly string[], root: string, folder: string): readonly string[] {
  return files.flatMap((file) => {
    const source = path.resolve(root, file);
    const parts = Number(partsLine.exec(readFileSync(source, "utf8"))?.[1] ?? 0);
    return Array.from({ length: parts }, (_, part) => writePart(source, part, folder)).concat(parts === 0 ? file : []);
  });
}

function writePart(source: string, part: number, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${path.basename(source, ".test.ts")}-${part}.test.mjs`);
  const url = JSON.stringify(pathToFileURL(source).href);
  writeFileSync(file, `process.env.${partVariable} = "${part}";\nawait import(${url});\n`);
  return file;
}
