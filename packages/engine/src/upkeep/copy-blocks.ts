/**
 * Reading and writing of data frames for upkeep. A frame that upkeep writes may become the only copy of its blocks. So every
 * block is compared with its id in the catalog before it is written again.
 */

import type { FrameRow } from "../catalog/catalog.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList, encodeBlockList, slotId } from "../format/block-list.ts";
import { ByteWriter, ownCopy } from "../format/bytes.ts";
import { frameBytes } from "../packing/frame-class.ts";
import { hooksOf } from "../packing/hooks.ts";
import { OpenDataFrame } from "../packing/open-data-frame.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { DamageError } from "../restore/frame-reader.ts";
import type { SegmentBlocks } from "../restore/resolve-segments.ts";
import type { Vault } from "../vault.ts";
import { openFrames } from "../workers/open-frames.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import type { UpkeepSession } from "./upkeep-session.ts";

/** A block whose bytes match its id. */
export interface CheckedBlock {
  readonly id: Uint8Array;
  readonly bytes: Uint8Array;
}

/** Blocks of a frame by slot. Those that do not match their id are missing; all are, if the frame cannot be opened. */
export interface CheckedBlocks {
  /** The version that was read; null if the catalog has none. */
  readonly row: FrameRow | null;
  readonly blocks: ReadonlyMap<number, CheckedBlock>;
}

/** Reads blocks of a frame and compares each with its id in the catalog's block list. A worker of the pool opens the frame. */
export async function readCheckedBlocks(
  vault: Vault,
  reader: FrameReader,
  frame: number,
  slots: Iterable<number>,
  pool: RestoreWorkerPool | null,
): Promise<CheckedBlocks> {
  const [current = null] = await vault.catalog.frames([frame]);
  const blocks = new Map<number, CheckedBlock>();
  try {
    const { row, bytes: sealed } = await reader.sealedFrame(frame);
    const { key, binding } = await reader.frameKey(row, sealed);
    const blockList = decodeBlockList(row.blockList);
    // Slots of length 0 are not checked.
    const lengths = new Uint32Array(blockList.lengths.length);
    for (const slot of slots) lengths[slot] = blockList.lengths[slot] ?? 0;
    const toOpen = { offset: 0, length: sealed.length, key, binding, ids: blockList.ids, hashBlocks: true, lengths };
    const job = { sealed, blockIdKey: vault.keys.blockIdKey, frames: [toOpen] };
    const [opened = ""] = (pool === null ? openFrames({ ...job, job: 0 }) : await pool.open(job)).frames;
    if (typeof opened === "string") return { row, blocks };
    const wrong = new Set(opened.badSlots);
    for (const slot of slots) {
      if (wrong.has(slot) || lengths[slot] === undefined || lengths[slot] === 0) continue;
      // A copy: the caller keeps a few blocks, and not the whole frame.
      const bytes = Buffer.from(opened.blocks.subarray(opened.starts[slot], opened.starts[slot + 1]));
      blocks.set(slot, { id: slotId(blockList, slot), bytes });
    }
    return { row, blocks };
  } catch (error) {
    if (error instanceof DamageError) return { row: current, blocks };
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

/** Seals the blocks of a data frame with its block list, and checks the sealed frame (`../workers/seal-blocks.ts`). */
export function sealData(
  session: UpkeepSession,
  frame: number,
  generation: number,
  plain: ByteWriter,
  blockList: BlockList,
): void {
  // Copies: they are sent to a thread, and the writer's memory is larger than its content.
  const list = { ids: ownCopy(blockList.ids), lengths: blockList.lengths };
  session.putBlocks(frame, generation, plain.take(), list);
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
