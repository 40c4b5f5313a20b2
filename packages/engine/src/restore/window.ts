/**
 * Plans a window: a bounded number of files that are read together. Restore and verification work window by window, so
 * they need the same memory for a snapshot of any size.
 *
 * In: files with the references of their segments. Out: for each frame, which of its blocks go to which offset of which
 * file. Recipes and block lists are checked against the segment ids (`resolve-segments.ts`), and the segment ids against
 * the hash of the file. Within a window each frame is read once, in the order of packs and offsets.
 */

import { setImmediate } from "node:timers/promises";
import type { FrameRow } from "../catalog/catalog.ts";
import { sameBytes } from "../format/bytes.ts";
import { blockIdLength, fileHash, segmentId } from "../format/hash.ts";
import type { FileEntry, SegmentReference } from "../format/tree-entry.ts";
import { byPlace } from "./frame-groups.ts";
import type { SegmentBlocks, SegmentLookup } from "./resolve-segments.ts";
import { loadItems, SegmentResolver } from "./resolve-segments.ts";

/** About 2 GiB of files. A larger window reads fewer frames twice, but its plan grows with its blocks. */
export const maxWindowBlocks = 256 * 1024;

/** The first window is small: workers get work early, while the next window is planned. */
export const firstWindowBlocks = 16 * 1024;

/** The limit for windows of tiny files, where paths and entries fill the memory. */
export const maxWindowFiles = 8192;

/** Blocks resolved before the event loop gets a turn: about a millisecond, so that workers do not wait for the planner. */
const blocksPerTurn = 4096;

/** A file of a window: its tree entry, and its segments where the entry does not hold them. */
export interface PlannedFile {
  readonly path: Uint8Array;
  readonly entry: FileEntry;
  readonly segments: readonly SegmentReference[];
}

/** Consecutive blocks of a frame that go to one offset of one file. */
export interface Piece {
  readonly file: number;
  readonly offset: number;
  readonly slot: number;
  readonly count: number;
  readonly bytes: number;
}

export interface FramePlan {
  readonly row: FrameRow;
  /** In the order of files and offsets. The pieces of one file follow each other. */
  readonly pieces: readonly Piece[];
  /** The block ids of the frame in the catalog, 16 bytes per slot. */
  readonly ids: Uint8Array;
  readonly lengths: Uint32Array;
  /** All segments that need the frame here are verified. */
  readonly verified: boolean;
  /** The frame has blocks of a segment that this window can verify. */
  readonly verifies: boolean;
}

export interface WindowPlan {
  readonly frames: readonly FramePlan[];
  /** Files that cannot be read, by their position in the window, and why. */
  readonly failed: ReadonlyMap<number, string>;
  /** Files that end in zeros. No block is written there: setting the file's size adds the zeros. */
  readonly endsInZeros: ReadonlySet<number>;
  /** Segments that are not verified and of which this window reads every block. */
  readonly unverified: readonly UnverifiedSegment[];
}

export interface UnverifiedSegment {
  readonly ordinal: number;
  /** The frames that have its blocks. */
  readonly frames: ReadonlySet<number>;
  /** Sets of files. The files of each set together have every block of the segment. */
  readonly fileSets: readonly (readonly number[])[];
}

/** Plans these files. `blockIdKey` gives the ids of zero blocks, which are not stored. */
export async function planWindow(
  lookup: SegmentLookup,
  blockIdKey: Uint8Array,
  files: readonly PlannedFile[],
): Promise<WindowPlan> {
  const items = await loadItems(lookup, segmentOrdinals(files));
  const resolver = await SegmentResolver.load(lookup, blockIdKey, items);
  const planner = new WindowPlanner(resolver);
  let blocks = 0;
  for (const [i, file] of files.entries()) {
    for (const reference of file.segments) {
      const segment = resolver.resolve(reference);
      if (typeof segment !== "string") blocks += segment.lengths.length;
      if (blocks < blocksPerTurn) continue;
      blocks = 0;
      await setImmediate();
    }
    planner.addFile(i, file);
    blocks += 1;
  }
  return planner.plan();
}

function segmentOrdinals(files: readonly PlannedFile[]): Set<number> {
  const ordinals = new Set<number>();
  for (const { entry, segments } of files) {
    if (entry.content.kind === "part") ordinals.add(entry.content.segment.ordinal);
    for (const { ordinal } of segments) ordinals.add(ordinal);
  }
  return ordinals;
}

/** A small file in a bundle, and how many blocks it has. */
interface BundlePart {
  readonly file: number;
  readonly count: number;
}

function storedFrames({ runs }: SegmentBlocks): ReadonlySet<number> {
  return new Set(runs.map(({ frame }) => frame).filter((frame) => frame !== 0));
}

class WindowPlanner {
  readonly #resolver: SegmentResolver;
  readonly #pieces = new Map<number, Piece[]>();
  readonly #failed = new Map<number, string>();
  readonly #endsInZeros = new Set<number>();
  /** Per segment that is not verified the files that have all of it. */
  readonly #whole = new Map<number, number[][]>();
  /** The frames of each segment that is not verified. */
  readonly #frames = new Map<number, ReadonlySet<number>>();
  /** Per bundle that is not verified its number of blocks, and the files of its parts by their first block. */
  readonly #bundles = new Map<number, { readonly blocks: number; readonly parts: Map<number, BundlePart> }>();

  constructor(resolver: SegmentResolver) {
    this.#resolver = resolver;
  }

  addFile(index: number, { entry, segments }: PlannedFile): void {
    const reason =
      entry.content.kind === "part" ? this.#addBundled(index, entry) : this.#addWhole(index, entry, segments);
    if (reason !== null) this.#failed.set(index, reason);
  }

  plan(): WindowPlan {
    const { frames: loaded, unverifiedFrames } = this.#resolver;
    const unverified = [...this.#unverified()];
    const verifying = new Set(unverified.flatMap((segment) => [...segment.frames]));
    const frames: FramePlan[] = [];
    for (const [frame, pieces] of this.#pieces) {
      const found = loaded.get(frame);
      if (found === undefined) continue;
      const [verified, verifies] = [!unverifiedFrames.has(frame), verifying.has(frame)];
      frames.push({ row: found.row, ...found.blockList, pieces, verified, verifies });
    }
    frames.sort(byPlace);
    return { frames, failed: this.#failed, endsInZeros: this.#endsInZeros, unverified };
  }

  *#unverified(): Generator<UnverifiedSegment> {
    const framesOf = (ordinal: number) => this.#frames.get(ordinal) ?? new Set<number>();
    for (const [ordinal, fileSets] of this.#whole) yield { ordinal, frames: framesOf(ordinal), fileSets };
    for (const [ordinal, { blocks, parts }] of this.#bundles) {
      const all = [...parts.values()];
      // Parts may overlap, so blocks are counted once each.
      const covered = new Uint8Array(blocks);
      for (const [first, { count }] of parts) covered.fill(1, first, first + count);
      if (covered.every((isCovered) => isCovered === 1))
        yield { ordinal, frames: framesOf(ordinal), fileSets: [all.map(({ file }) => file)] };
    }
  }

  /** Adds a file of whole segments. Returns why the file cannot be read, or null. */
  #addWhole(file: number, entry: FileEntry, segments: readonly SegmentReference[]): string | null {
    const ids = segments.map(({ id }) => id);
    if (!sameBytes(fileHash(entry.size, ids), entry.hash)) return "its segments do not match its hash";
    let offset = 0;
    for (const reference of segments) {
      const segment = this.#resolver.resolve(reference);
      if (typeof segment === "string") return segment;
      offset = this.#addBlocks(file, segment, 0, segment.lengths.length, offset);
      if (this.#resolver.isVerified(reference.ordinal)) continue;
      this.#noteFrames(reference.ordinal, segment);
      this.#whole.set(reference.ordinal, [...(this.#whole.get(reference.ordinal) ?? []), [file]]);
    }
    return offset === entry.size ? null : "its segments do not match its size";
  }

  /** Adds a small file that shares a segment with others. Returns why the file cannot be read, or null. */
  #addBundled(file: number, entry: FileEntry): string | null {
    if (entry.content.kind !== "part") return "not a part";
    const { segment: reference, first, count } = entry.content;
    const segment = this.#resolver.resolve(reference);
    if (typeof segment === "string") return segment;
    if (first + count > segment.lengths.length) return "its part is longer than its bundle";
    const ids = segment.ids.subarray(first * blockIdLength, (first + count) * blockIdLength);
    const ownId = segmentId(ids, segment.lengths.slice(first, first + count));
    if (!sameBytes(fileHash(entry.size, [ownId]), entry.hash)) return "its blocks do not match its hash";
    this.#addBlocks(file, segment, first, first + count, 0);
    if (this.#resolver.isVerified(reference.ordinal)) return null;
    const bundle = this.#bundles.get(reference.ordinal) ?? { blocks: segment.lengths.length, parts: new Map() };
    this.#noteFrames(reference.ordinal, segment);
    bundle.parts.set(first, { file, count });
    this.#bundles.set(reference.ordinal, bundle);
    return null;
  }

  /** Once per segment: a bundle has hundreds of files, and perhaps as many runs. */
  #noteFrames(ordinal: number, segment: SegmentBlocks): void {
    if (!this.#frames.has(ordinal)) this.#frames.set(ordinal, storedFrames(segment));
  }

  /** Adds the pieces of blocks `first` to `end` of a segment. Returns the file's offset after them. */
  #addBlocks(file: number, segment: SegmentBlocks, first: number, end: number, start: number): number {
    let offset = start;
    let at = 0;
    let last = -1;
    for (const run of segment.runs) {
      const from = Math.max(first, at);
      const to = Math.min(end, at + run.count);
      if (from < to) {
        let bytes = 0;
        for (let i = from; i < to; i++) bytes += segment.lengths[i] ?? 0;
        if (run.frame !== 0) this.#addPiece(run.frame, file, offset, run.slot + from - at, to - from, bytes);
        offset += bytes;
        last = run.frame;
      }
      at += run.count;
    }
    if (last === 0) this.#endsInZeros.add(file);
    else this.#endsInZeros.delete(file);
    return offset;
  }

  /** Adds a piece, or extends the piece before where it ends at the same slot and the same offset. */
  #addPiece(frame: number, file: number, offset: number, slot: number, count: number, bytes: number): void {
    const pieces = this.#pieces.get(frame) ?? [];
    if (pieces.length === 0) this.#pieces.set(frame, pieces);
    const last = pieces.at(-1);
    const continued =
      last?.file === file && last.slot + last.count === slot && last.offset + last.bytes === offset ? last : null;
    if (continued === null) pieces.push({ file, offset, slot, count, bytes });
    else pieces[pieces.length - 1] = { ...continued, count: continued.count + count, bytes: continued.bytes + bytes };
  }
}
