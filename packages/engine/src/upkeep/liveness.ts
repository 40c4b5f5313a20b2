/**
 * What is alive: the pure part of collection and relaying. From the live ordinals (the OR of all bitmaps) and the items
 * follow live slots, frames and packs. No tree is walked.
 *
 * - A data slot lives while a live segment's recipe names it.
 * - A metadata frame lives while it holds a live node, a live segment's record, or a live data frame's block list.
 * - A pack lives while one of its frames does.
 */

import type { FrameRow, Item, PackRow } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeRecipe } from "../format/recipe.ts";

/** Where and how much. `block list` is not needed here and may be empty. */
export type FramePlace = Pick<FrameRow, "frame" | "kind" | "pack" | "length" | "record" | "generation">;

export interface PackUsage {
  readonly pack: string;
  readonly size: number;
  readonly state: PackRow["state"];
  /** Sealed bytes of frames in which something lives. */
  liveBytes: number;
  /** Share of the live data frames' slots that is dead, weighted by sealed bytes. */
  deadBytes: number;
}

export interface Liveness {
  readonly live: Bitmap;
  /** Live ordinals of which the catalog has no item: what they rest on cannot be told from garbage. */
  readonly unknown: number;
  /** Live slots of every live data frame. */
  readonly slots: ReadonlyMap<number, Bitmap>;
  /** Metadata frames in which something lives. */
  readonly meta: ReadonlySet<number>;
  readonly packs: ReadonlyMap<string, PackUsage>;
  /** Dead items by the packs that they rest on. */
  readonly deadItems: ReadonlyMap<string, readonly number[]>;
}

/** The OR of all bitmaps: the whole of marking. */
export function markLive(reach: Iterable<Uint8Array>): Bitmap {
  const live = new Bitmap();
  for (const bytes of reach) live.or(Bitmap.decode(bytes));
  return live;
}

export interface LivenessInput {
  readonly live: Bitmap;
  readonly items: AsyncIterable<Item>;
  readonly frames: AsyncIterable<FrameRow>;
  readonly packs: readonly PackRow[];
}

/** Works out what lives. Holds places of frames, not their block lists. */
export async function liveness({ live, items, frames, packs }: LivenessInput): Promise<Liveness> {
  const slots = new Map<number, Bitmap>();
  const meta = new Set<number>();
  const dead: { ordinal: number; frames: number[] }[] = [];
  let known = 0;
  for await (const item of items) {
    const runs = decodeRecipe(item.recipe);
    if (!live.has(item.ordinal)) {
      dead.push({
        ordinal: item.ordinal,
        frames: [...runs.flatMap((run) => (run.kind === "stored" ? [run.frame] : [])), item.record],
      });
      continue;
    }
    known++;
    if (item.record !== 0) meta.add(item.record);
    for (const run of runs) {
      if (run.kind !== "stored") continue;
      if (item.kind === "node") meta.add(run.frame);
      else addSlots(slots, run.frame, run.slot, run.count);
    }
  }
  const places = new Map<number, FramePlace & { slotCount: number }>();
  for await (const row of frames) {
    const { frame, kind, pack, length, record, generation } = row;
    places.set(frame, { frame, kind, pack, length, record, generation, slotCount: slotCountOf(row) });
    if (slots.has(frame) && record !== 0) meta.add(record);
  }
  const lives = packUsages(packs, places, slots, meta);
  return { live, unknown: live.size - known, slots, meta, packs: lives, deadItems: deadByPack(dead, places) };
}

/** Packs in which nothing lives; those too that an interrupted run has condemned. */
export function deadPacks({ packs }: Liveness): string[] {
  return [...packs.values()]
    .filter(({ liveBytes, state }) => liveBytes === 0 && state !== "deleting")
    .map(({ pack }) => pack);
}

/** Packs worth rewriting: more than this share of them is dead. Those too that an interrupted run has condemned. */
export function wastefulPacks({ packs }: Liveness, deadShare: number): string[] {
  return [...packs.values()]
    .filter(
      ({ liveBytes, deadBytes, size, state }) =>
        liveBytes > 0 && state !== "deleting" && (size - liveBytes + deadBytes) / size > deadShare,
    )
    .map(({ pack }) => pack);
}

/** Slots of most frames in one piece: 2 MiB in blocks of 8 KiB. */
export const usualSlotWords = 8;

/** Bits, not a set of numbers: a terabyte has more than a hundred million slots. */
function addSlots(slots: Map<number, Bitmap>, frame: number, first: number, count: number): void {
  let used = slots.get(frame);
  if (used === undefined) {
    used = new Bitmap(new Uint32Array(usualSlotWords));
    slots.set(frame, used);
  }
  for (let i = 0; i < count; i++) used.add(first + i);
}

function packUsages(
  packs: readonly PackRow[],
  places: ReadonlyMap<number, FramePlace & { slotCount: number }>,
  slots: ReadonlyMap<number, Bitmap>,
  meta: ReadonlySet<number>,
): Map<string, PackUsage> {
  const lives = new Map<string, PackUsage>();
  for (const { pack, size, state } of packs) lives.set(pack, { pack, size, state, liveBytes: 0, deadBytes: 0 });
  for (const { frame, kind, pack, length, slotCount } of places.values()) {
    const life = lives.get(pack);
    if (life === undefined) continue;
    if (kind === "meta" && meta.has(frame)) life.liveBytes += length;
    const used = slots.get(frame)?.size ?? 0;
    if (kind !== "data" || used === 0) continue;
    life.liveBytes += length;
    life.deadBytes += slotCount === 0 ? 0 : length * (1 - used / slotCount);
  }
  return lives;
}

function deadByPack(
  dead: readonly { ordinal: number; frames: readonly number[] }[],
  places: ReadonlyMap<number, FramePlace>,
): Map<string, number[]> {
  const byPack = new Map<string, number[]>();
  for (const { ordinal, frames } of dead) {
    const packs = new Set(frames.map((frame) => places.get(frame)?.pack).filter((pack) => pack !== undefined));
    for (const pack of packs) {
      const list = byPack.get(pack) ?? [];
      if (list.length === 0) byPack.set(pack, list);
      list.push(ordinal);
    }
  }
  return byPack;
}

/** Slots of an encoded block list: its leading varint. */
function slotCountOf({ blockList }: FrameRow): number {
  let count = 0;
  let scale = 1;
  for (const byte of blockList) {
    count += (byte & 0x7f) * scale;
    if (byte < 0x80) break;
    scale *= 0x80;
  }
  return count;
}
