/**
 * A job that opens data frames and returns their blocks, for reading files as a stream. A frame that does not open is
 * damaged as a whole. A block that does not match the catalog is a *bad slot*: a reader that does not need it goes on.
 */

import { release, sameBytes } from "../format/bytes.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { openFrame } from "../format/frame.ts";
import { blockIdLength, digestBlock, digestLength, keyBlockIds } from "../format/hash.ts";
import type { JobFrame } from "./restore-job.ts";

/** A frame of an open job: the ids and lengths of all its slots, as the catalog has them. */
export type FrameToOpen = Pick<JobFrame, "offset" | "length" | "key" | "binding" | "ids" | "hashBlocks"> & {
  readonly lengths: Uint32Array;
};

export interface OpenFramesJob {
  readonly job: number;
  readonly sealed: Uint8Array;
  readonly blockIdKey: Uint8Array;
  readonly frames: readonly FrameToOpen[];
}

export interface OpenedFrame {
  /** The blocks of all slots, one after the other. */
  readonly blocks: Uint8Array;
  /** Where each slot starts, and after the last one where it ends. */
  readonly starts: Uint32Array;
  readonly badSlots: readonly number[];
}

export interface OpenFramesResult {
  readonly job: number;
  /** Per frame its blocks, or why it is damaged. */
  readonly frames: readonly (OpenedFrame | string)[];
}

export function openFrames({ job, sealed, blockIdKey, frames }: OpenFramesJob): OpenFramesResult {
  const opened = frames.map((frame) => openOne(frame, sealed, blockIdKey));
  release(sealed);
  return { job, frames: opened };
}

/** The memory of opened frames, to be transferred to the thread that asked. */
export function transferableFrames({ frames }: OpenFramesResult): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const frame of frames)
    if (typeof frame !== "string" && frame.blocks.buffer instanceof ArrayBuffer) buffers.add(frame.blocks.buffer);
  return [...buffers];
}

function openOne(frame: FrameToOpen, sealed: Uint8Array, blockIdKey: Uint8Array): OpenedFrame | string {
  try {
    const plain = openFrame(sealed.subarray(frame.offset, frame.offset + frame.length), frame.key, frame.binding);
    // A small buffer is on a page that others share. It must not be transferred away under them.
    const own = plain.byteLength === plain.buffer.byteLength ? plain : new Uint8Array(plain);
    const { blocks, starts, blockList } = parseDataFrame(own);
    const badSlots: number[] = [];
    const toHash: number[] = [];
    for (const [slot, length] of frame.lengths.entries()) {
      if (length === 0) continue;
      const isSame =
        (starts[slot + 1] ?? -1) - (starts[slot] ?? 0) === length && sameSlot(blockList.ids, frame.ids, slot);
      (isSame ? toHash : badSlots).push(slot);
    }
    if (frame.hashBlocks) badSlots.push(...findWrongBlocks(blocks, starts, toHash, frame.ids, blockIdKey));
    return { blocks, starts, badSlots };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The slots whose block has another hash than its id says. */
function findWrongBlocks(
  blocks: Uint8Array,
  starts: Uint32Array,
  slots: readonly number[],
  ids: Uint8Array,
  blockIdKey: Uint8Array,
): number[] {
  const digests = Buffer.allocUnsafe(slots.length * digestLength);
  for (const [i, slot] of slots.entries()) digestBlock(blocks.subarray(starts[slot], starts[slot + 1]), digests, i);
  const found = keyBlockIds(blockIdKey, digests);
  return slots.filter((slot, i) => !sameBytes(idAt(found, i), idAt(ids, slot)));
}

function sameSlot(a: Uint8Array, b: Uint8Array, slot: number): boolean {
  return sameBytes(idAt(a, slot), idAt(b, slot));
}

function idAt(ids: Uint8Array, slot: number): Uint8Array {
  return ids.subarray(slot * blockIdLength, (slot + 1) * blockIdLength);
}
