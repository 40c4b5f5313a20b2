/** What the bytes of one of the engine's repositories are used for: frames by kind, the rest of packs, other objects, the catalog. */

import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { decodeRecipe } from "../../packages/engine/src/format/recipe.ts";

export type BytesByUse = Readonly<Record<string, number>>;

/** Reads the repository in this folder, which no program uses now. */
export function bytesByUse(folder: string): BytesByUse {
  const file = path.join(folder, "catalog.sqlite");
  const catalog = new DatabaseSync(file, { readOnly: true });
  try {
    const nodeFrames = new Set<number>();
    for (const { recipe } of catalog.prepare("select recipe from items where kind = 'node'").iterate())
      for (const run of decodeRecipe(recipe as Uint8Array)) if (run.kind === "stored") nodeFrames.add(run.frame);
    const uses = { blocks: 0, nodes: 0, records: 0 };
    for (const { frame, kind, length } of catalog.prepare("select frame, kind, length from frames").iterate()) {
      const use = kind === "data" ? "blocks" : nodeFrames.has(Number(frame)) ? "nodes" : "records";
      uses[use] += Number(length);
    }
    const packs = sizeOf(path.join(folder, "objects"), "packs");
    const objects = Object.fromEntries(
      ["snapshots", "chain", "sessions"].map((name) => [name, sizeOf(path.join(folder, "objects"), name)]),
    );
    const frames = uses.blocks + uses.nodes + uses.records;
    const index = [file, `${file}-wal`].reduce((sum, each) => sum + (existsSync(each) ? statSync(each).size : 0), 0);
    return { ...uses, "pack headers and footers": packs - frames, ...objects, catalog: index };
  } finally {
    catalog.close();
  }
}

/** Bytes of all files below folders of this name. */
function sizeOf(folder: string, name: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.parentPath.split(path.sep).includes(name))
      bytes += statSync(path.join(entry.parentPath, entry.name)).size;
  return bytes;
}
