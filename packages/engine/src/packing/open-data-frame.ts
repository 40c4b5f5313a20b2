/**
 * A data frame that is being filled, and the end of its plain bytes. Cutting workers fill frames with it during a backup,
 * upkeep when it copies blocks. The layout is in `format/data-frame.ts`: blocks, block list, length of the block list.
 */

import type { BlockList } from "../format/block-list.ts";
import { writeBlockList } from "../format/block-list.ts";
import { ByteWriter } from "../format/bytes.ts";
import type { CompressionLevel } from "../format/frame.ts";
import { areAllSamplesIncompressible } from "./compressibility.ts";

/** Initial capacity for ids: 256 slots, which is what pages and ordinary blocks need. */
const usualIdBytes = 4096;

export class OpenDataFrame {
  /** The frame's number as the caller counts: `n` of the session in a cutting worker, the frame number in upkeep. */
  readonly number: number;
  /** The blocks so far. */
  readonly plain: ByteWriter;
  readonly #ids = new ByteWriter(usualIdBytes);
  readonly #lengths: number[] = [];

  constructor(number: number, plain: ByteWriter) {
    this.number = number;
    this.plain = plain;
  }

  get slots(): number {
    return this.#lengths.length;
  }

  /** Appends consecutive blocks: their bytes, their ids, and their lengths from `first` to before `end`. */
  appendRun(bytes: Uint8Array, ids: Uint8Array, lengths: Uint32Array, first: number, end: number): void {
    this.plain.raw(bytes);
    this.#ids.raw(ids);
    for (let block = first; block < end; block++) this.#lengths.push(lengths[block] ?? 0);
  }

  appendBlock(id: Uint8Array, block: Uint8Array): void {
    this.plain.raw(block);
    this.#ids.raw(id);
    this.#lengths.push(block.length);
  }

  blockList(): BlockList {
    return { ids: this.#ids.view(), lengths: Uint32Array.from(this.#lengths) };
  }
}

/** Ends a data frame's plain bytes: appends the block list of the blocks that are already there. */
export function appendBlockList(plain: ByteWriter, blockList: BlockList): void {
  const before = plain.length;
  writeBlockList(plain, blockList);
  plain.u32(plain.length - before);
}

/** How to compress blocks of which nothing else is known. */
export function compressionLevelFor(blocks: Uint8Array): CompressionLevel {
  return areAllSamplesIncompressible(blocks) ? "none" : "fast";
}
