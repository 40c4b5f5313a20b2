/**
 * A data frame's plain bytes: blocks in slot order without gaps, the block list, and the block list's length (u32).
 */

import type { BlockList } from "./block-list.ts";
import { readBlockList } from "./block-list.ts";
import { ByteReader, FormatError } from "./bytes.ts";

export interface DataFrame {
  readonly blockList: BlockList;
  /** Where each slot starts, and after the last one where it ends. */
  readonly starts: Uint32Array;
  readonly blocks: Uint8Array;
}

/** Reads the plain bytes of a data frame. */
export function parseDataFrame(plain: Uint8Array): DataFrame {
  if (plain.length < 4) throw new FormatError("a data frame is too short");
  const length = new ByteReader(plain, plain.length - 4).u32();
  const at = plain.length - 4 - length;
  if (at < 0) throw new FormatError("a frame's block list is out of bounds");
  const reader = new ByteReader(plain, at, plain.length - 4);
  const blockList = readBlockList(reader);
  reader.done();
  const starts = startsOf(blockList);
  if (starts.at(-1) !== at) throw new FormatError("a frame's blocks and block list disagree");
  return { blockList, starts, blocks: plain.subarray(0, at) };
}

/** Where each slot of a block list starts, and where the last one ends. */
export function startsOf(blockList: BlockList): Uint32Array {
  const starts = new Uint32Array(blockList.lengths.length + 1);
  let at = 0;
  for (let slot = 0; slot < blockList.lengths.length; slot++) {
    at += blockList.lengths[slot] ?? 0;
    starts[slot + 1] = at;
  }
  return starts;
}
