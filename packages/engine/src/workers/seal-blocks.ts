/**
 * A job of upkeep: seals blocks as a data frame. The sealed frame is opened again and its blocks are hashed, because it may
 * become the only copy of its blocks. So a bit that flips between hashing and sealing is found. Upkeep decides what moves
 * where; a job has bytes and keys.
 */

import type { BlockList } from "../format/block-list.ts";
import { slotId } from "../format/block-list.ts";
import { ByteWriter, release } from "../format/bytes.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import type { FrameSeal } from "../format/frame.ts";
import { openFrame, readFrameHeader, sealFrame } from "../format/frame.ts";
import { isBlock } from "../format/hash.ts";
import { frameKey } from "../format/session-header.ts";
import { appendBlockList, compressionLevelFor } from "../packing/open-data-frame.ts";

export interface SealBlocksJob {
  readonly job: number;
  readonly seal: FrameSeal;
  /** The blocks in slot order, without gaps. */
  readonly blocks: Uint8Array;
  readonly blockList: BlockList;
  readonly blockIdKey: Uint8Array;
}

export interface SealBlocksResult {
  readonly job: number;
  /** The sealed frame, or why it is not what it should be. */
  readonly sealed: Uint8Array | string;
}

/** Runs one job. A failure is in the result. */
export function sealBlocks(job: SealBlocksJob): SealBlocksResult {
  try {
    return { job: job.job, sealed: sealAndCheck(job) };
  } catch (error) {
    return { job: job.job, sealed: error instanceof Error ? error.message : String(error) };
  }
}

function sealAndCheck({ seal, blocks, blockList, blockIdKey }: SealBlocksJob): Uint8Array {
  const plain = new ByteWriter(blocks.length + blockList.ids.length * 2 + 1024).raw(blocks);
  const level = compressionLevelFor(plain.view());
  appendBlockList(plain, blockList);
  const sealed = sealFrame(seal, plain.view(), level);
  plain.free();
  const opened = openFrame(sealed, frameKey(seal.contentKey, readFrameHeader(sealed)), seal.binding);
  const frame = parseDataFrame(opened);
  for (const [slot, length] of blockList.lengths.entries()) {
    const block = frame.blocks.subarray(frame.starts[slot], frame.starts[slot + 1]);
    const matches = block.length === length && isBlock(blockIdKey, slotId(blockList, slot), block);
    if (length > 0 && !matches) throw new Error(`slot ${slot} of frame ${seal.frame} changed while it was sealed`);
  }
  release(opened);
  return sealed;
}
