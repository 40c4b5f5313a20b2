/**
 * What a restore worker does: opens a sealed frame, proves the blocks that are needed against the expected directory,
 * and writes them to their files. Runs in a thread or in the caller's own.
 */

import { closeSync, constants, fchmodSync, futimesSync, openSync, writeSync } from "node:fs";
import { asBuffer, release, sameBytes } from "../bytes.ts";
import { parseDataFrame } from "../frames/data-frame.ts";
import { openFrame } from "../frames/frame.ts";
import { blockIdLength, digestBlock, digestLength, keyBlockIds } from "../hash.ts";
import type { Piece } from "./window.ts";

/** What a file gets when its last byte is written. */
export interface Finish {
  readonly mode: number;
  readonly mtime: number;
}

export interface WriteJob {
  readonly job: number;
  readonly sealed: Uint8Array;
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
  readonly blockIdKey: Uint8Array;
  /** 16 bytes per slot: what the directory in the index says. */
  readonly ids: Uint8Array;
  readonly pieces: readonly Piece[];
  /** By the pieces' file index: where it is, and how it ends when this job writes all of it. */
  readonly files: ReadonlyMap<number, { readonly path: Uint8Array; readonly finish: Finish | null }>;
}

export interface WriteAnswer {
  readonly job: number;
  /** Null when all was written; `damage` names what is wrong with the frame, `file` what the file system said. */
  readonly failure: { readonly kind: "damage" | "file"; readonly message: string } | null;
}

/** Does one job. Never throws for damage or a full disk: both are answers. */
export function writeFrame(job: WriteJob): WriteAnswer {
  let frame: ReturnType<typeof parseDataFrame>;
  try {
    frame = parseDataFrame(openFrame(job.sealed, job.key, job.binding));
  } catch (error) {
    return { job: job.job, failure: { kind: "damage", message: messageOf(error) } };
  }
  const slots = neededSlots(job);
  const wrong = provedSlots(frame, slots, job);
  if (wrong !== null) return { job: job.job, failure: { kind: "damage", message: wrong } };
  try {
    writePieces(frame, job);
    release(frame.blocks);
    return { job: job.job, failure: null };
  } catch (error) {
    return { job: job.job, failure: { kind: "file", message: messageOf(error) } };
  }
}

/** Every slot that is written, once: a block that many files share is proved once. */
function neededSlots({ pieces, ids }: WriteJob): number[] {
  const needed = new Uint8Array(ids.length / blockIdLength);
  const slots: number[] = [];
  for (const { slot, count } of pieces) {
    for (let each = slot; each < slot + count; each++) {
      if (needed[each] === 1) continue;
      needed[each] = 1;
      slots.push(each);
    }
  }
  return slots;
}

function provedSlots(frame: ReturnType<typeof parseDataFrame>, slots: readonly number[], job: WriteJob): string | null {
  const digests = Buffer.allocUnsafe(slots.length * digestLength);
  for (const [i, slot] of slots.entries()) {
    const start = frame.starts[slot];
    const end = frame.starts[slot + 1];
    if (start === undefined || end === undefined || end === start) return `slot ${slot} is empty`;
    digestBlock(frame.blocks.subarray(start, end), digests, i);
  }
  const ids = keyBlockIds(job.blockIdKey, digests);
  for (const [i, slot] of slots.entries()) {
    const expected = job.ids.subarray(slot * blockIdLength, (slot + 1) * blockIdLength);
    if (!sameBytes(ids.subarray(i * blockIdLength, (i + 1) * blockIdLength), expected))
      return `slot ${slot} is not what its id says`;
  }
  return null;
}

function writePieces(frame: ReturnType<typeof parseDataFrame>, job: WriteJob): void {
  let open = { file: -1, fd: -1 };
  const close = () => {
    if (open.fd < 0) return;
    const finish = job.files.get(open.file)?.finish ?? null;
    if (finish !== null) finishFile(open.fd, finish);
    closeSync(open.fd);
    open = { file: -1, fd: -1 };
  };
  try {
    for (const piece of job.pieces) {
      if (piece.file !== open.file) {
        close();
        const file = job.files.get(piece.file);
        if (file === undefined) throw new Error("a piece of an unknown file");
        open = {
          file: piece.file,
          fd: openSync(asBuffer(file.path), constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600),
        };
      }
      const start = frame.starts[piece.slot] ?? 0;
      writeAll(open.fd, frame.blocks.subarray(start, start + piece.bytes), piece.offset);
    }
  } finally {
    close();
  }
}

/** Sets mode and time of a finished file. */
export function finishFile(fd: number, { mode, mtime }: Finish): void {
  fchmodSync(fd, mode);
  futimesSync(fd, mtime, mtime);
}

function writeAll(fd: number, bytes: Uint8Array, offset: number): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done, offset + done);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
