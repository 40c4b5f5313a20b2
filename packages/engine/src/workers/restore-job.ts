/**
 * What a restore worker is given: one stretch of a pack, the frames in it, and where their blocks go. A job crosses to
 * another thread, and thousands of small objects would cost more there than the writing: so numbers travel in typed arrays
 * and paths as one run of bytes. The sealed bytes are handed over, not copied.
 *
 * A file may be written by several jobs in any order and in several threads. `left` is shared by all jobs of a window: how
 * many frames each file still waits for. Whoever takes it to zero finishes the file: size, mode and time.
 */

import type { FileEntry } from "../format/tree-entry.ts";
import type { FramePlan, Piece } from "../restore/window.ts";

/** What a file gets when its last byte is written. */
export interface Finish {
  readonly mode: number;
  readonly mtime: number;
  /** Set where the file ends in zeros that nobody writes: its size makes the hole. */
  readonly size: number | null;
}

/** A frame inside a job's sealed bytes. */
export interface FrameTask {
  readonly offset: number;
  readonly length: number;
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
  /** 16 bytes per slot: what the block list in the catalog says. */
  readonly ids: Uint8Array;
  /** Compare every block with its id: its sealer's word is not enough. */
  readonly prove: boolean;
  readonly pieces: Float64Array;
  /** Every slot's length where all of the frame is compared, whatever is written of it; null: what is written is. */
  readonly lengths: Uint32Array | null;
}

/** The files of a job: number in the window, path and finish of each. */
export interface FileTable {
  readonly numbers: Uint32Array;
  readonly paths: Uint8Array;
  /** Where each path ends in `paths`. */
  readonly ends: Uint32Array;
  /** Mode, time and size of each; size −1 where it need not be set. */
  readonly facts: Float64Array;
}

export interface RestoreJob {
  readonly job: number;
  readonly sealed: Uint8Array;
  readonly blockIdKey: Uint8Array;
  readonly frames: readonly FrameTask[];
  readonly files: FileTable;
  /** Shared between threads: frames that each file of the window still waits for. */
  readonly left: Int32Array<SharedArrayBuffer>;
}

/** Of a job that only compares. */
export const noFiles: Pick<RestoreJob, "files" | "left"> = {
  files: {
    numbers: new Uint32Array(0),
    paths: new Uint8Array(0),
    ends: new Uint32Array(0),
    facts: new Float64Array(0),
  },
  left: new Int32Array(new SharedArrayBuffer(0)),
};

export interface RestoreJobResult {
  readonly job: number;
  /** Frames, by their place in the job, that are not what the catalog says, and how. */
  readonly damaged: readonly { readonly frame: number; readonly message: string }[];
  /** Files, by their number in the window, that the file system refused, and why. */
  readonly refused: readonly { readonly file: number; readonly message: string }[];
}

/** Numbers per piece in a task: file, offset in the file, slot, count, bytes. */
const pieceFields = 5;
const factFields = 3;

/** A frame's pieces as numbers. */
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

/** The pieces again. */
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

/** The table of the files that these frames write to. */
export function encodeFileTable(
  frames: readonly Pick<FramePlan, "pieces">[],
  fileOf: (file: number) => { readonly path: Uint8Array; readonly finish: Finish },
): FileTable {
  const numbers = new Set<number>();
  for (const { pieces } of frames) for (const { file } of pieces) numbers.add(file);
  const files = [...numbers].map(fileOf);
  const ends = new Uint32Array(files.length);
  const facts = new Float64Array(files.length * factFields);
  let end = 0;
  for (const [i, { path, finish }] of files.entries()) {
    end += path.length;
    ends[i] = end;
    facts.set([finish.mode, finish.mtime, finish.size ?? -1], i * factFields);
  }
  const paths = Buffer.allocUnsafeSlow(end);
  for (const [i, { path }] of files.entries()) paths.set(path, (ends[i] ?? 0) - path.length);
  return { numbers: Uint32Array.from(numbers), paths, ends, facts };
}

/** Each file of a table by its number in the window. */
export function decodeFileTable(table: FileTable): Map<number, { readonly path: Buffer; readonly finish: Finish }> {
  const files = new Map<number, { path: Buffer; finish: Finish }>();
  const bytes = Buffer.from(table.paths.buffer, table.paths.byteOffset, table.paths.byteLength);
  let start = 0;
  for (const [i, number] of table.numbers.entries()) {
    const end = table.ends[i] ?? start;
    const [mode = 0, mtime = 0, size = -1] = table.facts.subarray(i * factFields, (i + 1) * factFields);
    files.set(number, { path: bytes.subarray(start, end), finish: { mode, mtime, size: size < 0 ? null : size } });
    start = end;
  }
  return files;
}

/**
 * A file's time as Node takes it: seconds in a double, of which some versions keep whole microseconds only. A double of
 * this century is up to an eighth of a microsecond off (a quarter from 2038 on): what would end in another microsecond
 * is moved towards the middle of its own. So a restored file has its microsecond (from 1970 to 2106), and a whole second
 * exactly.
 */
export function restoredMtime({ mtimeSeconds, mtimeNanos }: Pick<FileEntry, "mtimeSeconds" | "mtimeNanos">): number {
  const time = mtimeSeconds + mtimeNanos / 1e9;
  const micros = Math.floor(mtimeNanos / 1000);
  const isKept =
    Math.floor((time - mtimeSeconds) * 1e6) === micros && Math.floor(time * 1e6) === mtimeSeconds * 1e6 + micros;
  if (isKept) return time;
  const beyond = Math.min(Math.max(mtimeNanos % 1000, 250), 750);
  return mtimeSeconds + (micros * 1000 + beyond) / 1e9;
}

/** Node reads a negative number as "now"; as text it is the time before 1970 that it says. */
export function nodeTime(time: number): number | string {
  return time < 0 ? String(time) : time;
}
