/** The paths of a new restore: found in the snapshot, in the order of the tree, none twice and none below another. */

import { invalidField } from "../kernel/http/validate.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import { entryAt, type SnapshotTree } from "../snapshots/index.ts";

const slash = 0x2f;

export interface WantedFiles {
  readonly paths: readonly Buffer[];
  readonly bytes: number;
  readonly files: number;
}

/** Throws `validation_failed` for a path that is not in the snapshot. */
export async function wantedFiles(
  tree: SnapshotTree,
  given: readonly Buffer[],
  language: Language,
): Promise<WantedFiles> {
  const found = new Map<string, { readonly path: Buffer; readonly bytes: number; readonly files: number }>();
  for (const [index, path] of given.entries()) {
    const entry = path.length === 0 ? null : await entryAt(tree, path);
    if (entry === null)
      throw new Problem("validation_failed", { errors: [invalidField(`/paths/${index}`, "not_allowed", language)] });
    const [bytes, files] = entry.type === "link" ? [0, 0] : [entry.size, entry.type === "file" ? 1 : entry.files];
    found.set(path.toString("latin1"), { path, bytes, files });
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
