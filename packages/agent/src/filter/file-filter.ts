/** Which files a backup or a restore takes: patterns to include and to leave out. */

import { readFileSync } from "node:fs";
import type { CommandLine } from "../command-line/parse.ts";
import { usage } from "../failure.ts";
import type { Pattern } from "./pattern.ts";
import { patternOf } from "./pattern.ts";

interface Rule {
  readonly pattern: Pattern;
  /** Leaves out, or takes back in what an earlier rule left out. */
  readonly leavesOut: boolean;
}

export interface FileFilter {
  /** Whether the entry is taken. Nothing below a folder that is not taken is asked for. */
  keeps(path: string, isDirectory: boolean): boolean;
}

/** The filter of a command line; null if it takes everything. */
export function filterOf(
  line: CommandLine,
  root: string | null = null,
  more: readonly string[] = [],
): FileFilter | null {
  const rules: Rule[] = [
    ...more.map((text) => ({ pattern: patternOf(text, root), leavesOut: true })),
    ...line.list("exclude-file").flatMap((file) => rulesIn(file, root)),
    ...line.list("exclude").map((text) => ({ pattern: patternOf(text, root), leavesOut: true })),
  ];
  const included = line.list("include").map((text) => patternOf(text, root));
  if (rules.length === 0 && included.length === 0) return null;
  return fileFilter(rules, included);
}

export function fileFilter(rules: readonly Rule[], included: readonly Pattern[]): FileFilter {
  return {
    keeps(path, isDirectory) {
      // The last rule that matches decides, as in a .gitignore.
      const rule = rules.findLast(({ pattern }) => pattern.matches(path, isDirectory));
      if (rule?.leavesOut === true) return false;
      if (included.length === 0) return true;
      if (included.some((pattern) => isAtOrBelow(pattern, path, isDirectory))) return true;
      return isDirectory && included.some((pattern) => pattern.mayMatchBelow(path));
    },
  };
}

/** What is below a folder that matches, matches too. */
function isAtOrBelow({ matches }: Pattern, path: string, isDirectory: boolean): boolean {
  if (matches(path, isDirectory)) return true;
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
    if (matches(path.slice(0, end), true)) return true;
  return false;
}

function rulesIn(file: string, root: string | null): readonly Rule[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw usage(`the file of patterns cannot be read: ${file}`);
  }
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) =>
      line.startsWith("!")
        ? { pattern: patternOf(line.slice(1), root), leavesOut: false }
        : { pattern: patternOf(line, root), leavesOut: true },
    );
}
