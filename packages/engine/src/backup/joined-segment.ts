/** The segment that a bundle of stored files is: as if the bundle had been cut, but nothing is read. */

import { blockIdLength, segmentId } from "../format/hash.ts";
import type { Recipe, Run } from "../format/recipe.ts";
import type { StoredBlocks } from "../source/stored-file.ts";
import { segmentHooks } from "./segment-queries.ts";

export interface JoinedSegment {
  readonly id: Uint8Array;
  readonly recipe: Recipe;
  readonly hooks: readonly bigint[];
}

export function joinedSegment(files: readonly StoredBlocks[]): JoinedSegment {
  const ids = Buffer.concat(files.map((file) => file.ids));
  const count = ids.length / blockIdLength;
  const lengths = new Uint32Array(count);
  const zeros = new Uint8Array(count);
  const recipe: Run[] = [];
  let block = 0;
  for (const file of files) {
    lengths.set(file.lengths, block);
    for (const run of file.recipe) {
      if (run.kind === "zeros") zeros.fill(1, block, block + run.count);
      block += run.count;
      append(recipe, run);
    }
  }
  if (block !== count) throw new Error("the recipes of stored files have other blocks than the files");
  const outcomes = files.map((file) => ({ blocks: file.lengths.length }));
  const hooks = segmentHooks({ ids, zeros, outcomes }, 0, count, true);
  return { id: segmentId(ids, lengths), recipe, hooks };
}

/** Adds a run. Files that were stored one after the other are often one run together. */
function append(recipe: Run[], run: Run): void {
  const last = recipe.at(-1);
  const continues =
    last?.kind === "stored" && run.kind === "stored" && last.frame === run.frame && last.slot + last.count === run.slot;
  if (!continues) recipe.push(run);
  else recipe[recipe.length - 1] = { ...last, count: last.count + run.count, bytes: last.bytes + run.bytes };
}
