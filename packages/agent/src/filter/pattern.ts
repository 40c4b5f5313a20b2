/**
 * Patterns of file names, as users of restic and git know them.
 *
 * `*` stands for any characters but `/`, `?` for one, `[ab]` for one of these, `**` for any folders. A pattern without `/` matches a
 * name at any depth; one that begins with `/` matches from the root of the backup; any other one matches at any depth. A
 * pattern that ends with `/` matches folders only. What is below a folder that matches, matches too.
 */

import { usage } from "../failure.ts";

export interface Pattern {
  readonly matches: (path: string, isDirectory: boolean) => boolean;
  /** Whether something below this folder can match. */
  readonly mayMatchBelow: (folder: string) => boolean;
}

/** Longer ones are a mistake, and would make a regular expression of megabytes. */
const maxPatternLength = 4096;

/** `root` is the absolute path of the folder that is backed up: patterns may begin with it. */
export function patternOf(text: string, root: string | null = null): Pattern {
  if (text.length > maxPatternLength) throw usage("a pattern is too long");
  const isFolder = text.endsWith("/") && text !== "/";
  const trimmed = isFolder ? text.slice(0, -1) : text;
  const inside = root !== null && trimmed.startsWith(`${root}/`) ? trimmed.slice(root.length) : trimmed;
  const isAnchored = inside.startsWith("/");
  const parts = inside.split("/").filter((part) => part !== "");
  if (parts.length === 0) throw usage(`a pattern without a name: ${text}`);
  const expression = new RegExp(`${isAnchored ? "^" : "(?:^|/)"}${expressionOf(parts)}$`, "su");
  const matches = (path: string, isDirectory: boolean) => (isDirectory || !isFolder) && expression.test(path);
  return { matches, mayMatchBelow: (folder) => !isAnchored || mayBegin(parts, folder.split("/")) };
}

function expressionOf(parts: readonly string[]): string {
  return parts
    .map((part, i) => {
      const isLast = i === parts.length - 1;
      if (part === "**") return isLast ? ".*" : "(?:[^/]*/)*";
      return `${partExpression(part)}${isLast ? "" : "/"}`;
    })
    .join("");
}

function partExpression(part: string): string {
  let out = "";
  for (let i = 0; i < part.length; i++) {
    const letter = part[i] ?? "";
    const end = letter === "[" ? part.indexOf("]", i + 2) : -1;
    if (letter === "*") out += "[^/]*";
    else if (letter === "?") out += "[^/]";
    else if (letter === "\\" && i + 1 < part.length) out += escaped(part[++i] ?? "");
    else if (end > 0) {
      const set = part.slice(i + 1, end);
      const isNot = set.startsWith("!") || set.startsWith("^");
      out += `[${isNot ? "^/" : ""}${(isNot ? set.slice(1) : set).replaceAll(/[\\\]^[]/g, "\\$&")}]`;
      i = end;
    } else out += escaped(letter);
  }
  return out;
}

function escaped(letter: string): string {
  return letter.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&");
}

/** Whether a path that begins with these folders can match the parts of an anchored pattern. */
function mayBegin(parts: readonly string[], folders: readonly string[]): boolean {
  for (const [i, folder] of folders.entries()) {
    const part = parts[i];
    if (part === undefined) return true;
    if (part === "**") return true;
    if (!new RegExp(`^${partExpression(part)}$`, "su").test(folder)) return false;
  }
  return true;
}
