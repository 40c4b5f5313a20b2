/**
 * What relaying moves. A full restore reads every frame that a snapshot needs, once; what nights cost it are frames of
 * which it needs little. A single segment's reading costs as many frames as it lies in. So two kinds of blocks move:
 *
 * - those of a *scattered* segment, from frames that have little of it. Only blocks that no other segment needs count: an
 *   issuer's style sheet is where all of his invoices find it.
 * - those in a *sparse* frame: of what it holds the snapshot needs less than half, counted without the blocks above.
 *
 * Whatever is moved lies in frames that the snapshot needs entirely, so a second look finds nothing to move.
 */

import { Bitmap } from "../bitmap.ts";
import type { FrameDirectory } from "../frames/directory.ts";
import { decodeDirectory } from "../frames/directory.ts";
import type { Item, VaultIndex } from "../index/port.ts";
import type { Recipe } from "../recipes.ts";
import { decodeRecipe } from "../recipes.ts";
import { usualSlotWords } from "./liveness.ts";

/** A segment whose own blocks are in more frames than this is scattered. */
const maxFramesPerSegment = 8;

/** The frames with most of a scattered segment's own blocks keep them. With those that the rest comes to it is not scattered. */
const keepingFrames = 3;

/** A frame of which the snapshot needs a smaller share gives up all. Reading is at most doubled by what stays. */
const sparseShare = 1 / 2;

/** One question to the index; recipes of a few hundred bytes each. */
const perQuery = 512;

/** A stored block's place. */
export type Place = (frame: number, slot: number) => boolean;

/** A segment of which something moves. */
export interface MovingSegment {
  readonly item: Item;
  readonly recipe: Recipe;
  /** Whether the block at a place moves. */
  readonly moves: Place;
}

/** Slots of a frame that the snapshot needs: at all, and in more than one place. */
interface Use {
  readonly once: Bitmap;
  readonly shared: Bitmap;
  /** Slots that scattered segments take with them. */
  leaving: number;
}

/** The segments of which something moves, in the order of their ordinals. */
export async function* movingSegments(index: VaultIndex, reach: Uint8Array): AsyncGenerator<MovingSegment> {
  const ordinals = [...Bitmap.decode(reach)];
  const uses = new Map<number, Use>();
  for await (const { recipe } of segmentsOf(index, ordinals)) noteUse(uses, recipe);
  for await (const { recipe } of segmentsOf(index, ordinals)) {
    const giving = givingUp(uses, recipe);
    if (giving.size > 0)
      eachBlock(recipe, (frame, slot) => {
        const use = uses.get(frame);
        if (use !== undefined && giving.has(frame) && !use.shared.has(slot)) use.leaving++;
      });
  }
  const sparse = await sparseFrames(index, uses);
  for await (const { item, recipe } of segmentsOf(index, ordinals)) {
    const giving = givingUp(uses, recipe);
    const moves: Place = (frame, slot) =>
      sparse.has(frame) || (giving.has(frame) && uses.get(frame)?.shared.has(slot) === false);
    let any = false;
    eachBlock(recipe, (frame, slot) => {
      any ||= moves(frame, slot);
    });
    if (any) yield { item, recipe, moves };
  }
}

/** Directories of frames by their numbers. */
export async function directoriesOf(
  index: VaultIndex,
  frames: readonly number[],
): Promise<Map<number, FrameDirectory>> {
  const directories = new Map<number, FrameDirectory>();
  for (let i = 0; i < frames.length; i += perQuery)
    for (const row of await index.frames(frames.slice(i, i + perQuery)))
      if (row?.kind === "data") directories.set(row.frame, decodeDirectory(row.directory));
  return directories;
}

/** Tells every stored block of a recipe, in order. */
export function eachBlock(recipe: Recipe, tell: (frame: number, slot: number) => void): void {
  for (const run of recipe)
    if (run.kind === "stored") for (let i = 0; i < run.count; i++) tell(run.frame, run.slot + i);
}

async function* segmentsOf(
  index: VaultIndex,
  ordinals: readonly number[],
): AsyncGenerator<{ readonly item: Item; readonly recipe: Recipe }> {
  for (let i = 0; i < ordinals.length; i += perQuery)
    for (const item of await index.itemsByOrdinal(ordinals.slice(i, i + perQuery)))
      if (item?.kind === "segment") yield { item, recipe: decodeRecipe(item.recipe) };
}

function noteUse(uses: Map<number, Use>, recipe: Recipe): void {
  eachBlock(recipe, (frame, slot) => {
    let use = uses.get(frame);
    if (use === undefined) {
      use = { once: slotMap(), shared: slotMap(), leaving: 0 };
      uses.set(frame, use);
    }
    if (use.once.has(slot)) use.shared.add(slot);
    else use.once.add(slot);
  });
}

function slotMap(): Bitmap {
  return new Bitmap(new Uint32Array(usualSlotWords));
}

/** The frames that give up a segment's own blocks; none where it is not scattered. */
function givingUp(uses: ReadonlyMap<number, Use>, recipe: Recipe): ReadonlySet<number> {
  const own = new Map<number, number>();
  eachBlock(recipe, (frame, slot) => {
    if (uses.get(frame)?.shared.has(slot) === false) own.set(frame, (own.get(frame) ?? 0) + 1);
  });
  if (own.size <= maxFramesPerSegment) return new Set();
  const byShare = [...own].sort(([, a], [, b]) => b - a).map(([frame]) => frame);
  return new Set(byShare.slice(keepingFrames));
}

async function sparseFrames(index: VaultIndex, uses: ReadonlyMap<number, Use>): Promise<ReadonlySet<number>> {
  const sparse = new Set<number>();
  const frames = [...uses.keys()];
  for (let i = 0; i < frames.length; i += perQuery)
    for (const [frame, { lengths }] of await directoriesOf(index, frames.slice(i, i + perQuery))) {
      const use = uses.get(frame);
      const needed = (use?.once.size ?? 0) - (use?.leaving ?? 0);
      const held = lengths.reduce((count, length) => (length > 0 ? count + 1 : count), 0);
      if (needed > 0 && needed < held * sparseShare) sparse.add(frame);
    }
  return sparse;
}
