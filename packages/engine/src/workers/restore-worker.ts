/**
 * A restore worker: decrypts the frames of a job, checks them against the catalog and writes their blocks to files. Runs
 * in a thread or in the caller's thread.
 *
 * Decryption shows that the writer of the session encrypted these bytes as this frame. Then the frame's block list must
 * have the ids that the catalog has. If the job says so, every block is also hashed and compared with its id.
 */

import { closeSync, constants, fchmodSync, ftruncateSync, futimesSync, openSync, writeSync, writevSync } from "node:fs";
import { release, sameBytes } from "../format/bytes.ts";
import type { DataFrame } from "../format/data-frame.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { openFrame } from "../format/frame.ts";
import { blockIdLength, digestBlock, digestLength, keyBlockIds } from "../format/hash.ts";
import type { Piece } from "../restore/window.ts";
import type { FinalAttributes, JobFrame, RestoreJob, RestoreJobResult } from "./restore-job.ts";
import { decodeFileTable, decodePieces, nodeTime } from "./restore-job.ts";

/** Files that a job keeps open at a time. Adjacent frames usually belong to the same files. */
const maxOpenFiles = 64;

/** Runs one job. Damage and a full disk are not thrown; they are in the result. */
export function writeFrames(job: RestoreJob): RestoreJobResult {
  const damagedFrames: { frame: number; message: string }[] = [];
  const impureFrames: number[] = [];
  const files = new OpenFiles(job);
  for (const [at, jobFrame] of job.frames.entries()) {
    const pieces = decodePieces(jobFrame.pieces);
    const frame = openAndCheck(job, jobFrame, pieces);
    if (typeof frame === "string") damagedFrames.push({ frame: at, message: frame });
    else {
      if (!isPure(frame, jobFrame, pieces, job.blockIdKey)) impureFrames.push(at);
      files.write(frame, pieces);
      release(frame.blocks);
    }
  }
  files.close();
  release(job.sealed);
  return { job: job.job, damagedFrames, impureFrames, failedFiles: files.failed };
}

/** Opens and checks a frame. Returns a message if it is damaged. */
function openAndCheck(
  { sealed, blockIdKey }: RestoreJob,
  jobFrame: JobFrame,
  pieces: readonly Piece[],
): DataFrame | string {
  try {
    const { offset, length, key, binding } = jobFrame;
    const frame = parseDataFrame(openFrame(sealed.subarray(offset, offset + length), key, binding));
    const mismatch = findMismatch(frame, jobFrame, pieces, blockIdKey);
    if (mismatch !== null) release(frame.blocks);
    return mismatch ?? frame;
  } catch (error) {
    return messageOf(error);
  }
}

/** Checks the whole frame, or the slots that are written. Returns a message for the first difference, or null. */
function findMismatch(
  frame: DataFrame,
  { ids, lengths, hashBlocks }: JobFrame,
  pieces: readonly Piece[],
  blockIdKey: Uint8Array,
): string | null {
  const isWhole = lengths !== null && pieces.length === 0;
  const mismatch = isWhole ? checkSlots(frame, lengths, ids) : checkPieces(frame, pieces, ids);
  if (mismatch !== null || !hashBlocks) return mismatch;
  const slots = isWhole ? filledSlots(lengths) : neededSlots(pieces, ids.length / blockIdLength);
  return checkBlockIds(frame, slots, ids, blockIdKey);
}

/** Whether the blocks that are not written match the catalog too. True if they are not asked for. */
function isPure(
  frame: DataFrame,
  { ids, lengths, hashBlocks }: JobFrame,
  pieces: readonly Piece[],
  blockIdKey: Uint8Array,
): boolean {
  if (lengths === null || !hashBlocks || pieces.length === 0) return true;
  if (checkSlots(frame, lengths, ids) !== null) return false;
  const written = new Set(neededSlots(pieces, lengths.length));
  const others = filledSlots(lengths).filter((slot) => !written.has(slot));
  return checkBlockIds(frame, others, ids, blockIdKey) === null;
}

/** Checks that the frame's block list has the blocks of the pieces in the slots that the catalog names. */
function checkPieces(frame: DataFrame, pieces: readonly Piece[], ids: Uint8Array): string | null {
  const same = sameBytes(frame.blockList.ids, ids);
  for (const { slot, count, bytes } of pieces) {
    const mismatch = checkRun(frame, slot, count, bytes, same ? null : ids);
    if (mismatch !== null) return mismatch;
  }
  return null;
}

/** Checks that the frame's block list has every block of the catalog. Slots of length 0 were dropped. */
function checkSlots(frame: DataFrame, lengths: Uint32Array, ids: Uint8Array): string | null {
  const same = sameBytes(frame.blockList.ids, ids);
  for (const [slot, bytes] of lengths.entries()) {
    const mismatch = bytes === 0 ? null : checkRun(frame, slot, 1, bytes, same ? null : ids);
    if (mismatch !== null) return mismatch;
  }
  return null;
}

/** Checks consecutive slots. `ids`: the catalog's ids, or null if all ids of the frame were equal to them. */
function checkRun(
  { blockList, starts }: DataFrame,
  slot: number,
  count: number,
  bytes: number,
  ids: Uint8Array | null,
): string | null {
  if ((starts[slot + count] ?? -1) - (starts[slot] ?? 0) !== bytes)
    return `the blocks from slot ${slot} on have another length than the catalog says`;
  const [from, to] = [slot * blockIdLength, (slot + count) * blockIdLength];
  if (ids !== null && !sameBytes(blockList.ids.subarray(from, to), ids.subarray(from, to)))
    return `the id in slot ${slot} is not the catalog's`;
  return null;
}

/** Hashes the blocks in these slots and compares the results with the expected ids. */
function checkBlockIds(
  frame: DataFrame,
  slots: Uint32Array,
  expected: Uint8Array,
  blockIdKey: Uint8Array,
): string | null {
  const digests = Buffer.allocUnsafe(slots.length * digestLength);
  for (const [i, slot] of slots.entries())
    digestBlock(frame.blocks.subarray(frame.starts[slot], frame.starts[slot + 1]), digests, i);
  const ids = keyBlockIds(blockIdKey, digests);
  for (const [i, slot] of slots.entries()) {
    const wanted = expected.subarray(slot * blockIdLength, (slot + 1) * blockIdLength);
    if (!sameBytes(ids.subarray(i * blockIdLength, (i + 1) * blockIdLength), wanted))
      return `the block in slot ${slot} does not match its id`;
  }
  return null;
}

/** Every slot that is written, once: a block that many files share is hashed once. */
function neededSlots(pieces: readonly Piece[], most: number): Uint32Array {
  const needed = new Uint8Array(most);
  for (const { slot, count } of pieces) needed.fill(1, slot, slot + count);
  return Uint32Array.from(needed.keys()).filter((slot) => needed[slot] === 1);
}

function filledSlots(lengths: Uint32Array): Uint32Array {
  return Uint32Array.from(lengths.keys()).filter((slot) => (lengths[slot] ?? 0) > 0);
}

/** The files that a job writes to. After an error of the file system nothing more is written to that file. */
class OpenFiles {
  readonly #files: ReturnType<typeof decodeFileTable>;
  readonly #framesLeft: RestoreJob["framesLeft"];
  readonly #open = new Map<number, number>();
  readonly #failed = new Map<number, string>();

  constructor(job: RestoreJob) {
    this.#files = decodeFileTable(job.files);
    this.#framesLeft = job.framesLeft;
  }

  get failed(): RestoreJobResult["failedFiles"] {
    return [...this.#failed].map(([file, message]) => ({ file, message }));
  }

  /** Writes a frame's pieces. Pieces of one file are consecutive. */
  write(frame: DataFrame, pieces: readonly Piece[]): void {
    for (let at = 0; at < pieces.length; ) {
      const file = pieces[at]?.file ?? 0;
      let end = at + 1;
      while (pieces[end]?.file === file) end++;
      if (!this.#failed.has(file)) this.#try(file, () => this.#writeFile(frame, file, pieces.slice(at, end)));
      at = end;
    }
  }

  close(): void {
    for (const file of [...this.#open.keys()]) this.#try(file, () => this.#close(file));
  }

  #writeFile(frame: DataFrame, file: number, pieces: readonly Piece[]): void {
    const known = this.#files.get(file);
    if (known === undefined) throw new Error("a piece refers to an unknown file");
    const fd = this.#fd(file, known.path);
    writePieces(fd, frame, pieces);
    if (Atomics.sub(this.#framesLeft, file, 1) !== 1) return;
    setFinalAttributes(fd, known.attributes);
    this.#close(file);
  }

  #fd(file: number, path: Buffer): number {
    const known = this.#open.get(file);
    if (known !== undefined) return known;
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= maxOpenFiles) this.#try(oldest, () => this.#close(oldest));
    const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    this.#open.set(file, fd);
    return fd;
  }

  #close(file: number): void {
    const fd = this.#open.get(file);
    if (fd === undefined) return;
    this.#open.delete(file);
    closeSync(fd);
  }

  #try(file: number, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#failed.set(file, messageOf(error));
    }
  }
}

/** Writes the pieces of one file. Pieces that are adjacent in the file are written with one call. */
function writePieces(fd: number, { blocks, starts }: DataFrame, pieces: readonly Piece[]): void {
  for (let at = 0; at < pieces.length; ) {
    const offset = pieces[at]?.offset ?? 0;
    const parts: Uint8Array[] = [];
    let end = offset;
    for (; pieces[at]?.offset === end; at++) {
      const { slot, bytes } = pieces[at] ?? { slot: 0, bytes: 0 };
      const start = starts[slot] ?? 0;
      parts.push(blocks.subarray(start, start + bytes));
      end += bytes;
    }
    writeParts(fd, parts, offset, end - offset);
  }
}

function writeParts(fd: number, parts: readonly Uint8Array[], offset: number, bytes: number): void {
  let done = parts.length > 1 ? writevSync(fd, parts, offset) : 0;
  if (done === bytes) return;
  // One part, or the call wrote less than everything: write the rest part by part. A full disk fails the next call.
  let at = offset;
  for (const part of parts) {
    const skip = Math.min(done, part.length);
    done -= skip;
    for (let from = skip; from < part.length; ) from += writeSync(fd, part, from, part.length - from, at + from);
    at += part.length;
  }
}

/** Sets size (if needed), mode and time of a file whose blocks are all written. */
export function setFinalAttributes(fd: number, { mode, mtime, size }: FinalAttributes): void {
  if (size !== null) ftruncateSync(fd, size);
  fchmodSync(fd, mode);
  const time = nodeTime(mtime);
  futimesSync(fd, time, time);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
