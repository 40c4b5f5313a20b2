/**
 * Plans a window of a restore: which block of which frame goes where in which file. Everything is proved here from ids
 * alone: recipe and block lists against the segment ids, segment ids against the file's hash. The bytes are proved
 * against the block lists when their frame is opened.
 *
 * A window is bounded by blocks and files, so a restore of any size needs the same memory. Within it, frames are read
 * once each, in the order of their place in the store.
 */

import { setImmediate } from "node:timers/promises";
import type { Catalog, FrameRow, Item } from "../catalog/catalog.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { sameBytes } from "../format/bytes.ts";
import { blockId, blockIdLength, fileHash, segmentId } from "../format/hash.ts";
import type { Recipe, Run } from "../format/recipe.ts";
import { blocksOf, decodeRecipe, framesOf } from "../format/recipe.ts";
import type { FileEntry, Reference, SegmentReference } from "../format/tree-entry.ts";

/** About 2 GiB of files. A larger window reads fewer frames twice, but its plan grows with its blocks. */
export const maxWindowBlocks = 256 * 1024;

/** The first window is small, so that workers have something to do while the next, large one is planned. */
export const firstWindowBlocks = 16 * 1024;

/** Bounds windows of tiny files, where paths and entries fill the memory. */
export const maxWindowFiles = 8192;

/** Items and frames looked up per call. */
const lookupBatch = 512;

/** Blocks proved before others get their turn: about a millisecond, so that threads never wait for a plan. */
const blocksPerTurn = 4096;

/** A file to be restored: the entry, and its segments when they are not in the entry. */
export interface PlannedFile {
  readonly path: Uint8Array;
  readonly entry: FileEntry;
  readonly segments: readonly SegmentReference[];
}

/** A piece of a frame that goes to one place of one file. */
export interface Piece {
  readonly file: number;
  readonly offset: number;
  readonly slot: number;
  readonly count: number;
  readonly bytes: number;
}

export interface FramePlan {
  readonly row: FrameRow;
  /** In the order of files and offsets: the pieces of one file stand together. */
  readonly pieces: readonly Piece[];
  /** 16 bytes per slot: what the catalog says the frame holds. */
  readonly ids: Uint8Array;
  /** Every segment that needs the frame here has been verified: all the frame's blocks were compared with their ids. */
  readonly verified: boolean;
}

export interface WindowPlan {
  readonly frames: readonly FramePlan[];
  /** Files that cannot be restored, by catalog, and why. */
  readonly failed: ReadonlyMap<number, string>;
  /** Files that end in zeros: truncating them to their size makes the hole. */
  readonly holes: ReadonlySet<number>;
}

/** The plan for these files. `blockIdKey` is needed for the ids of zero blocks, which are stored nowhere. */
export async function planWindow(
  catalog: Catalog,
  blockIdKey: Uint8Array,
  files: readonly PlannedFile[],
): Promise<WindowPlan> {
  const items = await loadItems(catalog, files);
  const recipes = new Map<number, Recipe>();
  for (const [ordinal, item] of items) recipes.set(ordinal, decodeRecipe(item.recipe));
  const frames = await loadFrames(catalog, recipes.values());
  const planner = new Planner(items, recipes, frames, blockIdKey);
  let blocks = 0;
  for (const [i, file] of files.entries()) {
    for (const reference of file.segments) {
      const proved = planner.prove(reference);
      if (typeof proved !== "string") blocks += proved.lengths.length;
      if (blocks < blocksPerTurn) continue;
      blocks = 0;
      await setImmediate();
    }
    planner.file(i, file);
    blocks += 1;
  }
  return planner.plan();
}

/** Consecutive slots of a frame, or zeros (frame 0), stored nowhere. */
export interface SlotRun {
  readonly frame: number;
  readonly slot: number;
  readonly count: number;
}

/** A segment's runs of blocks, their ids and lengths, proved; or why it cannot be read. */
export type ProvedSegment =
  | { readonly ids: Uint8Array; readonly runs: readonly SlotRun[]; readonly lengths: Uint32Array }
  | string;

/** Proves single segments, for reading parts of files. */
export async function proveSegments(
  catalog: Catalog,
  blockIdKey: Uint8Array,
  references: readonly Reference[],
): Promise<ProvedSegment[]> {
  const found = await catalog.itemsByOrdinal(references.map(({ ordinal }) => ordinal));
  return proveItems(
    catalog,
    blockIdKey,
    found.filter((item) => item !== null),
    references,
  );
}

/** The same by items that are at hand: `references` are theirs if left out. */
export async function proveItems(
  catalog: Catalog,
  blockIdKey: Uint8Array,
  items: readonly Item[],
  references: readonly Reference[] = items,
): Promise<ProvedSegment[]> {
  const recipes = new Map(items.map((item) => [item.ordinal, decodeRecipe(item.recipe)]));
  const byOrdinal = new Map(items.map((item) => [item.ordinal, item]));
  const planner = new Planner(byOrdinal, recipes, await loadFrames(catalog, recipes.values()), blockIdKey);
  return references.map((reference) => planner.prove(reference));
}

class Planner {
  readonly #items: ReadonlyMap<number, Item>;
  readonly #recipes: ReadonlyMap<number, Recipe>;
  readonly #frames: ReadonlyMap<number, { row: FrameRow; blockList: BlockList }>;
  readonly #blockIdKey: Uint8Array;
  readonly #pieces = new Map<number, Piece[]>();
  readonly #failed = new Map<number, string>();
  readonly #holes = new Set<number>();
  readonly #zeroIds = new Map<number, Uint8Array>();
  readonly #proved = new Map<number, { readonly id: Uint8Array; readonly answer: ProvedSegment }>();
  /** Frames under segments that nobody has verified. */
  readonly #claimed = new Set<number>();

  constructor(
    items: ReadonlyMap<number, Item>,
    recipes: ReadonlyMap<number, Recipe>,
    frames: ReadonlyMap<number, { row: FrameRow; blockList: BlockList }>,
    blockIdKey: Uint8Array,
  ) {
    this.#items = items;
    this.#recipes = recipes;
    this.#frames = frames;
    this.#blockIdKey = blockIdKey;
  }

  file(index: number, { entry, segments }: PlannedFile): void {
    const reason = entry.content.kind === "part" ? this.#part(index, entry) : this.#whole(index, entry, segments);
    if (reason !== null) this.#failed.set(index, reason);
  }

  plan(): WindowPlan {
    const frames: FramePlan[] = [];
    for (const [frame, pieces] of this.#pieces) {
      const found = this.#frames.get(frame);
      if (found === undefined) continue;
      frames.push({ row: found.row, ids: found.blockList.ids, pieces, verified: !this.#claimed.has(frame) });
    }
    frames.sort((a, b) => (a.row.pack < b.row.pack ? -1 : a.row.pack > b.row.pack ? 1 : a.row.offset - b.row.offset));
    return { frames, failed: this.#failed, holes: this.#holes };
  }

  #whole(file: number, entry: FileEntry, segments: readonly SegmentReference[]): string | null {
    if (
      !sameBytes(
        fileHash(
          entry.size,
          segments.map(({ id }) => id),
        ),
        entry.hash,
      )
    )
      return "its segments do not match its hash";
    let offset = 0;
    for (const reference of segments) {
      const proved = this.prove(reference);
      if (typeof proved === "string") return proved;
      offset = this.#place(file, proved, 0, proved.lengths.length, offset);
    }
    return offset === entry.size ? null : "its segments do not match its size";
  }

  #part(file: number, entry: FileEntry): string | null {
    if (entry.content.kind !== "part") return "not a part";
    const { segment, first, count } = entry.content;
    const proved = this.prove(segment);
    if (typeof proved === "string") return proved;
    const ids = proved.ids.subarray(first * blockIdLength, (first + count) * blockIdLength);
    const own = segmentId(ids, proved.lengths.slice(first, first + count));
    if (!sameBytes(fileHash(entry.size, [own]), entry.hash)) return "its blocks do not match its hash";
    this.#place(file, proved, first, first + count, 0);
    return null;
  }

  /** Adds the pieces of blocks `first` to `end` of a segment. Returns the file's offset after them. */
  #place(file: number, segment: Exclude<ProvedSegment, string>, first: number, end: number, start: number): number {
    let offset = start;
    let at = 0;
    let last = -1;
    for (const run of segment.runs) {
      const from = Math.max(first, at);
      const to = Math.min(end, at + run.count);
      if (from < to) {
        let bytes = 0;
        for (let i = from; i < to; i++) bytes += segment.lengths[i] ?? 0;
        if (run.frame !== 0) this.#piece(run.frame, file, offset, run.slot + from - at, to - from, bytes);
        offset += bytes;
        last = run.frame;
      }
      at += run.count;
    }
    if (last === 0) this.#holes.add(file);
    else this.#holes.delete(file);
    return offset;
  }

  /** Adds a piece, or lengthens the one before where both frame and file go on. */
  #piece(frame: number, file: number, offset: number, slot: number, count: number, bytes: number): void {
    const pieces = this.#pieces.get(frame) ?? [];
    if (pieces.length === 0) this.#pieces.set(frame, pieces);
    const last = pieces.at(-1);
    const goesOn =
      last?.file === file && last.slot + last.count === slot && last.offset + last.bytes === offset ? last : null;
    if (goesOn === null) pieces.push({ file, offset, slot, count, bytes });
    else pieces[pieces.length - 1] = { ...goesOn, count: goesOn.count + count, bytes: goesOn.bytes + bytes };
  }

  /** The blocks of a segment, once recipe and block lists have been shown to give its id; or why not. */
  prove(reference: Reference): ProvedSegment {
    const known = this.#proved.get(reference.ordinal);
    // A tree may name one ordinal with two ids: what was proved of the one says nothing about the other.
    if (known !== undefined && sameBytes(known.id, reference.id)) return known.answer;
    const answer = this.#proveAnew(reference);
    this.#proved.set(reference.ordinal, { id: reference.id, answer });
    return answer;
  }

  #proveAnew(reference: Reference): ProvedSegment {
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
      const reason = run.kind === "zeros" ? this.#zeros(run, ids, lengths, at) : this.#stored(run, ids, lengths, at);
      if (reason !== null) return reason;
      runs.push(
        run.kind === "zeros"
          ? { frame: 0, slot: 0, count: run.count }
          : { frame: run.frame, slot: run.slot, count: run.count },
      );
      if (run.kind === "stored" && !item.verified) this.#claimed.add(run.frame);
      at += run.count;
    }
    return sameBytes(segmentId(ids, lengths), reference.id)
      ? { ids, runs, lengths }
      : "a recipe does not give its segment";
  }

  #zeros(run: Run, ids: Uint8Array, lengths: Uint32Array, at: number): null {
    const bytes = run.bytes / run.count;
    lengths.fill(bytes, at, at + run.count);
    for (let i = at; i < at + run.count; i++) ids.set(this.#zeroId(bytes), i * blockIdLength);
    return null;
  }

  #stored(run: Run & { kind: "stored" }, ids: Uint8Array, lengths: Uint32Array, at: number): string | null {
    const blockList = this.#frames.get(run.frame)?.blockList;
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

async function loadItems(catalog: Catalog, files: readonly PlannedFile[]): Promise<Map<number, Item>> {
  const wanted = new Set<number>();
  for (const { entry, segments } of files) {
    if (entry.content.kind === "part") wanted.add(entry.content.segment.ordinal);
    for (const { ordinal } of segments) wanted.add(ordinal);
  }
  const items = new Map<number, Item>();
  for (const batch of batches([...wanted])) {
    for (const item of await catalog.itemsByOrdinal(batch)) if (item !== null) items.set(item.ordinal, item);
  }
  return items;
}

async function loadFrames(
  catalog: Catalog,
  recipes: Iterable<Recipe>,
): Promise<Map<number, { row: FrameRow; blockList: BlockList }>> {
  const wanted = new Set<number>();
  for (const recipe of recipes) for (const frame of framesOf(recipe)) wanted.add(frame);
  const frames = new Map<number, { row: FrameRow; blockList: BlockList }>();
  for (const batch of batches([...wanted])) {
    for (const row of await catalog.frames(batch)) {
      if (row !== null && row.kind === "data")
        frames.set(row.frame, { row, blockList: decodeBlockList(row.blockList) });
    }
  }
  return frames;
}

function* batches(values: readonly number[]): Generator<number[]> {
  for (let i = 0; i < values.length; i += lookupBatch) yield values.slice(i, i + lookupBatch);
}
