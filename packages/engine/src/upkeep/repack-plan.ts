/**
 * Decides which blocks repack moves. Two kinds of blocks move:
 *
 * - Blocks of a *scattered* segment, out of the frames that hold few of them. Reading a part of a file opens all frames of
 *   its segments. Only blocks that no other segment needs count and move: a style sheet that many invoices share stays.
 * - Blocks in a *sparse* frame. The newest snapshots need less than half of its blocks, without those that move by the
 *   first rule. A full restore reads every frame once, so most of what it reads of such a frame is not needed.
 *
 * "Needed" means: by the newest snapshot of any source. Moved blocks are written to frames that are needed completely, so a
 * second run finds nothing to move.
 *
 * A recipe comes from a client and may be wrong: slots that its frame does not have are ignored.
 */

import type { Catalog, Item } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList } from "../format/block-list.ts";
import type { Recipe } from "../format/recipe.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import { usualSlotWords } from "./live-set.ts";

/** A segment whose unshared blocks are in more frames than this is scattered. */
const maxFramesPerSegment = 8;

/** The frames with the most unshared blocks of a scattered segment keep them. With the new frames there are few. */
const framesKept = 3;

/** A frame of which a smaller share is needed is sparse. What stays can at most double the bytes that a restore reads. */
const sparseShare = 1 / 2;

/** Items per query of the catalog. A recipe has a few hundred bytes. */
const itemsPerQuery = 512;

/** A segment with blocks that move. */
export interface SegmentToRepack {
  readonly item: Item;
  readonly recipe: Recipe;
  /** Whether the block in a slot of a frame moves. */
  readonly isMoved: (frame: number, slot: number) => boolean;
}

/** How much of a frame is needed. */
interface FrameUsage {
  /** The number of slots, and how many of them hold a block. */
  readonly slots: number;
  readonly filled: number;
  readonly needed: Bitmap;
  /** Slots that several recipes need, or one recipe several times; null for none. */
  shared: Bitmap | null;
  /** Needed slots that move because their segment is scattered. */
  moved: number;
  /** Computed on first use, after all segments were counted. */
  isSparse: boolean | null;
}

/** Returns the segments with blocks that move, in the order of their ordinals. */
export async function* segmentsToRepack(catalog: Catalog, reach: Bitmap): AsyncGenerator<SegmentToRepack> {
  const ordinals = [...reach];
  const usage = new UsageCounter(catalog);
  for await (const segments of batches(catalog, ordinals)) await usage.countNeeded(segments);
  for await (const segments of batches(catalog, ordinals)) usage.countMoved(segments);
  for await (const segments of batches(catalog, ordinals))
    for (const segment of segments) {
      const isMoved = usage.moveFilter(segment.recipe);
      if (storedBlocks(segment.recipe).some(([frame, slot]) => isMoved(frame, slot))) yield { ...segment, isMoved };
    }
}

/** Returns frame and slot of every stored block of a recipe, in order. */
export function storedBlocks(recipe: Recipe): (readonly [frame: number, slot: number])[] {
  const blocks: (readonly [number, number])[] = [];
  for (const run of recipe)
    if (run.kind === "stored") for (let i = 0; i < run.count; i++) blocks.push([run.frame, run.slot + i]);
  return blocks;
}

type Segment = Pick<SegmentToRepack, "item" | "recipe">;

async function* batches(catalog: Catalog, ordinals: readonly number[]): AsyncGenerator<readonly Segment[]> {
  for (let i = 0; i < ordinals.length; i += itemsPerQuery) {
    const items = await catalog.itemsByOrdinal(ordinals.slice(i, i + itemsPerQuery));
    yield items.flatMap((item) => (item?.kind === "segment" ? [{ item, recipe: decodeRecipe(item.recipe) }] : []));
  }
}

/** Counts, for every frame, which slots are needed and which move. Three passes over the segments, in this order. */
class UsageCounter {
  readonly #catalog: Catalog;
  readonly #frames = new Map<number, FrameUsage>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** First pass: counts the slots that segments need. */
  async countNeeded(segments: readonly Segment[]): Promise<void> {
    const frames = new Set(segments.flatMap(({ recipe }) => framesOf(recipe)));
    for (const row of await this.#catalog.frames([...frames].filter((frame) => !this.#frames.has(frame)))) {
      if (row?.kind !== "data") continue;
      const { lengths } = decodeBlockList(row.blockList);
      const filled = lengths.reduce((count, length) => (length > 0 ? count + 1 : count), 0);
      this.#frames.set(row.frame, {
        slots: lengths.length,
        filled,
        needed: slotMap(),
        shared: null,
        moved: 0,
        isSparse: null,
      });
    }
    for (const { recipe } of segments)
      for (const [frame, slot] of storedBlocks(recipe)) {
        const usage = this.#frames.get(frame);
        if (usage === undefined || slot >= usage.slots) continue;
        if (usage.needed.has(slot)) {
          usage.shared ??= slotMap();
          usage.shared.add(slot);
        } else usage.needed.add(slot);
      }
  }

  /** Second pass: counts the slots that move because their segment is scattered. */
  countMoved(segments: readonly Segment[]): void {
    for (const { recipe } of segments) {
      const sources = this.#sourceFrames(recipe);
      if (sources.size === 0) continue;
      for (const [frame, slot] of storedBlocks(recipe)) {
        const usage = this.#frames.get(frame);
        if (usage !== undefined && sources.has(frame) && this.#isUnshared(frame, slot)) usage.moved++;
      }
    }
  }

  /** Third pass: returns which blocks of a recipe move. */
  moveFilter(recipe: Recipe): SegmentToRepack["isMoved"] {
    const sources = this.#sourceFrames(recipe);
    return (frame, slot) => this.#isSparse(frame) || (sources.has(frame) && this.#isUnshared(frame, slot));
  }

  /** The frames out of which a scattered segment's unshared blocks move; none where the segment is not scattered. */
  #sourceFrames(recipe: Recipe): ReadonlySet<number> {
    const unshared = new Map<number, number>();
    for (const [frame, slot] of storedBlocks(recipe))
      if (this.#isUnshared(frame, slot)) unshared.set(frame, (unshared.get(frame) ?? 0) + 1);
    if (unshared.size <= maxFramesPerSegment) return new Set();
    const byCount = [...unshared].sort(([, a], [, b]) => b - a).map(([frame]) => frame);
    return new Set(byCount.slice(framesKept));
  }

  /** Whether a block is needed only once. */
  #isUnshared(frame: number, slot: number): boolean {
    const usage = this.#frames.get(frame);
    return usage !== undefined && slot < usage.slots && usage.shared?.has(slot) !== true;
  }

  #isSparse(frame: number): boolean {
    const usage = this.#frames.get(frame);
    if (usage === undefined) return false;
    const staying = usage.isSparse === null ? usage.needed.size - usage.moved : 0;
    usage.isSparse ??= staying > 0 && staying < usage.filled * sparseShare;
    return usage.isSparse;
  }
}

/** An empty bitmap with space for the slots of a usual frame. */
function slotMap(): Bitmap {
  return new Bitmap(new Uint32Array(usualSlotWords));
}
