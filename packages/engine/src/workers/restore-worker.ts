/**
 * What a restore worker does: opens the sealed frames of a job, compares what they hold with what the catalog says, and
 * writes the blocks to their files. Runs in a thread or in the caller's own.
 *
 * Opening proves that the bytes are what the session's writer sealed as this very frame. Its own block list must then name
 * the blocks that the catalog names. Whether each block is also hashed and compared with its id, the job says.
 */

import { closeSync, constants, fchmodSync, ftruncateSync, futimesSync, openSync, writeSync, writevSync } from "node:fs";
import { release, sameBytes } from "../format/bytes.ts";
import type { DataFrame } from "../format/data-frame.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { openFrame } from "../format/frame.ts";
import { blockIdLength, digestBlock, digestLength, keyBlockIds } from "../format/hash.ts";
import type { Piece } from "../restore/window.ts";
import type { Finish, FrameTask, RestoreJob, RestoreJobResult } from "./restore-job.ts";
import { decodeFileTable, decodePieces, nodeTime } from "./restore-job.ts";

/** Files that a job keeps open at a time. Neighbouring frames mostly go to the same ones. */
const maxOpenFiles = 64;

/** Does one job. Never throws for damage or a full disk: both are answers. */
export function writeFrames(job: RestoreJob): RestoreJobResult {
  const damaged: { frame: number; message: string }[] = [];
  const files = new OpenFiles(job);
  for (const [at, task] of job.frames.entries()) {
    const pieces = decodePieces(task.pieces);
    const frame = openTask(job, task, pieces);
    if (typeof frame === "string") damaged.push({ frame: at, message: frame });
    else {
      files.write(frame, pieces);
      release(frame.blocks);
    }
  }
  files.close();
  release(job.sealed);
  return { job: job.job, damaged, refused: files.refused };
}

/** Opens and checks a frame; or says what is wrong with it. */
function openTask({ sealed, blockIdKey }: RestoreJob, task: FrameTask, pieces: readonly Piece[]): DataFrame | string {
  try {
    const bytes = sealed.subarray(task.offset, task.offset + task.length);
    const frame = parseDataFrame(openFrame(bytes, task.key, task.binding));
    const wrong = wrongIn(frame, task, pieces, blockIdKey);
    if (wrong !== null) release(frame.blocks);
    return wrong ?? frame;
  } catch (error) {
    return messageOf(error);
  }
}

/** What is wrong with a frame, where all of it is compared or where it is written; null for nothing. */
function wrongIn(
  frame: DataFrame,
  { ids, lengths, prove }: FrameTask,
  pieces: readonly Piece[],
  blockIdKey: Uint8Array,
): string | null {
  const held = lengths === null ? heldPieces(frame, pieces, ids) : heldSlots(frame, lengths, ids);
  if (held !== null || !prove) return held;
  const slots = lengths === null ? neededSlots(pieces, ids.length / blockIdLength) : filledSlots(lengths);
  return provedSlots(frame, slots, ids, blockIdKey);
}

/** Null when the frame's own block list has the blocks that are needed where the catalog says. */
function heldPieces(frame: DataFrame, pieces: readonly Piece[], ids: Uint8Array): string | null {
  const same = sameBytes(frame.blockList.ids, ids);
  for (const { slot, count, bytes } of pieces) {
    const wrong = heldRun(frame, slot, count, bytes, same ? null : ids);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** Null when it has every block that the catalog says. Slots of no length were given up. */
function heldSlots(frame: DataFrame, lengths: Uint32Array, ids: Uint8Array): string | null {
  const same = sameBytes(frame.blockList.ids, ids);
  for (const [slot, bytes] of lengths.entries()) {
    const wrong = bytes === 0 ? null : heldRun(frame, slot, 1, bytes, same ? null : ids);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** `ids`: what the catalog says, if that is not what the frame says anyway. */
function heldRun(
  { blockList, starts }: DataFrame,
  slot: number,
  count: number,
  bytes: number,
  ids: Uint8Array | null,
): string | null {
  if ((starts[slot + count] ?? -1) - (starts[slot] ?? 0) !== bytes) return `slot ${slot} is empty`;
  const [from, to] = [slot * blockIdLength, (slot + count) * blockIdLength];
  if (ids !== null && !sameBytes(blockList.ids.subarray(from, to), ids.subarray(from, to)))
    return `slot ${slot} is not what the catalog says`;
  return null;
}

/** Hashes slots and compares their ids. */
function provedSlots(
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
      return `slot ${slot} is not what its id says`;
  }
  return null;
}

/** Every slot that is written, once: a block that many files share is proved once. */
function neededSlots(pieces: readonly Piece[], most: number): Uint32Array {
  const needed = new Uint8Array(most);
  for (const { slot, count } of pieces) needed.fill(1, slot, slot + count);
  return Uint32Array.from(needed.keys()).filter((slot) => needed[slot] === 1);
}

function filledSlots(lengths: Uint32Array): Uint32Array {
  return Uint32Array.from(lengths.keys()).filter((slot) => (lengths[slot] ?? 0) > 0);
}

/** The files that a job writes to. One that the file system refuses is noted and left alone from then on. */
class OpenFiles {
  readonly #files: ReturnType<typeof decodeFileTable>;
  readonly #left: RestoreJob["left"];
  readonly #open = new Map<number, number>();
  readonly #refused = new Map<number, string>();

  constructor(job: RestoreJob) {
    this.#files = decodeFileTable(job.files);
    this.#left = job.left;
  }

  get refused(): RestoreJobResult["refused"] {
    return [...this.#refused].map(([file, message]) => ({ file, message }));
  }

  /** Writes a frame's pieces: those of one file stand together. */
  write(frame: DataFrame, pieces: readonly Piece[]): void {
    for (let at = 0; at < pieces.length; ) {
      const file = pieces[at]?.file ?? 0;
      let end = at + 1;
      while (pieces[end]?.file === file) end++;
      if (!this.#refused.has(file)) this.#try(file, () => this.#writeFile(frame, file, pieces.slice(at, end)));
      at = end;
    }
  }

  close(): void {
    for (const file of [...this.#open.keys()]) this.#try(file, () => this.#close(file));
  }

  #writeFile(frame: DataFrame, file: number, pieces: readonly Piece[]): void {
    const known = this.#files.get(file);
    if (known === undefined) throw new Error("a piece of an unknown file");
    const fd = this.#fd(file, known.path);
    writePieces(fd, frame, pieces);
    if (Atomics.sub(this.#left, file, 1) !== 1) return;
    finishFile(fd, known.finish);
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
      this.#refused.set(file, messageOf(error));
    }
  }
}

/** Writes one file's pieces of a frame; what goes to one stretch of the file is one call. */
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
  // One part, or a call that was cut short (a full disk says so at the next): the rest piece by piece.
  let at = offset;
  for (const part of parts) {
    const skip = Math.min(done, part.length);
    done -= skip;
    for (let from = skip; from < part.length; ) from += writeSync(fd, part, from, part.length - from, at + from);
    at += part.length;
  }
}

/** Sets size (where needed), mode and time of a finished file. */
export function finishFile(fd: number, { mode, mtime, size }: Finish): void {
  if (size !== null) ftruncateSync(fd, size);
  fchmodSync(fd, mode);
  const time = nodeTime(mtime);
  futimesSync(fd, time, time);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
