/**
 * The cutter. Files are read directly into the WebAssembly memory and cut into blocks there. Blocks are hashed and
 * grouped to segments. FORMAT.md ("Cutting") has the rules.
 *
 * - A *block* ends where the keyed gear hash of the last bytes has enough zero bits (mostly after about 8 KiB or 32 KiB, at
 *   most 64 KiB), or at a page boundary.
 * - A *segment* ends after a block whose id is 0 modulo 128 (or 32), at least 256 KiB and at most 4 MiB after its start.
 *   The rule is the same for all kinds of blocks and needs no second hash.
 */

import { readFileSync } from "node:fs";
import { blockIdLength, deriveKey, digestBlocks, digestLength } from "../../format/hash.ts";
import { maxSegmentBytes, minSegmentBytes } from "./cut-limits.ts";

/** Lengths of content-defined blocks, as in FastCDC. */
export interface BlockSizes {
  readonly minBytes: number;
  readonly normalBytes: number;
  /** Bits of the hash that must be zero at a block's end: before the normal length, and after it. */
  readonly bitsBeforeNormal: number;
  readonly bitsAfterNormal: number;
  /** Mean number of blocks in a segment, so that it has about a megabyte. A power of two. */
  readonly blocksPerSegment: number;
}

export const fineBlocks: BlockSizes = {
  minBytes: 2048,
  normalBytes: 8192,
  bitsBeforeNormal: 15,
  bitsAfterNormal: 11,
  blocksPerSegment: 128,
};

/**
 * For incompressible files that are not very large. A scan or an archive is usually written once or replaced as a whole.
 * Two versions of it share long ranges, so larger blocks find as much and make shorter block lists (docs/decisions/0124).
 */
export const coarseBlocks: BlockSizes = {
  minBytes: 16384,
  normalBytes: 32768,
  bitsBeforeNormal: 17,
  bitsAfterNormal: 13,
  blocksPerSegment: 32,
};

/** Size of the gear table: 256 × u64 at address 0, where cutter.as reads it. */
const gearBytes = 2048;

/** WebAssembly allocates memory in pages of this size. */
const wasmPageBytes = 64 * 1024;

/** The most block ends of one buffer: 16 MiB in the smallest blocks of 2 KiB. */
const maxCuts = (16 * 1024 * 1024) / 2048;

interface Exports {
  size(minBytes: number, normalBytes: number, bitsBeforeNormal: number, bitsAfterNormal: number): void;
  cut(start: number, end: number, final: number, out: number): number;
  isZero(start: number, end: number): number;
}

const wasm = new WebAssembly.Module(readFileSync(new URL("cutter.wasm", import.meta.url)));

/** The compiled cutter and its memory, which has `buffers` buffers of `bufferBytes`. */
export class Cutter {
  readonly #exports: Exports;
  readonly #memory: Uint8Array;
  readonly #cuts: Uint32Array;
  readonly #firstBuffer: number;
  readonly bufferBytes: number;
  #sizes: BlockSizes | null = null;

  constructor(cutterKey: Uint8Array, bufferBytes: number, buffers: number) {
    const cutsBytes = maxCuts * 4;
    this.#firstBuffer = gearBytes + cutsBytes;
    this.bufferBytes = bufferBytes;
    const pages = Math.ceil((this.#firstBuffer + bufferBytes * buffers) / wasmPageBytes);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const instance = new WebAssembly.Instance(wasm, { env: { memory } });
    this.#exports = instance.exports as unknown as Exports;
    this.#memory = new Uint8Array(memory.buffer);
    this.#cuts = new Uint32Array(memory.buffer, gearBytes, maxCuts);
    this.rekey(cutterKey);
  }

  /** Loads another vault's gear table. */
  rekey(cutterKey: Uint8Array): void {
    for (let i = 0; i < gearBytes / 32; i++) this.#memory.set(deriveKey(cutterKey, `gear ${i}`), i * 32);
  }

  /** A view of one buffer. Files are read into it. */
  buffer(index: number): Uint8Array {
    const start = this.#firstBuffer + index * this.bufferBytes;
    return this.#memory.subarray(start, start + this.bufferBytes);
  }

  /** The ends of the blocks in [from, to) of a buffer, relative to the buffer. Valid until the next call. */
  cut(index: number, from: number, to: number, final: boolean, sizes = fineBlocks): Uint32Array {
    const base = this.#firstBuffer + index * this.bufferBytes;
    if (this.#sizes !== sizes) {
      this.#exports.size(sizes.minBytes, sizes.normalBytes, sizes.bitsBeforeNormal, sizes.bitsAfterNormal);
      this.#sizes = sizes;
    }
    const count = this.#exports.cut(base + from, base + to, final ? 1 : 0, gearBytes);
    const cuts = this.#cuts.subarray(0, count);
    for (let i = 0; i < count; i++) cuts[i] = (cuts[i] ?? 0) - base;
    return cuts;
  }

  /**
   * The ends of the pages in [from, to) of a buffer. `before`: how many bytes of the first page are before `from`.
   * Unless `final`, an incomplete last page is left out. Valid until the next call.
   */
  pages(from: number, to: number, pageBytes: number, before: number, final: boolean): Uint32Array {
    let count = 0;
    let end = from + pageBytes - before;
    for (; end <= to; end += pageBytes) this.#cuts[count++] = end;
    if (final && Math.max(from, end - pageBytes) < to) this.#cuts[count++] = to;
    return this.#cuts.subarray(0, count);
  }

  /** Whether [from, to) of a buffer holds zeros only. */
  isZero(index: number, from: number, to: number): boolean {
    const base = this.#firstBuffer + index * this.bufferBytes;
    return this.#exports.isZero(base + from, base + to) === 1;
  }
}

/** Consecutive blocks of a list. */
export interface BlockRun {
  readonly digests: Uint8Array;
  readonly lengths: Uint32Array;
  readonly zeros: Uint8Array;
}

/** A growing list of blocks: digest, length, and whether all bytes are zero. */
export class CutBlocks {
  digests: Buffer;
  lengths: Uint32Array;
  zeros: Uint8Array;
  count = 0;

  constructor(capacity: number) {
    this.digests = Buffer.allocUnsafe(capacity * digestLength);
    this.lengths = new Uint32Array(capacity);
    this.zeros = new Uint8Array(capacity);
  }

  /** Adds consecutive blocks: the first starts at `from`, and they end at the first `count` values of `ends`. */
  push(
    bytes: Uint8Array,
    from: number,
    ends: Uint32Array,
    count: number,
    isZero: (from: number, to: number) => boolean,
  ) {
    this.#reserve(count);
    digestBlocks(bytes, from, ends, count, this.digests, this.count);
    let start = from;
    for (let i = 0; i < count; i++) {
      const end = ends[i] ?? start;
      this.lengths[this.count] = end - start;
      this.zeros[this.count] = isZero(start, end) ? 1 : 0;
      this.count++;
      start = end;
    }
  }

  /** Adds blocks that were hashed before. */
  append({ digests, lengths, zeros }: BlockRun): void {
    this.#reserve(lengths.length);
    this.digests.set(digests, this.count * digestLength);
    this.lengths.set(lengths, this.count);
    this.zeros.set(zeros, this.count);
    this.count += lengths.length;
  }

  /** A copy of the blocks from number `first` on. */
  copyFrom(first: number): BlockRun {
    return {
      digests: Uint8Array.prototype.slice.call(this.digests, first * digestLength, this.count * digestLength),
      lengths: this.lengths.slice(first, this.count),
      zeros: this.zeros.slice(first, this.count),
    };
  }

  /** Removes the first `count` blocks. */
  drop(count: number): void {
    this.digests.copyWithin(0, count * digestLength, this.count * digestLength);
    this.lengths.copyWithin(0, count, this.count);
    this.zeros.copyWithin(0, count, this.count);
    this.count -= count;
  }

  /** Grows the list for `count` more blocks. */
  #reserve(count: number): void {
    let capacity = this.lengths.length;
    while (this.count + count > capacity) capacity *= 2;
    if (capacity === this.lengths.length) return;
    const digests = Buffer.allocUnsafe(capacity * digestLength);
    digests.set(this.digests);
    const lengths = new Uint32Array(capacity);
    lengths.set(this.lengths);
    const zeros = new Uint8Array(capacity);
    zeros.set(this.zeros);
    this.digests = digests;
    this.lengths = lengths;
    this.zeros = zeros;
  }
}

/**
 * Groups blocks to segments: returns the number of blocks in each complete segment. Unless `final`, the blocks after the
 * last segment's end are left for the next buffer.
 */
export function cutSegments(
  ids: Uint8Array,
  lengths: Uint32Array,
  count: number,
  final: boolean,
  sizes: BlockSizes,
): Uint32Array {
  const ends: number[] = [];
  const segmentMask = sizes.blocksPerSegment - 1;
  let bytes = 0;
  let first = 0;
  for (let i = 0; i < count; i++) {
    const length = lengths[i] ?? 0;
    if (bytes + length > maxSegmentBytes) {
      ends.push(i - first);
      first = i;
      bytes = 0;
    }
    bytes += length;
    if (bytes >= minSegmentBytes && ((ids[i * blockIdLength] ?? 0) & segmentMask) === 0) {
      ends.push(i + 1 - first);
      first = i + 1;
      bytes = 0;
    }
  }
  if (final && first < count) ends.push(count - first);
  return Uint32Array.from(ends);
}
