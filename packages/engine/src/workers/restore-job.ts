/**
 * A job of a restore worker: adjacent frames of a pack, and where their blocks are written. A job is sent to another
 * thread. Copying thousands of small objects there would cost more than writing the files, so numbers are in typed arrays
 * and all paths in one byte array. The encrypted bytes are transferred, not copied.
 *
 * A file may be written by several jobs, in any order and in several threads. `framesLeft` is shared by all jobs of a
 * window: how many frames each file still waits for. The worker that counts a file down to zero sets its size, mode and
 * time.
 */

import type { FileEntry } from "../format/tree-entry.ts";
import type { FramePlan, Piece } from "../restore/window.ts";

/** What is set on a file when its last block is written. */
export interface FinalAttributes {
  readonly mode: number;
  readonly mtime: number;
  /** Not null if the file ends in zeros, which are not written: setting the size makes a hole. */
  readonly size: number | null;
}

/** A frame of a job, and where it is in the job's encrypted bytes. */
export interface JobFrame {
  readonly offset: number;
  readonly length: number;
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
  /** 16 bytes per slot: the ids of the catalog's block list. */
  readonly ids: Uint8Array;
  /** Hash every block and compare it with its id. False if the segments are verified. */
  readonly hashBlocks: boolean;
  readonly pieces: Float64Array;
  /**
   * Every slot's length, if the whole frame is checked; null: only the slots that are written are checked. With pieces, a wrong
   * slot that is not written makes the frame impure and not damaged.
   */
  readonly lengths: Uint32Array | null;
}

/** The files of a job: number in the window, path and attributes of each. */
export interface FileTable {
  readonly numbers: Uint32Array;
  readonly paths: Uint8Array;
  /** Where each path ends in `paths`. */
  readonly ends: Uint32Array;
  /** Mode, time and size of each; size −1 if it need not be set. */
  readonly attributes: Float64Array;
}

export interface RestoreJob {
  readonly job: number;
  readonly sealed: Uint8Array;
  readonly blockIdKey: Uint8Array;
  readonly frames: readonly JobFrame[];
  readonly files: FileTable;
  /** Shared between threads: frames that each file of the window still waits for. */
  readonly framesLeft: Int32Array<SharedArrayBuffer>;
}

/** For a job that writes no file and only checks frames. */
export const noFiles: Pick<RestoreJob, "files" | "framesLeft"> = {
  files: {
    numbers: new Uint32Array(0),
    paths: new Uint8Array(0),
    ends: new Uint32Array(0),
    attributes: new Float64Array(0),
  },
  framesLeft: new Int32Array(new SharedArrayBuffer(0)),
};

export interface RestoreJobResult {
  readonly job: number;
  /** Frames, by their index in the job, that differ from the catalog, and how. */
  readonly damagedFrames: readonly { readonly frame: number; readonly message: string }[];
  /** Frames, by their index in the job, with wrong blocks that the job did not need. */
  readonly impureFrames: readonly number[];
  /** Files, by their number in the window, that could not be written, and why. */
  readonly failedFiles: readonly { readonly file: number; readonly message: string }[];
}

/** Numbers per encoded piece: file, offset in the file, slot, count, bytes. */
const pieceFields = 5;
/** Numbers per encoded file: mode, time, size. */
const attributeFields = 3;

/** Encodes a frame's pieces as numbers. */
export function encodePieces(pieces: readonly Piece[]): Float64Array {
  const packed = new Float64Array(pieces.length * pieceFields);
  let at = 0;
  for (const { file, offset, slot, count, bytes } of pieces) {
    packed[at] = file;
    packed[at + 1] = offset;
    packed[at + 2] = slot;
    packed[at + 3] = count;
    packed[at + 4] = bytes;
    at += pieceFields;
  }
  return packed;
}

export function decodePieces(packed: Float64Array): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < packed.length; at += pieceFields) {
    pieces.push({
      file: packed[at] ?? 0,
      offset: packed[at + 1] ?? 0,
      slot: packed[at + 2] ?? 0,
      count: packed[at + 3] ?? 0,
      bytes: packed[at + 4] ?? 0,
    });
  }
  return pieces;
}

/** Encodes the files that these frames are written to. */
export function encodeFileTable(
  frames: readonly Pick<FramePlan, "pieces">[],
  fileOf: (file: number) => { readonly path: Uint8Array; readonly attributes: FinalAttributes },
): FileTable {
  const numbers = new Set<number>();
  for (const { pieces } of frames) for (const { file } of pieces) numbers.add(file);
  const files = [...numbers].map(fileOf);
  const ends = new Uint32Array(files.length);
  const attributes = new Float64Array(files.length * attributeFields);
  let end = 0;
  for (const [i, { path, attributes: own }] of files.entries()) {
    end += path.length;
    ends[i] = end;
    attributes.set([own.mode, own.mtime, own.size ?? -1], i * attributeFields);
  }
  const paths = Buffer.allocUnsafeSlow(end);
  for (const [i, { path }] of files.entries()) paths.set(path, (ends[i] ?? 0) - path.length);
  return { numbers: Uint32Array.from(numbers), paths, ends, attributes };
}

/** Decodes a file table: files by their number in the window. */
export function decodeFileTable(
  table: FileTable,
): Map<number, { readonly path: Buffer; readonly attributes: FinalAttributes }> {
  const files = new Map<number, { path: Buffer; attributes: FinalAttributes }>();
  const bytes = Buffer.from(table.paths.buffer, table.paths.byteOffset, table.paths.byteLength);
  let start = 0;
  for (const [i, number] of table.numbers.entries()) {
    const end = table.ends[i] ?? start;
    const [mode = 0, mtime = 0, size = -1] = table.attributes.subarray(i * attributeFields, (i + 1) * attributeFields);
    const attributes = { mode, mtime, size: size < 0 ? null : size };
    files.set(number, { path: bytes.subarray(start, end), attributes });
    start = end;
  }
  return files;
}

/**
 * A file's modification time for Node: seconds as a double. Some versions of Node cut it to whole microseconds. A double
 * of this century is inexact by up to an eighth of a microsecond (a quarter from 2038 on), so cutting can give the
 * microsecond before or after. Such a time is moved towards the middle of its microsecond. So a restored time has the
 * right microsecond (from 1970 to 2106), and a whole second is exact.
 */
export function restoredMtime({ mtimeSeconds, mtimeNanos }: Pick<FileEntry, "mtimeSeconds" | "mtimeNanos">): number {
  const time = mtimeSeconds + mtimeNanos / 1e9;
  const micros = Math.floor(mtimeNanos / 1000);
  const isKept =
    Math.floor((time - mtimeSeconds) * 1e6) === micros && Math.floor(time * 1e6) === mtimeSeconds * 1e6 + micros;
  if (isKept) return time;
  const nanos = Math.min(Math.max(mtimeNanos % 1000, 250), 750);
  return mtimeSeconds + (micros * 1000 + nanos) / 1e9;
}

/** Node takes a negative number as "now". As a string it is a time before 1970. */
export function nodeTime(time: number): number | string {
  return time < 0 ? String(time) : time;
}
