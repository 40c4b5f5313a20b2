/**
 * Finds stored blocks for new segments without an index of blocks (sparse indexing, Lillibridge et al., FAST 2009).
 *
 * A segment's *relatives* are looked for, in this order: what stood at its place in the previous version, what shares
 * one of its hooks (its smallest block ids), what follows the relative of the segment before it, and what follows each
 * of these: where blocks changed, segments end elsewhere than they did. The block lists of a relative's frames go into
 * the block table; every block is then looked up there. A frame's whole block list goes in, not only the relative's own
 * slots, so neighbours are found as well.
 */

import type { Catalog, Item } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { blockIdLength } from "../format/hash.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import { BlockTable } from "./block-table.ts";
import type { SegmentMatch, SegmentQuery } from "./upload-target.ts";

/** Frames of one relative whose block lists are loaded. Few are spread wider, and relaying gathers what is theirs alone. */
const maxFramesPerRelative = 24;

/** Relatives tried per segment, and as many that follow them; more find next to nothing. */
const maxRelatives = 8;

/**
 * Hooks of a segment. After a catalog rebuild a third of a database's pages are new: with two hooks a tenth of the
 * segments has lost both and stores its old pages again; with four hardly any (docs/decisions/0117).
 */
const hooksPerSegment = 4;

/** Remembered relatives and pinned frames; beyond this they are simply asked for again. */
const maxRemembered = 1 << 16;

export interface MatcherScope {
  readonly catalog: Catalog;
  readonly upload: string;
  readonly owner: string;
}

export class Matcher {
  readonly #scope: MatcherScope;
  readonly #table: BlockTable;
  readonly #relativeOf = new Map<number, number>();
  #loaded = new Set<number>();
  #loadedBefore = new Set<number>();
  #pinned = new Set<number>();
  #refused = new Set<number>();

  constructor(scope: MatcherScope, tableCapacity?: number) {
    this.#scope = scope;
    this.#table = new BlockTable(tableCapacity, () => {
      this.#loadedBefore = this.#loaded;
      this.#loaded = new Set();
    });
  }

  async match(query: SegmentQuery): Promise<SegmentMatch> {
    const relatives = await this.#relatives(query);
    for (const relative of relatives) await this.#load(relative);
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
    return { frames, slots, relative: relatives[0]?.ordinal ?? 0 };
  }

  /** Remembers a new segment's relative: the segment after it will look at what follows there. */
  remember(ordinal: number, relative: number): void {
    if (relative === 0) return;
    if (this.#relativeOf.size >= maxRemembered) this.#relativeOf.clear();
    this.#relativeOf.set(ordinal, relative);
  }

  async #relatives(query: SegmentQuery): Promise<Item[]> {
    const { catalog, owner } = this.#scope;
    const wanted = new Set<number>(query.hints);
    for (const ordinal of await catalog.findHooks(owner, query.hooks)) if (ordinal !== null) wanted.add(ordinal);
    const before = this.#relativeOf.get(query.previous) ?? query.previous;
    if (before !== 0) {
      const [item] = await catalog.itemsByOrdinal([before]);
      if (item !== null && item !== undefined && item.next !== 0) wanted.add(item.next);
    }
    const usable = (item: Item | null): item is Item =>
      item !== null && item.kind === "segment" && (item.verified || item.owner === owner);
    const found = (await catalog.itemsByOrdinal([...wanted].slice(0, maxRelatives))).filter(usable);
    // A segment's end may have moved into what followed its relative.
    const behind = found.map(({ next }) => next).filter((next) => next !== 0 && !wanted.has(next));
    const following =
      behind.length === 0 ? [] : await catalog.itemsByOrdinal([...new Set(behind)].slice(0, maxRelatives));
    return [...found, ...following.filter(usable)];
  }

  async #load(relative: Item): Promise<void> {
    const missing = framesOf(decodeRecipe(relative.recipe))
      .filter((frame) => !this.#loaded.has(frame) && !this.#loadedBefore.has(frame))
      .slice(0, maxFramesPerRelative);
    if (missing.length === 0) return;
    for (const row of await this.#scope.catalog.frames(missing)) {
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
    if (this.#pinned.size > maxRemembered) this.#pinned = new Set();
    const answers = await this.#scope.catalog.acquireFrames(this.#scope.upload, asked);
    for (const [i, frame] of asked.entries()) (answers[i] === true ? this.#pinned : this.#refused).add(frame);
  }
}

/**
 * The smallest ids of a list of blocks, at most `most`, as hooks. Zero blocks are everywhere and say nothing, and an id
 * that is there twice is one hook.
 */
export function hooksOf(
  ids: Uint8Array,
  zeros: Uint8Array,
  first: number,
  count: number,
  most = hooksPerSegment,
): bigint[] {
  const view = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  // In ascending order; a list this short is kept sorted faster than a heap.
  const keys: number[] = [];
  const places: number[] = [];
  // The first byte tells nearly all blocks that are not among the smallest.
  let largestFirst = 255;
  for (let i = first; i < first + count; i++) {
    if ((view[i * blockIdLength] ?? 0) > largestFirst || zeros[i] === 1) continue;
    const key = view.readUIntBE(i * blockIdLength, 6);
    if (keys.length === most && key >= (keys[most - 1] ?? 0)) continue;
    const at = keys.findIndex((each) => each >= key);
    if (keys[at] === key) continue;
    keys.splice(at < 0 ? keys.length : at, 0, key);
    places.splice(at < 0 ? places.length : at, 0, i);
    keys.length = Math.min(keys.length, most);
    places.length = keys.length;
    if (keys.length === most) largestFirst = view[(places[most - 1] ?? 0) * blockIdLength] ?? 0;
  }
  return places.map((i) => view.readBigInt64LE(i * blockIdLength));
}
