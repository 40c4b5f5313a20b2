/**
 * Reading and writing of data frames for upkeep. A frame that upkeep writes may become the only copy of its blocks. So every
 * block is compared with its id in the catalog before it is written again.
 */

import type { FrameRow } from "../catalog/catalog.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList, encodeBlockList, slotId } from "../format/block-list.ts";
import { ByteWriter } from "../format/bytes.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { isBlock } from "../format/hash.ts";
import { frameBytes } from "../packing/frame-class.ts";
import { hooksOf } from "../packing/hooks.ts";
import { appendBlockList, compressionLevelFor, OpenDataFrame } from "../packing/open-data-frame.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { DamageError } from "../restore/frame-reader.ts";
import type { SegmentBlocks } from "../restore/resolve-segments.ts";
import type { Vault } from "../vault.ts";
import type { UpkeepSession } from "./upkeep-session.ts";

/** A block whose bytes match its id. */
export interface CheckedBlock {
  readonly id: Uint8Array;
  readonly bytes: Uint8Array;
}

/** An opened frame. A frame that cannot be opened has no blocks. */
export interface CheckedFrame {
  /** The version that was read; null if the catalog has none. */
  readonly row: FrameRow | null;
  /** Compares a block with its id in the catalog's block list; null if it does not match. */
  get(slot: number): CheckedBlock | null;
}

export async function readCheckedFrame(vault: Vault, reader: FrameReader, frame: number): Promise<CheckedFrame> {
  const [row = null] = await vault.catalog.frames([frame]);
  try {
    const { starts, blocks } = await reader.dataFrame(frame);
    const blockList = decodeBlockList(row?.blockList ?? new Uint8Array(0));
    const get = (slot: number) => {
      const bytes = blocks.subarray(starts[slot], starts[slot + 1]);
      const id = slotId(blockList, slot);
      const matches = bytes.length === blockList.lengths[slot] && isBlock(vault.keys.blockIdKey, id, bytes);
      return matches ? { id, bytes } : null;
    };
    return { row, get };
  } catch (error) {
    if (error instanceof DamageError) return { row, get: () => null };
    throw error;
  }
}

/** Writes blocks to new data frames, one frame after the other. */
export class DataFrameWriter {
  readonly #session: UpkeepSession;
  readonly records = new Map<number, { recordFrame: number; blockList: BlockList }>();
  #open: OpenDataFrame | null = null;

  constructor(session: UpkeepSession) {
    this.#session = session;
  }

  add(id: Uint8Array, block: Uint8Array): { frame: number; slot: number } {
    this.#open ??= new OpenDataFrame(this.#session.nextFrame(), new ByteWriter(1 << 20));
    const open = this.#open;
    const place = { frame: open.number, slot: open.slots };
    open.appendBlock(id, block);
    if (open.plain.length >= frameBytes.page) this.flush();
    return place;
  }

  flush(): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    const blockList = open.blockList();
    this.records.set(open.number, { recordFrame: putBlockList(this.#session, open.number, 0, blockList), blockList });
    sealData(this.#session, open.number, 0, open.plain, blockList);
  }
}

/**
 * Seals a data frame's blocks with its block list. The sealed frame is opened again and its blocks are hashed: what was
 * verified before must not be lost by a bit that flips while it is written again.
 */
export function sealData(
  session: UpkeepSession,
  frame: number,
  generation: number,
  plain: ByteWriter,
  blockList: BlockList,
): void {
  const level = compressionLevelFor(plain.view());
  appendBlockList(plain, blockList);
  session.putFrame("data", frame, generation, plain.view(), level, (opened) => {
    const { starts, blocks } = parseDataFrame(opened);
    for (const [slot, length] of blockList.lengths.entries()) {
      const block = blocks.subarray(starts[slot], starts[slot + 1]);
      const matches = block.length === length && isBlock(session.blockIdKey, slotId(blockList, slot), block);
      if (length > 0 && !matches) throw new Error(`slot ${slot} of frame ${frame} changed while it was sealed`);
    }
  });
}

/** Writes a copy of a frame's block list to a metadata frame; returns the number of that frame. */
export function putBlockList(session: UpkeepSession, frame: number, generation: number, blockList: BlockList): number {
  return session.putRecord({ kind: "blockList", frame, generation, blockList: encodeBlockList(blockList) });
}

/** The hooks of a segment. A new recipe does not change them: its blocks are the same. */
export function segmentHooks({ ids, runs, lengths }: SegmentBlocks): bigint[] {
  const zeros = new Uint8Array(lengths.length);
  let at = 0;
  for (const { frame, count } of runs) {
    if (frame === 0) zeros.fill(1, at, at + count);
    at += count;
  }
  return hooksOf(ids, zeros, 0, lengths.length);
}
