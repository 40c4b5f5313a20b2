/**
 * Finds stored blocks for new segments without an index of all blocks (sparse indexing, Lillibridge et al., FAST 2009).
 *
 * For a new segment the matcher looks up stored segments that are probably *similar*, in this order:
 *   1. the segments at the same place in the previous version of the file
 *   2. the segments that share one of its hooks (`packing/hooks.ts`)
 *   3. let A be the new segment before this one, and B the stored segment that is similar to A: the segment after B
 *   4. the segment after each of these, because segment ends move where blocks changed
 * It loads the block lists of their frames into the block table and looks up every block there. It loads whole block
 * lists, so blocks next to a similar segment are found as well.
 */

import type { Catalog, Item } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { blockIdLength } from "../format/hash.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import { BlockTable } from "./block-table.ts";
import type { SegmentMatch, SegmentQuery } from "./upload-target.ts";

/** Frames of one similar segment whose block lists are loaded. Few segments have more, and repacking reduces them. */
const maxFramesPerSegment = 24;

/** Similar segments per new segment, and as many that follow them. More of them find hardly any other block. */
const maxSimilarSegments = 8;

/** Entries of the caches of similar segments and of pinned frames. A full cache is cleared; the catalog is asked again. */
const maxCached = 1 << 16;

export interface MatcherOptions {
  readonly catalog: Catalog;
  readonly upload: string;
  readonly owner: string;
}

export class Matcher {
  readonly #options: MatcherOptions;
  readonly #table: BlockTable;
  /** By the ordinal of a new segment: the ordinal of its first similar segment. */
  readonly #similarTo = new Map<number, number>();
  /** Frames whose block lists are in the younger and in the older half of the block table. */
  #loaded = new Set<number>();
  #loadedBefore = new Set<number>();
  #pinned = new Set<number>();
  /** Frames that the catalog did not pin: their blocks must be stored again. */
  #refused = new Set<number>();

  constructor(options: MatcherOptions, tableCapacity?: number) {
    this.#options = options;
    this.#table = new BlockTable(tableCapacity, () => {
      this.#loadedBefore = this.#loaded;
      this.#loaded = new Set();
    });
  }

  async match(query: SegmentQuery): Promise<SegmentMatch> {
    const segments = await this.#similarSegments(query);
    for (const segment of segments) await this.#load(segment);
    const count = query.ids.length / blockIdLength;
    const frames = new Float64Array(count);
    const slots = new Uint32Array(count);
    const place = { frame: 0, slot: 0 };
    const used = new Set<number>();
    for (let i = 0; i < count; i++) {
      if (!this.#table.find(query.ids, i, place) || this.#refused.has(place.frame)) continue;
      frames[i] = place.frame;
      slots[i] = place.slot;
      used.add(place.frame);
    }
    await this.#pin(used);
    for (let i = 0; i < count; i++) if (this.#refused.has(frames[i] ?? 0)) frames[i] = 0;
    return { frames, slots, similar: segments[0]?.ordinal ?? 0 };
  }

  /** Stores which segment is similar to a new one. It is used to match the next new segment. */
  noteSimilar(ordinal: number, similar: number): void {
    if (similar === 0) return;
    if (this.#similarTo.size >= maxCached) this.#similarTo.clear();
    this.#similarTo.set(ordinal, similar);
  }

  async #similarSegments(query: SegmentQuery): Promise<Item[]> {
    const { catalog, owner } = this.#options;
    const wanted = new Set<number>(query.oldSegments);
    for (const ordinal of await catalog.findHooks(owner, query.hooks)) if (ordinal !== null) wanted.add(ordinal);
    const before = this.#similarTo.get(query.previous) ?? query.previous;
    if (before !== 0) {
      const [item] = await catalog.itemsByOrdinal([before]);
      if (item !== null && item !== undefined && item.next !== 0) wanted.add(item.next);
    }
    const usable = (item: Item | null): item is Item =>
      item !== null && item.kind === "segment" && (item.verified || item.owner === owner);
    const found = (await catalog.itemsByOrdinal([...wanted].slice(0, maxSimilarSegments))).filter(usable);
    // A segment's end may have moved into the segment that follows the similar one.
    const nextOrdinals = found.map(({ next }) => next).filter((next) => next !== 0 && !wanted.has(next));
    const following =
      nextOrdinals.length === 0
        ? []
        : await catalog.itemsByOrdinal([...new Set(nextOrdinals)].slice(0, maxSimilarSegments));
    return [...found, ...following.filter(usable)];
  }

  /** Loads the block lists of a segment's frames into the block table. */
  async #load(segment: Item): Promise<void> {
    const missing = framesOf(decodeRecipe(segment.recipe))
      .filter((frame) => !this.#loaded.has(frame) && !this.#loadedBefore.has(frame))
      .slice(0, maxFramesPerSegment);
    if (missing.length === 0) return;
    for (const row of await this.#options.catalog.frames(missing)) {
      if (row === null || row.kind !== "data") continue;
      this.#loaded.add(row.frame);
      if (row.damaged) continue;
      const blockList = decodeBlockList(row.blockList);
      for (const [slot, length] of blockList.lengths.entries()) {
        if (length > 0) this.#table.set(blockList.ids, slot, row.frame, slot);
      }
    }
  }

  async #pin(frames: ReadonlySet<number>): Promise<void> {
    const asked = [...frames].filter((frame) => !this.#pinned.has(frame));
    if (asked.length === 0) return;
    if (this.#pinned.size > maxCached) this.#pinned = new Set();
    const answers = await this.#options.catalog.acquireFrames(this.#options.upload, asked);
    for (const [i, frame] of asked.entries()) (answers[i] === true ? this.#pinned : this.#refused).add(frame);
  }
}
