/**
 * Frames that upkeep reads and lays down again. What is laid down again may become the only copy: every block is proved
 * against the id that the catalog has for it.
 */

import type { FrameRow } from "../catalog/catalog.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList, encodeBlockList, slotId } from "../format/block-list.ts";
import { ByteWriter } from "../format/bytes.ts";
import { isBlock } from "../format/hash.ts";
import { frameBytes } from "../packing/frame-class.ts";
import { hooksOf } from "../packing/hooks.ts";
import { appendBlockList, compressionLevelFor, OpenDataFrame } from "../packing/open-data-frame.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { DamageError } from "../restore/frame-reader.ts";
import type { SegmentBlocks } from "../restore/resolve-segments.ts";
import type { Vault } from "../vault.ts";
import type { UpkeepSession } from "./upkeep-session.ts";

export interface ProvedBlock {
  readonly id: Uint8Array;
  readonly block: Uint8Array;
}

/** A frame's blocks by the catalog's block list, each proved when it is asked for; none where the frame does not open. */
export interface ProvedFrame {
  /** The version that was read; null where the catalog has none. */
  readonly row: FrameRow | null;
  get(slot: number): ProvedBlock | null;
}

export async function provedFrame(vault: Vault, reader: FrameReader, frame: number): Promise<ProvedFrame> {
  const [row = null] = await vault.catalog.frames([frame]);
  try {
    const { starts, blocks } = await reader.dataFrame(frame);
    const blockList = decodeBlockList(row?.blockList ?? new Uint8Array(0));
    const get = (slot: number) => {
      const block = blocks.subarray(starts[slot], starts[slot + 1]);
      const id = slotId(blockList, slot);
      const proved = block.length === blockList.lengths[slot] && isBlock(vault.keys.blockIdKey, id, block);
      return proved ? { id, block } : null;
    };
    return { row, get };
  } catch (error) {
    if (error instanceof DamageError) return { row, get: () => null };
    throw error;
  }
}

/** Fills new data frames, one after the other. */
export class DataFrameWriter {
  readonly #session: UpkeepSession;
  readonly records = new Map<number, { record: number; blockList: BlockList }>();
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
    this.records.set(open.number, { record: putBlockList(this.#session, open.number, 0, blockList), blockList });
    sealData(this.#session, open.number, 0, open.plain, blockList);
  }
}

/** Seals a data frame's blocks with its block list. */
export function sealData(
  session: UpkeepSession,
  frame: number,
  generation: number,
  plain: ByteWriter,
  blockList: BlockList,
): void {
  const level = compressionLevelFor(plain.view());
  appendBlockList(plain, blockList);
  session.putFrame("data", frame, generation, plain.view(), level);
}

/** Writes the metadata's copy of a frame's block list; returns the metadata frame. */
export function putBlockList(session: UpkeepSession, frame: number, generation: number, blockList: BlockList): number {
  return session.putRecord({ kind: "blockList", frame, generation, blockList: encodeBlockList(blockList) });
}

/** A segment's hooks: those it always had, since its blocks are the same. */
export function hooksIn({ ids, runs, lengths }: SegmentBlocks): bigint[] {
  const zeros = new Uint8Array(lengths.length);
  let at = 0;
  for (const { frame, count } of runs) {
    if (frame === 0) zeros.fill(1, at, at + count);
    at += count;
  }
  return hooksOf(ids, zeros, 0, lengths.length);
}
