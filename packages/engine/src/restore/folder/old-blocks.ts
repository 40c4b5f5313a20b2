/**
 * Blocks that the file which is being replaced has at the same place: they are hashed, compared with their ids, copied to the new
 * file and not fetched. Everything else of the plan stays.
 */

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, writeSync } from "node:fs";
import { sameBytes } from "../../format/bytes.ts";
import { blockIdLength, digestBlock, digestLength, keyBlockIds } from "../../format/hash.ts";
import type { FramePlan, Piece, PlannedFile, WindowPlan } from "../window.ts";

/** A file of a window that takes the place of another one. */
export interface ReplacingFile extends PlannedFile {
  readonly replaces?: Buffer | undefined;
}

interface TakenBlocks {
  /** What is still to be fetched. */
  readonly plan: WindowPlan;
  /** How many bytes were copied. */
  readonly bytes: number;
  /** Files of which the old one has every byte. */
  readonly same: readonly ReplacingFile[];
}

/** Copies what the old files have. */
export function takeOldBlocks(plan: WindowPlan, files: readonly ReplacingFile[], blockIdKey: Uint8Array): TakenBlocks {
  if (files.every(({ replaces }) => replaces === undefined)) return { plan, bytes: 0, same: [] };
  const pairs = new FilePairs(files);
  const copied = new Map<number, number>();
  let bytes = 0;
  try {
    const frames = plan.frames.map((frame): FramePlan => {
      const pieces = frame.pieces.flatMap((piece) => {
        const missing = pairs.copyPiece(piece, frame, blockIdKey);
        const found = piece.bytes - missing.reduce((sum, each) => sum + each.bytes, 0);
        copied.set(piece.file, (copied.get(piece.file) ?? 0) + found);
        bytes += found;
        return missing;
      });
      return { ...frame, pieces };
    });
    // A segment is verified only where all of its blocks are read from the store.
    const isFetched = (file: number) => files[file]?.replaces === undefined;
    const unverified = plan.unverified.filter(({ fileSets }) => fileSets.some((set) => set.every(isFetched)));
    // A hole of the snapshot is no piece: whether the old file has zeros there is not looked at.
    const same = files.filter((file, i) => (copied.get(i) ?? 0) === file.entry.size && isOldSize(file));
    return { plan: { ...plan, frames: frames.filter(({ pieces }) => pieces.length > 0), unverified }, bytes, same };
  } finally {
    pairs.close();
  }
}

function isOldSize({ replaces, entry }: ReplacingFile): boolean {
  return replaces !== undefined && lstatSync(replaces, { throwIfNoEntry: false })?.size === entry.size;
}

/** The old and the new file that blocks are copied between. Pieces of one file come one after the other: one pair is open. */
class FilePairs {
  readonly #files: readonly ReplacingFile[];
  #open: { readonly file: number; readonly from: number; readonly to: number; readonly size: number } | null = null;
  #unreadable = -1;
  #buffer = Buffer.alloc(0);

  constructor(files: readonly ReplacingFile[]) {
    this.#files = files;
  }

  /** Copies the blocks of a piece that the old file has. Returns the pieces that are still to be fetched. */
  copyPiece(piece: Piece, { ids, lengths }: FramePlan, blockIdKey: Uint8Array): readonly Piece[] {
    const pair = this.#pair(piece.file);
    if (pair === null || piece.offset >= pair.size) return [piece];
    const bytes = this.#read(pair.from, piece);
    const digests = Buffer.alloc(piece.count * digestLength);
    for (let i = 0, at = 0; i < piece.count; i++) {
      const length = lengths[piece.slot + i] ?? 0;
      digestBlock(bytes.subarray(at, at + length), digests, i);
      at += length;
    }
    const found = keyBlockIds(blockIdKey, digests);
    const missing: Piece[] = [];
    for (let i = 0, at = 0; i < piece.count; i++) {
      const [slot, length] = [piece.slot + i, lengths[piece.slot + i] ?? 0];
      const isSame = sameBytes(
        found.subarray(i * blockIdLength, (i + 1) * blockIdLength),
        ids.subarray(slot * blockIdLength, (slot + 1) * blockIdLength),
      );
      if (isSame) writeAll(pair.to, bytes.subarray(at, at + length), piece.offset + at);
      else addBlock(missing, { file: piece.file, offset: piece.offset + at, slot, count: 1, bytes: length });
      at += length;
    }
    return missing;
  }

  close(): void {
    if (this.#open === null) return;
    closeSync(this.#open.from);
    closeSync(this.#open.to);
    this.#open = null;
  }

  #pair(file: number) {
    if (this.#open?.file === file) return this.#open;
    if (this.#unreadable === file) return null;
    this.close();
    const { replaces, path } = this.#files[file] ?? {};
    if (replaces === undefined || path === undefined) return null;
    try {
      const from = openSync(replaces, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const to = openSync(Buffer.from(path), constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
      this.#open = { file, from, to, size: fstatSync(from).size };
    } catch {
      // An old file that cannot be read is no help. Everything is fetched; if the new one cannot be written, that says so.
      this.#unreadable = file;
      return null;
    }
    return this.#open;
  }

  /** The bytes of the piece in the old file. Behind its end they are zeros, which match no stored block. */
  #read(fd: number, { offset, bytes }: Piece): Buffer {
    if (this.#buffer.length < bytes) this.#buffer = Buffer.alloc(bytes);
    let at = 0;
    while (at < bytes) {
      const read = readSync(fd, this.#buffer, at, bytes - at, offset + at);
      if (read === 0) break;
      at += read;
    }
    return this.#buffer.fill(0, at, bytes).subarray(0, bytes);
  }
}

function addBlock(pieces: Piece[], block: Piece): void {
  const last = pieces.at(-1);
  if (last === undefined || last.slot + last.count !== block.slot) pieces.push(block);
  else pieces[pieces.length - 1] = { ...last, count: last.count + 1, bytes: last.bytes + block.bytes };
}

function writeAll(fd: number, bytes: Uint8Array, offset: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, offset + at);
}
