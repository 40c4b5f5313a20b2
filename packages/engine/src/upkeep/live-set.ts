/**
 * The live set: what snapshots and running uploads need. Pure functions, used by prune and by repack.
 *
 * In: the live ordinals (the union of all bitmaps), and scans of the items, frames and packs of the catalog. Out: live slots, live
 * metadata frames, and for each pack the bytes of its live frames. No tree is read.
 *
 * - A slot of a data frame is live if the recipe of a live segment names it.
 * - A metadata frame is live if it holds a live node, the record of a live segment, or the block list of a live data frame.
 * - A pack is needed if one of its frames is live. (The pack state `live` is something else: see the catalog.)
 * Everything else is dead.
 */

import type { Catalog, FramePlace, FrameRow, PackRow } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { decodeRecipe } from "../format/recipe.ts";

export interface PackUsage {
  readonly pack: string;
  readonly size: number;
  readonly state: PackRow["state"];
  /** Encrypted bytes of the frames that hold something live. */
  neededFrameBytes: number;
  /** The part of `neededFrameBytes` that dead slots take. An estimate: a frame's bytes times its share of dead slots. */
  deadSlotBytes: number;
}

export interface LiveSet {
  readonly ordinals: Bitmap;
  /** The number of live ordinals without an item in the catalog. What such an item needs looks dead and is not. */
  readonly missingItems: number;
  /**
   * The number of live frames that the catalog does not have, or that have dropped a live slot. The catalog has an old
   * recipe, for example because it was rebuilt while the pack with the new one was missing. What the new recipe needs looks
   * dead and is not.
   */
  readonly incompleteFrames: number;
  /** The live slots of every live data frame. */
  readonly slots: ReadonlyMap<number, Bitmap>;
  readonly metaFrames: ReadonlySet<number>;
  readonly packs: ReadonlyMap<string, PackUsage>;
  /** The ordinals of dead items, by each pack that they need. */
  readonly deadItems: ReadonlyMap<string, readonly number[]>;
}

/** Returns the union of encoded bitmaps. One of them is in memory at a time. */
export async function unionOfBitmaps(bitmaps: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Bitmap> {
  const union = new Bitmap();
  for await (const bytes of bitmaps) union.or(Bitmap.decode(bytes));
  return union;
}

/** What the live set is computed from: scans of the catalog, and the block lists of frames that upkeep has rewritten. */
export type MarkedCatalog = Pick<Catalog, "allItems" | "allFrames" | "allPacks" | "frames">;

/** Block lists read in one call of the catalog: each has some kilobytes. */
const blockListsPerCall = 128;

/** Computes the live set. Block lists are not kept in memory, only the locations of frames. */
export async function computeLiveSet(catalog: MarkedCatalog, ordinals: Bitmap): Promise<LiveSet> {
  const slots = new Map<number, Bitmap>();
  const metaFrames = new Set<number>();
  const dead: { ordinal: number; frames: number[] }[] = [];
  let found = 0;
  for await (const item of catalog.allItems()) {
    const runs = decodeRecipe(item.recipe);
    if (!ordinals.has(item.ordinal)) {
      dead.push({
        ordinal: item.ordinal,
        frames: [...runs.flatMap((run) => (run.kind === "stored" ? [run.frame] : [])), item.recordFrame],
      });
      continue;
    }
    found++;
    if (item.recordFrame !== 0) metaFrames.add(item.recordFrame);
    for (const run of runs) {
      if (run.kind !== "stored") continue;
      if (item.kind === "node") metaFrames.add(run.frame);
      else addSlots(slots, run.frame, run.slot, run.count);
    }
  }
  const locations = new Map<number, FrameLocation>();
  const rewritten: number[] = [];
  let foundFrames = 0;
  for await (const { frame, kind, pack, length, recordFrame, generation, slotCount } of catalog.allFrames()) {
    locations.set(frame, { frame, kind, pack, length, slotCount });
    if (!slots.has(frame)) continue;
    foundFrames++;
    if (recordFrame !== 0) metaFrames.add(recordFrame);
    if (generation > 0) rewritten.push(frame);
  }
  const packs = await Array.fromAsync(catalog.allPacks());
  return {
    ordinals,
    missingItems: ordinals.size - found,
    incompleteFrames: slots.size - foundFrames + (await countIncomplete(catalog, rewritten, slots)),
    slots,
    metaFrames,
    packs: packUsages(packs, locations, slots, metaFrames),
    deadItems: deadItemsByPack(dead, locations),
  };
}

/** The number of rewritten frames that have dropped a live slot, or are gone since they were scanned. */
async function countIncomplete(
  catalog: MarkedCatalog,
  frames: readonly number[],
  slots: ReadonlyMap<number, Bitmap>,
): Promise<number> {
  let incomplete = 0;
  for (let i = 0; i < frames.length; i += blockListsPerCall) {
    const part = frames.slice(i, i + blockListsPerCall);
    for (const [k, row] of (await catalog.frames(part)).entries()) {
      const live = slots.get(part[k] ?? 0) ?? new Bitmap();
      if (row === null || hasDropped(row, live)) incomplete++;
    }
  }
  return incomplete;
}

/** Packs without anything live. Packs that an interrupted prune has condemned are among them. */
export function deadPacks({ packs }: LiveSet): string[] {
  return [...packs.values()]
    .filter(({ neededFrameBytes, state }) => neededFrameBytes === 0 && state !== "deleting")
    .map(({ pack }) => pack);
}

/** Needed packs of which more than `deadShare` is dead. Packs that an interrupted repack has condemned are among them. */
export function wastefulPacks({ packs }: LiveSet, deadShare: number): string[] {
  return [...packs.values()]
    .filter(
      ({ neededFrameBytes, deadSlotBytes, size, state }) =>
        neededFrameBytes > 0 && state !== "deleting" && (size - neededFrameBytes + deadSlotBytes) / size > deadShare,
    )
    .map(({ pack }) => pack);
}

/** 32-bit words for the slots of a usual frame: 2 MiB in blocks of 8 KiB. A bitmap with this size need not grow. */
export const usualSlotWords = 8;

interface FrameLocation extends Pick<FramePlace, "frame" | "kind" | "pack" | "length"> {
  readonly slotCount: number;
}

/** Slots are bits and not numbers in a set: a terabyte has more than a hundred million slots. */
function addSlots(slots: Map<number, Bitmap>, frame: number, first: number, count: number): void {
  let live = slots.get(frame);
  if (live === undefined) {
    live = new Bitmap(new Uint32Array(usualSlotWords));
    slots.set(frame, live);
  }
  for (let i = 0; i < count; i++) live.add(first + i);
}

function packUsages(
  packs: readonly PackRow[],
  locations: ReadonlyMap<number, FrameLocation>,
  slots: ReadonlyMap<number, Bitmap>,
  metaFrames: ReadonlySet<number>,
): Map<string, PackUsage> {
  const usages = new Map<string, PackUsage>();
  for (const { pack, size, state } of packs)
    usages.set(pack, { pack, size, state, neededFrameBytes: 0, deadSlotBytes: 0 });
  for (const { frame, kind, pack, length, slotCount } of locations.values()) {
    const usage = usages.get(pack);
    if (usage === undefined) continue;
    if (kind === "meta" && metaFrames.has(frame)) usage.neededFrameBytes += length;
    const live = slots.get(frame)?.size ?? 0;
    if (kind !== "data" || live === 0) continue;
    usage.neededFrameBytes += length;
    usage.deadSlotBytes += slotCount === 0 ? 0 : length * (1 - live / slotCount);
  }
  return usages;
}

function deadItemsByPack(
  dead: readonly { ordinal: number; frames: readonly number[] }[],
  locations: ReadonlyMap<number, FrameLocation>,
): Map<string, number[]> {
  const byPack = new Map<string, number[]>();
  for (const { ordinal, frames } of dead) {
    const packs = new Set(frames.map((frame) => locations.get(frame)?.pack).filter((pack) => pack !== undefined));
    for (const pack of packs) {
      const list = byPack.get(pack) ?? [];
      if (list.length === 0) byPack.set(pack, list);
      list.push(ordinal);
    }
  }
  return byPack;
}

/**
 * Whether upkeep has dropped one of these slots from a frame: it has the length 0. Only upkeep makes later generations. A
 * client that names slots which its own frame never had harms its own snapshots and stops nothing.
 */
function hasDropped({ blockList }: FrameRow, live: Bitmap): boolean {
  const { lengths } = decodeBlockList(blockList);
  for (const slot of live) if (lengths[slot] === 0) return true;
  return false;
}
