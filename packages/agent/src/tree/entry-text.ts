/** An entry of a tree as a line, and as JSON. */

import type { TreeEntry } from "@emanet/engine/read";
import type { Language } from "../config.ts";
import { bytesText, timeText } from "../output/numbers.ts";
import { pathData, safeText } from "../output/safe-text.ts";

const typeLetters = { file: "-", directory: "d", link: "l" } as const;

export function entryLine(path: Uint8Array, entry: TreeEntry, language: Language): string {
  const size = entry.type === "file" ? bytesText(entry.size, language) : "";
  const target = entry.type === "link" ? ` -> ${safeText(entry.target)}` : "";
  const mode = `${typeLetters[entry.type]}${modeText(entry.mode)}`;
  return `${mode}  ${size.padStart(9)}  ${timeText(mtimeOf(entry), language)}  ${safeText(path)}${target}`;
}

export function entryData(path: Uint8Array, entry: TreeEntry): object {
  return {
    ...pathData(path),
    kind: entry.type,
    mode: entry.mode.toString(8).padStart(4, "0"),
    uid: entry.uid,
    gid: entry.gid,
    mtime: new Date(mtimeOf(entry)).toISOString(),
    ...(entry.type === "file" && { size_bytes: entry.size, hash: Buffer.from(entry.hash).toString("hex") }),
    ...(entry.type === "link" && { target: Buffer.from(entry.target).toString("utf8") }),
  };
}

export function mtimeOf({ mtimeSeconds, mtimeNanos }: TreeEntry): number {
  return mtimeSeconds * 1000 + Math.floor(mtimeNanos / 1e6);
}

function modeText(mode: number): string {
  return [6, 3, 0]
    .map((shift) => {
      const bits = (mode >> shift) & 7;
      return `${bits & 4 ? "r" : "-"}${bits & 2 ? "w" : "-"}${bits & 1 ? "x" : "-"}`;
    })
    .join("");
}
