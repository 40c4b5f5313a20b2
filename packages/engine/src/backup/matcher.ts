/**
 * Finds stored blocks for new segments without an index of all blocks (sparse indexing, Lillibridge et al., FAST 2009).
 *
 * For a new segment the matcher looks up stored segments that are probably *similar*, in this order:
 *   1. the segments at the same place in the previous version of the file
 *   2. the segments that share one of its hooks (`packing/hooks.ts`)
 *   3. let A be the segment before this one, and B the stored segment that is A or is similar to it: the segment after B
 *   4. the segment after each of these, because segment ends move where blocks changed
 * It loads the block lists of their frames into the block table and looks up every block there. It loads whole block
 * lists, so blocks next to a similar segment are found as well. In the scope `lineage` it takes only the slots that the
 * recipes of the client's own segments name: the other slots of a frame may be of other clients.
 *
 * All segments of a call are matched together, in a handful of catalog calls. The matcher keeps nothing that an answer
 * depends on: the block table and the sets of frames are caches.
 */

import type { Catalog, FrameRow, Item, UploadScope } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { blockIdLength } from "../format/hash.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import { BlockTable } from "./block-table.ts";
import { findSimilarSegments } from "./similar-segments.ts";
import type { SegmentAnswer, SegmentQuery } from "./upload-target.ts";

/** Frames of one similar segment whose block lists are loaded. Few segments have more, and repacking reduces them. */
const maxFramesPerSegment = 24;

/** Block lists that are read in one catalog call. Each is some kilobytes, and the block table holds about 500 of them. */
const maxFramesPerCall = 256;

/** Entries of the cache of pinned frames. A full cache is cleared; the catalog is asked again. */
const maxCached = 1 << 16;

/** The generation of a frame whose block list has left the block table meanwhile. No frame has it. */
const unknown = -1;

export interface MatcherOptions {
  readonly catalog: Catalog;
  readonly upload: string;
  readonly owner: string;
  readonly scope: UploadScope;
}

export class Matcher {
  readonly #options: MatcherOptions;
  readonly #table: BlockTable;
  /** Frames whose block lists are in the younger and in the older half of the block table, with their generations. */
  #loaded = new Map<number, number>();
  #loadedBefore = new Map<number, number>();
  #pinned = new Set<number>();
  /** Frames that the catalog did not pin: their blocks must be stored again. */
  #refused = new Set<number>();

  constructor(options: MatcherOptions, tableCapacity?: number) {
    this.#options = options;
    this.#table = new BlockTable(tableCapacity, () => {
      this.#loadedBefore = this.#loaded;
      this.#loaded = new Map();
    });
  }

  /** Where the blocks of each segment are stored. `known[i]`: the item of segment i, which is then not matched. */
  async match(queries: readonly SegmentQuery[], known: readonly (Item | null)[]): Promise<readonly SegmentAnswer[]> {
    const similar = await findSimilarSegments(this.#options, queries, known);
    const answers: SegmentAnswer[] = [];
    for (let from = 0; from < queries.length; ) {
      const { end, frames } = this.#nextGroup(similar, from);
      const rows = await this.#read(frames);
      for (; from < end; from++) {
        for (const segment of similar[from] ?? []) this.#load(segment, rows);
        const query = queries[from];
        if (query !== undefined) answers.push(this.#find(query, known[from] ?? null));
      }
    }
    await this.#pin(answers);
    return answers;
  }

  /** As many queries from `from` on as one catalog call can serve, and the frames to be read for them. */
  #nextGroup(
    similar: readonly (readonly Item[])[],
    from: number,
  ): { readonly end: number; readonly frames: readonly number[] } {
    const frames = new Set<number>();
    let end = from;
    while (end < similar.length && (end === from || frames.size < maxFramesPerCall)) {
      for (const segment of similar[end] ?? []) for (const frame of this.#missingFrames(segment)) frames.add(frame);
      end++;
    }
    return { end, frames: [...frames] };
  }

  #missingFrames(segment: Item): number[] {
    const isLoaded = (frame: number) => this.#loaded.has(frame) || this.#loadedBefore.has(frame);
    const frames = framesOf(decodeRecipe(segment.recipe));
    // Which slots of a frame are loaded depends on the segment there.
    if (this.#options.scope === "lineage") return frames.slice(0, maxFramesPerSegment);
    return frames.filter((frame) => !isLoaded(frame)).slice(0, maxFramesPerSegment);
  }

  async #read(frames: readonly number[]): Promise<ReadonlyMap<number, FrameRow>> {
    const rows = new Map<number, FrameRow>();
    if (frames.length === 0) return rows;
    for (const row of await this.#options.catalog.frames(frames))
      if (row !== null && row.kind === "data") rows.set(row.frame, row);
    return rows;
  }

  /** Loads the block lists of a segment's frames into the block table. */
  #load(segment: Item, rows: ReadonlyMap<number, FrameRow>): void {
    const ownSlots = this.#options.scope === "lineage" ? slotsOf(segment) : null;
    for (const frame of this.#missingFrames(segment)) {
      const row = rows.get(frame);
      if (row === undefined) continue;
      this.#loaded.set(frame, row.generation);
      if (row.damaged) continue;
      const blockList = decodeBlockList(row.blockList);
      for (const [slot, length] of blockList.lengths.entries()) {
        const isOffered = ownSlots === null || ownSlots.get(frame)?.has(slot) === true;
        if (length > 0 && isOffered) this.#table.set(blockList.ids, slot, frame, slot);
      }
    }
  }

  #find({ blockIds }: SegmentQuery, known: Item | null): SegmentAnswer {
    if (known !== null) return { ordinal: known.ordinal, frames: new Float64Array(0), slots: new Uint32Array(0) };
    const count = blockIds.length / blockIdLength;
    const frames = new Float64Array(count);
    const slots = new Uint32Array(count);
    const place = { frame: 0, slot: 0 };
    for (let i = 0; i < count; i++) {
      if (!this.#table.find(blockIds, i, place)) continue;
      frames[i] = place.frame;
      slots[i] = place.slot;
    }
    return { ordinal: 0, frames, slots };
  }

  /** Pins the frames of the answers, and removes from the answers what cannot be pinned. */
  async #pin(answers: readonly SegmentAnswer[]): Promise<void> {
    const used = new Set<number>();
    for (const { frames } of answers) for (const frame of frames) if (frame !== 0) used.add(frame);
    if (this.#pinned.size > maxCached) this.#pinned = new Set();
    const asked = [...used].filter((frame) => !this.#pinned.has(frame) && !this.#refused.has(frame));
    if (asked.length > 0) {
      const generations = asked.map((frame) => this.#loaded.get(frame) ?? this.#loadedBefore.get(frame) ?? unknown);
      const pins = await this.#options.catalog.acquireFrames(this.#options.upload, asked, generations);
      for (const [i, frame] of asked.entries()) {
        if (pins[i] === true) this.#pinned.add(frame);
        else if (generations[i] !== unknown) this.#refused.add(frame);
      }
    }
    for (const { frames } of answers)
      for (let i = 0; i < frames.length; i++) if (!this.#pinned.has(frames[i] ?? 0)) frames[i] = 0;
  }
}

/** The slots that a segment's recipe names, by frame. */
function slotsOf(segment: Item): ReadonlyMap<number, ReadonlySet<number>> {
  const slots = new Map<number, Set<number>>();
  for (const run of decodeRecipe(segment.recipe)) {
    if (run.kind !== "stored") continue;
    const own = slots.get(run.frame) ?? new Set<number>();
    slots.set(run.frame, own);
    for (let i = 0; i < run.count; i++) own.add(run.slot + i);
  }
  return slots;
}
