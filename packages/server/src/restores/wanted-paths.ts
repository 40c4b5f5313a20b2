/** The paths of a new restore: found in the snapshot, in the order of the tree, none twice and none below another. */

import type { TreeEntry } from "@emanet/engine";
import { invalidField } from "../kernel/http/validate.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import { entryAt, type SnapshotTree } from "../snapshots/index.ts";
import { isDamage } from "./tree-of-restore.ts";

const slash = 0x2f;

export interface WantedFiles {
  readonly paths: readonly Buffer[];
  readonly bytes: number;
  readonly files: number;
}

/**
 * Throws `validation_failed` for a path that is not in the snapshot. One below a directory that cannot be read may be in it: its
 * restore names it. `openTree` fails when not even the root can be read.
 */
export async function wantedFiles(
  openTree: () => Promise<SnapshotTree>,
  given: readonly Buffer[],
  language: Language,
): Promise<WantedFiles> {
  const found = new Map<string, { readonly path: Buffer; readonly bytes: number; readonly files: number }>();
  for (const [index, path] of given.entries()) {
    const entry = path.length === 0 ? null : await entryOrUnreadable(openTree, path);
    if (entry === null)
      throw new Problem("validation_failed", { errors: [invalidField(`/paths/${index}`, "not_allowed", language)] });
    found.set(path.toString("latin1"), { path, ...sizeOf(entry) });
  }
  const roots = [...found.values()]
    .filter(({ path }) => !isBelowOther(path, found))
    .sort((a, b) => treeOrder(a.path, b.path));
  return {
    paths: roots.map(({ path }) => path),
    bytes: roots.reduce((sum, { bytes }) => sum + bytes, 0),
    files: roots.reduce((sum, { files }) => sum + files, 0),
  };
}

async function entryOrUnreadable(openTree: () => Promise<SnapshotTree>, path: Buffer) {
  try {
    return await entryAt(await openTree(), path);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return "unreadable";
  }
}

function sizeOf(entry: TreeEntry | "unreadable"): { readonly bytes: number; readonly files: number } {
  if (entry === "unreadable" || entry.type === "link") return { bytes: 0, files: 0 };
  return { bytes: entry.size, files: entry.type === "file" ? 1 : entry.files };
}

function isBelowOther(path: Buffer, all: ReadonlyMap<string, unknown>): boolean {
  for (let at = path.indexOf(slash); at >= 0; at = path.indexOf(slash, at + 1))
    if (all.has(path.toString("latin1", 0, at))) return true;
  return false;
}

/** The order of a walk: with NUL in place of the slash, the bytes decide. */
function treeOrder(one: Buffer, other: Buffer): number {
  return Buffer.compare(keyOf(one), keyOf(other));
}

function keyOf(path: Buffer): Buffer {
  return Buffer.from(path.map((byte) => (byte === slash ? 0 : byte)));
}
