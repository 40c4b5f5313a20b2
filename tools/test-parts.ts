/**
 * A test file with the line `// parts: 8` is split by the runner: it runs in eight processes, in parallel, each with its
 * number from 0 in an environment variable. The file declares the tests of that part; without a number, all of them.
 * With the line `// heavy parts: 8` only a heavy run splits it: loading its modules costs as much as many short tests.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

export const partVariable = "EMANET_TEST_PART";

const partsLine = /^\/\/ (heavy )?parts: ([1-9]\d?)$/m;

/** Replaces each file that has parts by one small file per part, in the folder. */
export function splitTests(files: readonly string[], root: string, folder: string, isHeavy: boolean) {
  const partsOf = (file: string) => {
    const [, onlyHeavy, parts] = partsLine.exec(readFileSync(path.resolve(root, file), "utf8")) ?? [];
    return onlyHeavy === undefined || isHeavy ? Number(parts ?? 0) : 0;
  };
  const parts = files.flatMap((file) =>
    Array.from({ length: partsOf(file) }, (_, part) => writePart(path.resolve(root, file), part, folder)),
  );
  return { parts, whole: files.filter((file) => partsOf(file) === 0) };
}

function writePart(source: string, part: number, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `1-${path.basename(source, ".test.ts")}-${part}.test.mjs`);
  const url = JSON.stringify(pathToFileURL(source).href);
  writeFileSync(file, `process.env.${partVariable} = "${part}";\nawait import(${url});\n`);
  return file;
}
