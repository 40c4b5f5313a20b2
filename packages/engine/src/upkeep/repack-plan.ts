/**
 * What relaying moves. A full restore reads every frame that a snapshot needs, once; what nights cost it are frames of
 * which it needs little. A single segment's reading costs as many frames as it lies in. So two kinds of blocks move:
 *
 * - those of a *scattered* segment, from frames that have little of it. Only blocks that no other segment needs count: an
 *   issuer's style sheet is where all of his invoices find it.
 * - those in a *sparse* frame: of what it holds the snapshots need less than half, counted without the blocks above.
 *
 * Needed is what the newest snapshot of any source needs. Whatever is moved lies in frames that are needed entirely, so
 * a second look finds nothing to move.
 *
 * A recipe is a claim: slots that its frame does not have count for nothing.
 */

import type { Catalog, Item } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList } from "../format/block-list.ts";
import type { Recipe } from "../format/recipe.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import { usualSlotWords } from "./liveness.ts";

/** A segment whose own blocks are in more frames than this is scattered. */
const maxFramesPerSegment = 8;

/** The frames with most of a scattered segment's own blocks keep them. With those that the rest comes to it is not scattered. */
const keepingFrames = 3;

/** A frame of which a smaller share is needed gives up all. Reading is at most doubled by what stays. */
const sparseShare = 1 / 2;

/** Items asked of the catalog at once; recipes of a few hundred bytes each. */
const itemsPerQuery = 512;

/** A segment of which something moves. */
export interface MovingSegment {
  readonly item: Item;
  readonly recipe: Recipe;
  /** Whether the block in a slot of a frame moves. */
  readonly moves: (frame: number, slot: number) => boolean;
}

/** What is needed of a frame. */
interface Use {
  /** Slots that it has, and how many of them hold a block. */
  readonly slots: number;
  readonly held: number;
  readonly needed: Bitmap;
  /** Slots that are needed in more than one place; null for none. */
  shared: Bitmap | null;
  /** Needed slots that scattered segments take with them. */
  leaving: number;
  /** Said once all of this is known. */
  isSparse: boolean | null;
}

/** The segments of which something moves, in the order of their ordinals. */
export async function* movingSegments(catalog: Catalog, reach: Bitmap): AsyncGenerator<MovingSegment> {
  const ordinals = [...reach];
  const uses = new Uses(catalog);
  for await (const segments of batches(catalog, ordinals)) await uses.note(segments);
  for await (const segments of batches(catalog, ordinals)) uses.noteLeaving(segments);
  for await (const segments of batches(catalog, ordinals))
    for (const segment of segments) {
      const moves = uses.movesOf(segment.recipe);
      if (storedBlocks(segment.recipe).some(([frame, slot]) => moves(frame, slot))) yield { ...segment, moves };
    }
}

/** Frame and slot of every stored block of a recipe, in order. */
export function storedBlocks(recipe: Recipe): (readonly [frame: number, slot: number])[] {
  const blocks: (readonly [number, number])[] = [];
  for (const run of recipe)
    if (run.kind === "stored") for (let i = 0; i < run.count; i++) blocks.push([run.frame, run.slot + i]);
  return blocks;
}

type Segment = Pick<MovingSegment, "item" | "recipe">;

async function* batches(catalog: Catalog, ordinals: readonly number[]): AsyncGenerator<readonly Segment[]> {
  for (let i = 0; i < ordinals.length; i += itemsPerQuery) {
    const items = await catalog.itemsByOrdinal(ordinals.slice(i, i + itemsPerQuery));
    yield items.flatMap((item) => (item?.kind === "segment" ? [{ item, recipe: decodeRecipe(item.recipe) }] : []));
  }
}

class Uses {
  readonly #catalog: Catalog;
  readonly #frames = new Map<number, Use>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Notes what segments need. */
  async note(segments: readonly Segment[]): Promise<void> {
    const frames = new Set(segments.flatMap(({ recipe }) => framesOf(recipe)));
    for (const row of await this.#catalog.frames([...frames].filter((frame) => !this.#frames.has(frame)))) {
      if (row?.kind !== "data") continue;
      const { lengths } = decodeBlockList(row.blockList);
      const held = lengths.reduce((count, length) => (length > 0 ? count + 1 : count), 0);
      this.#frames.set(row.frame, {
        slots: lengths.length,
        held,
        needed: slotMap(),
        shared: null,
        leaving: 0,
        isSparse: null,
      });
    }
    for (const { recipe } of segments)
      for (const [frame, slot] of storedBlocks(recipe)) {
        const use = this.#frames.get(frame);
        if (use === undefined || slot >= use.slots) continue;
        if (use.needed.has(slot)) {
          use.shared ??= slotMap();
          use.shared.add(slot);
        } else use.needed.add(slot);
      }
  }

  /** Notes what scattered segments will take with them, once all needs are known. */
  noteLeaving(segments: readonly Segment[]): void {
    for (const { recipe } of segments) {
      const giving = this.#givingUp(recipe);
      if (giving.size === 0) continue;
      for (const [frame, slot] of storedBlocks(recipe)) {
        const use = this.#frames.get(frame);
        if (use !== undefined && giving.has(frame) && this.#isOwn(frame, slot)) use.leaving++;
      }
    }
  }

  movesOf(recipe: Recipe): MovingSegment["moves"] {
    const giving = this.#givingUp(recipe);
    return (frame, slot) => this.#isSparse(frame) || (giving.has(frame) && this.#isOwn(frame, slot));
  }

  /** The frames that give up a segment's own blocks; none where it is not scattered. */
  #givingUp(recipe: Recipe): ReadonlySet<number> {
    const own = new Map<number, number>();
    for (const [frame, slot] of storedBlocks(recipe))
      if (this.#isOwn(frame, slot)) own.set(frame, (own.get(frame) ?? 0) + 1);
    if (own.size <= maxFramesPerSegment) return new Set();
    const byShare = [...own].sort(([, a], [, b]) => b - a).map(([frame]) => frame);
    return new Set(byShare.slice(keepingFrames));
  }

  /** Whether a block is needed in one place only. */
  #isOwn(frame: number, slot: number): boolean {
    const use = this.#frames.get(frame);
    return use !== undefined && slot < use.slots && use.shared?.has(slot) !== true;
  }

  #isSparse(frame: number): boolean {
    const use = this.#frames.get(frame);
    if (use === undefined) return false;
    const staying = use.isSparse === null ? use.needed.size - use.leaving : 0;
    use.isSparse ??= staying > 0 && staying < use.held * sparseShare;
    return use.isSparse;
  }
}

function slotMap(): Bitmap {
  return new Bitmap(new Uint32Array(usualSlotWords));
}
