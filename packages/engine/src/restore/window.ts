/**
 * Plans a window of a restore: which block of which frame goes where in which file. Everything is proved here from ids
 * alone: recipe and directories against the segment ids, segment ids against the file's hash. The bytes are proved
 * against the directories when their frame is opened.
 *
 * A window is bounded by blocks and files, so a restore of any size needs the same memory. Within it, frames are read
 * once each, in the order of their place in the store.
 */

import { sameBytes } from "../bytes.ts";
import type { FrameDirectory } from "../frames/directory.ts";
import { decodeDirectory } from "../frames/directory.ts";
import { blockId, blockIdLength, fileHash, segmentId } from "../hash.ts";
import type { FrameRow, Item, VaultIndex } from "../index/port.ts";
import type { Recipe } from "../recipes.ts";
import { blocksOf, decodeRecipe, framesOf } from "../recipes.ts";
import type { FileEntry, Reference, SegmentReference } from "../trees/entry.ts";

/** About 2 GiB of files. A larger window reads fewer frames twice, but its plan grows with its blocks. */
export const maxWindowBlocks = 256 * 1024;

/** Bounds windows of tiny files, where paths and entries fill the memory. */
export const maxWindowFiles = 8192;

/** Items and frames looked up per call. */
const lookupBatch = 512;

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
  readonly pieces: readonly Piece[];
}

export interface WindowPlan {
  readonly frames: readonly FramePlan[];
  /** Files that cannot be restored, by index, and why. */
  readonly failed: ReadonlyMap<number, string>;
  /** Files that end in zeros: truncating them to their size makes the hole. */
  readonly holes: ReadonlySet<number>;
}

/** The plan for these files. `blockIdKey` is needed for the ids of zero blocks, which are stored nowhere. */
export async function planWindow(
  index: VaultIndex,
  blockIdKey: Uint8Array,
  files: readonly PlannedFile[],
): Promise<WindowPlan> {
  const items = await loadItems(index, files);
  const recipes = new Map<number, Recipe>();
  for (const [ordinal, item] of items) recipes.set(ordinal, decodeRecipe(item.recipe));
  const frames = await loadFrames(index, recipes.values());
  const planner = new Planner(items, recipes, frames, blockIdKey);
  for (const [i, file] of files.entries()) planner.file(i, file);
  return planner.plan();
}

/** Where one block is: frame 0 means zeros, stored nowhere. */
export interface Block {
  readonly frame: number;
  readonly slot: number;
  readonly bytes: number;
}

/** A segment's blocks and their ids, proved; or why it cannot be read. */
export type ProvedSegment =
  | { readonly ids: Uint8Array; readonly blocks: readonly Block[]; readonly lengths: Uint32Array }
  | string;

/** Proves single segments, for reading parts of files. */
export async function proveSegments(
  index: VaultIndex,
  blockIdKey: Uint8Array,
  references: readonly Reference[],
): Promise<ProvedSegment[]> {
  const found = await index.itemsByOrdinal(references.map(({ ordinal }) => ordinal));
  const items = new Map(found.filter((item) => item !== null).map((item) => [item.ordinal, item]));
  const recipes = new Map([...items.values()].map((item) => [item.ordinal, decodeRecipe(item.recipe)]));
  const planner = new Planner(items, recipes, await loadFrames(index, recipes.values()), blockIdKey);
  return references.map((reference) => planner.prove(reference));
}

class Planner {
  readonly #items: ReadonlyMap<number, Item>;
  readonly #recipes: ReadonlyMap<number, Recipe>;
  readonly #frames: ReadonlyMap<number, { row: FrameRow; directory: FrameDirectory }>;
  readonly #blockIdKey: Uint8Array;
  readonly #pieces = new Map<number, Piece[]>();
  readonly #failed = new Map<number, string>();
  readonly #holes = new Set<number>();
  readonly #zeroIds = new Map<number, Uint8Array>();
  readonly #proved = new Map<number, ProvedSegment>();

  constructor(
    items: ReadonlyMap<number, Item>,
    recipes: ReadonlyMap<number, Recipe>,
    frames: ReadonlyMap<number, { row: FrameRow; directory: FrameDirectory }>,
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
      const row = this.#frames.get(frame)?.row;
      if (row !== undefined) frames.push({ row, pieces });
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
      offset = this.#place(file, proved.blocks, offset);
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
    this.#place(file, proved.blocks.slice(first, first + count), 0);
    return null;
  }

  /** Adds the blocks' pieces; joins what is contiguous in both frame and file. Returns the offset after them. */
  #place(file: number, blocks: readonly Block[], start: number): number {
    let offset = start;
    for (const { frame, slot, bytes } of blocks) {
      if (frame !== 0) {
        const pieces = this.#pieces.get(frame) ?? [];
        if (pieces.length === 0) this.#pieces.set(frame, pieces);
        const last = pieces.at(-1);
        if (
          last !== undefined &&
          last.file === file &&
          last.slot + last.count === slot &&
          last.offset + last.bytes === offset
        ) {
          pieces[pieces.length - 1] = { ...last, count: last.count + 1, bytes: last.bytes + bytes };
        } else pieces.push({ file, offset, slot, count: 1, bytes });
      }
      offset += bytes;
    }
    if (blocks.at(-1)?.frame === 0) this.#holes.add(file);
    else this.#holes.delete(file);
    return offset;
  }

  /** The blocks of a segment, once recipe and directories have been shown to give its id; or why not. */
  prove(reference: Reference): ProvedSegment {
    const known = this.#proved.get(reference.ordinal);
    if (known !== undefined) return known;
    const answer = this.#proveAnew(reference);
    this.#proved.set(reference.ordinal, answer);
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
    const blocks: Block[] = [];
    for (const run of recipe) {
      const found = run.kind === "stored" ? this.#frames.get(run.frame) : null;
      if (found === undefined) return `frame ${run.kind === "stored" ? run.frame : 0} is not stored`;
      for (let i = 0; i < run.count; i++) {
        const at = blocks.length;
        const slot = run.kind === "stored" ? run.slot + i : 0;
        const bytes = found === null ? run.bytes / run.count : (found.directory.lengths[slot] ?? 0);
        const id =
          found === null
            ? this.#zeroId(bytes)
            : found.directory.ids.subarray(slot * blockIdLength, (slot + 1) * blockIdLength);
        ids.set(id, at * blockIdLength);
        lengths[at] = bytes;
        blocks.push({ frame: run.kind === "stored" ? run.frame : 0, slot, bytes });
      }
    }
    return sameBytes(segmentId(ids, lengths), reference.id)
      ? { ids, blocks, lengths }
      : "a recipe does not give its segment";
  }

  #zeroId(bytes: number): Uint8Array {
    const known = this.#zeroIds.get(bytes) ?? blockId(this.#blockIdKey, Buffer.alloc(bytes));
    this.#zeroIds.set(bytes, known);
    return known;
  }
}

async function loadItems(index: VaultIndex, files: readonly PlannedFile[]): Promise<Map<number, Item>> {
  const wanted = new Set<number>();
  for (const { entry, segments } of files) {
    if (entry.content.kind === "part") wanted.add(entry.content.segment.ordinal);
    for (const { ordinal } of segments) wanted.add(ordinal);
  }
  const items = new Map<number, Item>();
  for (const batch of batches([...wanted])) {
    for (const item of await index.itemsByOrdinal(batch)) if (item !== null) items.set(item.ordinal, item);
  }
  return items;
}

async function loadFrames(
  index: VaultIndex,
  recipes: Iterable<Recipe>,
): Promise<Map<number, { row: FrameRow; directory: FrameDirectory }>> {
  const wanted = new Set<number>();
  for (const recipe of recipes) for (const frame of framesOf(recipe)) wanted.add(frame);
  const frames = new Map<number, { row: FrameRow; directory: FrameDirectory }>();
  for (const batch of batches([...wanted])) {
    for (const row of await index.frames(batch)) {
      if (row !== null && row.kind === "data")
        frames.set(row.frame, { row, directory: decodeDirectory(row.directory) });
    }
  }
  return frames;
}

function* batches(values: readonly number[]): Generator<number[]> {
  for (let i = 0; i < values.length; i += lookupBatch) yield values.slice(i, i + lookupBatch);
}
