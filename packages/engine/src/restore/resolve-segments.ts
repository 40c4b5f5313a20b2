/**
 * Resolves segments: finds the frames and slots that hold a segment's blocks.
 *
 * In: references (ordinal and id of a segment). Out, for each: the ids, lengths and slots of its blocks, or the reason why
 * it cannot be read. A result is returned only if the recipe and the block lists in the catalog give the segment's id.
 * No frame is read here. When a frame is opened, the blocks of segments that are not verified are hashed and compared
 * with their ids (or all blocks, on request).
 */

import type { FrameRow, Item } from "../catalog/catalog.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { sameBytes } from "../format/bytes.ts";
import { blockId, blockIdLength, segmentId } from "../format/hash.ts";
import type { Recipe, Run } from "../format/recipe.ts";
import { blocksOf, decodeRecipe, framesOf } from "../format/recipe.ts";
import type { Reference } from "../format/tree-entry.ts";
import type { ReadPort } from "./read-port.ts";

/** The lookups that resolving needs. A catalog and a read port both have them. */
export type SegmentLookup = Pick<ReadPort, "itemsByOrdinal" | "frames">;

/** Items and frames looked up per call of the catalog. */
const lookupBatch = 512;

/** Lookups at a time. */
const maxLookups = 4;

/** Consecutive slots of a frame. Frame 0 stands for blocks of zeros, which are not stored. */
export interface SlotRun {
  readonly frame: number;
  readonly slot: number;
  readonly count: number;
}

/** The blocks of a segment, in order: their ids, their lengths, and their slots as runs. */
export interface SegmentBlocks {
  readonly ids: Uint8Array;
  readonly runs: readonly SlotRun[];
  readonly lengths: Uint32Array;
}

/** Resolves segments by their references. A string is the reason why a segment cannot be read. */
export async function resolveSegments(
  lookup: SegmentLookup,
  blockIdKey: Uint8Array,
  references: readonly Reference[],
): Promise<(SegmentBlocks | string)[]> {
  const found = await lookup.itemsByOrdinal(references.map(({ ordinal }) => ordinal));
  const items = found.filter((item) => item !== null);
  return resolveItems(lookup, blockIdKey, items, references);
}

/** Like `resolveSegments`, for a caller that has the items already. */
export async function resolveItems(
  lookup: SegmentLookup,
  blockIdKey: Uint8Array,
  items: readonly Item[],
  references: readonly Reference[] = items,
): Promise<(SegmentBlocks | string)[]> {
  const byOrdinal = new Map(items.map((item) => [item.ordinal, item]));
  const resolver = await SegmentResolver.load(lookup, blockIdKey, byOrdinal);
  return references.map((reference) => resolver.resolve(reference));
}

/** Reads the items of these ordinals; ordinals without an item are left out. */
export async function loadItems(lookup: SegmentLookup, ordinals: ReadonlySet<number>): Promise<Map<number, Item>> {
  const items = new Map<number, Item>();
  await eachBatch([...ordinals], async (batch) => {
    for (const item of await lookup.itemsByOrdinal(batch)) if (item !== null) items.set(item.ordinal, item);
  });
  return items;
}

interface LoadedFrame {
  readonly row: FrameRow;
  readonly blockList: BlockList;
}

/** Resolves segments of which items, recipes and block lists are in memory. */
export class SegmentResolver {
  readonly #items: ReadonlyMap<number, Item>;
  readonly #recipes: ReadonlyMap<number, Recipe>;
  readonly #blockIdKey: Uint8Array;
  readonly #zeroIds = new Map<number, Uint8Array>();
  readonly #resolved = new Map<number, { readonly id: Uint8Array; readonly result: SegmentBlocks | string }>();
  /** The data frames that the recipes name, as far as the catalog has them. */
  readonly frames: ReadonlyMap<number, LoadedFrame>;
  /** Frames that an unverified segment needs. */
  readonly unverifiedFrames = new Set<number>();

  constructor(
    items: ReadonlyMap<number, Item>,
    recipes: ReadonlyMap<number, Recipe>,
    frames: ReadonlyMap<number, LoadedFrame>,
    blockIdKey: Uint8Array,
  ) {
    this.#items = items;
    this.#recipes = recipes;
    this.frames = frames;
    this.#blockIdKey = blockIdKey;
  }

  /** Loads the recipes and block lists of these items. `blockIdKey` gives the ids of zero blocks, which are not stored. */
  static async load(
    lookup: SegmentLookup,
    blockIdKey: Uint8Array,
    items: ReadonlyMap<number, Item>,
  ): Promise<SegmentResolver> {
    const recipes = new Map<number, Recipe>();
    for (const [ordinal, item] of items) recipes.set(ordinal, decodeRecipe(item.recipe));
    return new SegmentResolver(items, recipes, await loadFrames(lookup, recipes.values()), blockIdKey);
  }

  isVerified(ordinal: number): boolean {
    return this.#items.get(ordinal)?.verified === true;
  }

  resolve(reference: Reference): SegmentBlocks | string {
    const known = this.#resolved.get(reference.ordinal);
    // A tree may name one ordinal with two ids. A result holds for one id only.
    if (known !== undefined && sameBytes(known.id, reference.id)) return known.result;
    const result = this.#resolveOnce(reference);
    this.#resolved.set(reference.ordinal, { id: reference.id, result });
    return result;
  }

  #resolveOnce(reference: Reference): SegmentBlocks | string {
    const item = this.#items.get(reference.ordinal);
    const recipe = this.#recipes.get(reference.ordinal);
    if (item === undefined || recipe === undefined || !sameBytes(item.id, reference.id))
      return "a segment is not stored";
    const count = blocksOf(recipe);
    const ids = Buffer.alloc(count * blockIdLength);
    const lengths = new Uint32Array(count);
    const runs: SlotRun[] = [];
    let at = 0;
    for (const run of recipe) {
      if (run.kind === "zeros") {
        this.#addZeros(run, ids, lengths, at);
        runs.push({ frame: 0, slot: 0, count: run.count });
      } else {
        const reason = this.#addStored(run, ids, lengths, at);
        if (reason !== null) return reason;
        runs.push({ frame: run.frame, slot: run.slot, count: run.count });
        if (!item.verified) this.unverifiedFrames.add(run.frame);
      }
      at += run.count;
    }
    return sameBytes(segmentId(ids, lengths), reference.id)
      ? { ids, runs, lengths }
      : "a recipe has other blocks than its segment";
  }

  #addZeros(run: Run, ids: Uint8Array, lengths: Uint32Array, at: number): void {
    const bytes = run.bytes / run.count;
    lengths.fill(bytes, at, at + run.count);
    for (let i = at; i < at + run.count; i++) ids.set(this.#zeroId(bytes), i * blockIdLength);
  }

  /** Adds ids and lengths from the frame's block list; returns the reason where the block list has no such slots. */
  #addStored(run: Run & { kind: "stored" }, ids: Uint8Array, lengths: Uint32Array, at: number): string | null {
    const blockList = this.frames.get(run.frame)?.blockList;
    if (blockList === undefined) return `frame ${run.frame} is not stored`;
    const end = run.slot + run.count;
    if (end > blockList.lengths.length) return `frame ${run.frame} has no slot ${end - 1}`;
    ids.set(blockList.ids.subarray(run.slot * blockIdLength, end * blockIdLength), at * blockIdLength);
    lengths.set(blockList.lengths.subarray(run.slot, end), at);
    return null;
  }

  #zeroId(bytes: number): Uint8Array {
    const known = this.#zeroIds.get(bytes) ?? blockId(this.#blockIdKey, Buffer.alloc(bytes));
    this.#zeroIds.set(bytes, known);
    return known;
  }
}

async function loadFrames(lookup: SegmentLookup, recipes: Iterable<Recipe>): Promise<Map<number, LoadedFrame>> {
  const wanted = new Set<number>();
  for (const recipe of recipes) for (const frame of framesOf(recipe)) wanted.add(frame);
  const frames = new Map<number, LoadedFrame>();
  await eachBatch([...wanted], async (batch) => {
    for (const row of await lookup.frames(batch)) {
      if (row !== null && row.kind === "data")
        frames.set(row.frame, { row, blockList: decodeBlockList(row.blockList) });
    }
  });
  return frames;
}

/** Runs the work for all batches, a few at a time: the catalog may be far away. */
async function eachBatch(values: readonly number[], work: (batch: readonly number[]) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async () => {
    while (next < values.length) {
      const batch = values.slice(next, next + lookupBatch);
      next += lookupBatch;
      await work(batch);
    }
  };
  await Promise.all(Array.from({ length: maxLookups }, run));
}
