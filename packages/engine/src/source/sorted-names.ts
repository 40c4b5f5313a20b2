/**
 * The names of one large directory in byte order. Names are collected in a *list* of a megabyte. A full list is sorted and
 * compressed in *chunks* of 16 KiB. Reading merges the lists, with one decompressed chunk of each in memory.
 *
 * So a million names take about a third of their bytes, and no large buffer is allocated and freed: after a large free,
 * the C library keeps later buffers in its arenas, which costs more memory than the names.
 *
 * Names that fit into one list are sorted without compression.
 */

import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ownCopy, release } from "../format/bytes.ts";

/** Bytes of names in a list. Every list has an open chunk while the lists are merged: a million names are about 30 lists. */
const listBytes = 1024 * 1024;

/** Bytes of names in a chunk: 30 open chunks are half a megabyte. */
const chunkBytes = 16 * 1024;

/** Names in a list: with very short names, the arrays of offsets would be larger than the names. */
const maxListNames = 64 * 1024;

/** What the length prefix (u16) can hold. A name on Linux has at most 255 bytes. */
const maxNameBytes = 0xffff;

const compression = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    // A window of one chunk. A larger window would be allocated and never used.
    [constants.ZSTD_c_windowLog]: 14,
  },
};

export class SortedNames {
  readonly #lists: CompressedChunk[][] = [];
  #bytes: Buffer = Buffer.allocUnsafeSlow(4096);
  #used = 0;
  #offsets = new Uint32Array(128);
  #count = 0;
  #sortBuffers: SortBuffers | null = null;
  /** How many names were added. */
  total = 0;

  add(name: Uint8Array): void {
    if (name.length > maxNameBytes) throw new RangeError("a name is too long");
    this.total++;
    if (this.#used + name.length > listBytes || this.#count + 1 >= maxListNames) this.#compressList();
    if (this.#used + name.length > this.#bytes.length) this.#growBytes(name.length);
    if (this.#count + 1 >= this.#offsets.length) this.#growOffsets();
    this.#bytes.set(name, this.#used);
    this.#offsets[this.#count++] = this.#used;
    this.#used += name.length;
    this.#offsets[this.#count] = this.#used;
  }

  /** All names in byte order, once. A name is a view that is valid until the next one is asked for. */
  *inOrder(): Generator<Buffer> {
    if (this.#lists.length === 0) {
      const order = this.#sorted();
      for (let i = 0; i < this.#count; i++) yield this.#name(order[i] ?? 0);
      this.#free();
      return;
    }
    this.#compressList();
    this.#free();
    yield* merged(this.#lists.map((chunks) => new ListReader(chunks)));
  }

  /** Sorts the open list and stores it as compressed chunks. */
  #compressList(): void {
    const order = this.#sorted();
    const chunks: CompressedChunk[] = [];
    const chunk = Buffer.allocUnsafeSlow(chunkBytes + maxNameBytes + 2);
    let length = 0;
    for (let i = 0; i < this.#count; i++) {
      const name = this.#name(order[i] ?? 0);
      length = chunk.writeUInt16LE(name.length, length);
      chunk.set(name, length);
      length += name.length;
      if (length < chunkBytes && i < this.#count - 1) continue;
      chunks.push(compressed(chunk.subarray(0, length)));
      length = 0;
    }
    release(chunk);
    this.#lists.push(chunks);
    this.#used = 0;
    this.#count = 0;
  }

  #name(index: number): Buffer {
    return this.#bytes.subarray(this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? 0);
  }

  #sorted(): Uint32Array {
    const bytes = this.#bytes;
    const at = this.#offsets;
    this.#sortBuffers = sortBuffersFor(this.#sortBuffers, this.#count);
    return sortedOrder(this.#sortBuffers, this.#count, (a, b) =>
      bytes.compare(bytes, at[b] ?? 0, at[b + 1] ?? 0, at[a] ?? 0, at[a + 1] ?? 0),
    );
  }

  #growBytes(atLeast: number): void {
    const size = Math.min(listBytes, Math.max(this.#bytes.length * 2, this.#used + atLeast));
    const longer = Buffer.allocUnsafeSlow(size);
    longer.set(this.#bytes.subarray(0, this.#used));
    release(this.#bytes);
    this.#bytes = longer;
  }

  #growOffsets(): void {
    const longer = new Uint32Array(this.#offsets.length * 2);
    longer.set(this.#offsets);
    this.#offsets.buffer.transfer(0);
    this.#offsets = longer;
  }

  #free(): void {
    release(this.#bytes);
    this.#offsets.buffer.transfer(0);
    this.#sortBuffers?.from.buffer.transfer(0);
    this.#sortBuffers?.to.buffer.transfer(0);
    this.#sortBuffers = null;
  }
}

interface CompressedChunk {
  readonly bytes: Uint8Array;
  readonly plainLength: number;
}

/** The arrays that sorting needs. They are reused for every list of a directory. */
interface SortBuffers {
  from: Uint32Array<ArrayBuffer>;
  to: Uint32Array<ArrayBuffer>;
}

function sortBuffersFor(buffers: SortBuffers | null, count: number): SortBuffers {
  if (buffers !== null && buffers.from.length >= count) return buffers;
  return { from: new Uint32Array(count), to: new Uint32Array(count) };
}

/** 0 … count - 1 in the order of `compare`. A merge sort in two typed arrays: the built-in sort copies to the heap. */
function sortedOrder(buffers: SortBuffers, count: number, compare: (a: number, b: number) => number): Uint32Array {
  let { from, to } = buffers;
  for (let i = 0; i < count; i++) from[i] = i;
  for (let width = 1; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      const middle = Math.min(start + width, count);
      const end = Math.min(start + 2 * width, count);
      for (let at = start, left = start, right = middle; at < end; at++) {
        const takeLeft = right >= end || (left < middle && compare(from[left] ?? 0, from[right] ?? 0) <= 0);
        to[at] = (takeLeft ? from[left++] : from[right++]) ?? 0;
      }
    }
    [from, to] = [to, from];
  }
  buffers.from = from;
  buffers.to = to;
  return from;
}

/** Reads one list, chunk by chunk. */
class ListReader {
  readonly #chunks: (CompressedChunk | null)[];
  #next = 0;
  #plain: Buffer = Buffer.alloc(0);
  #at = 0;
  /** The smallest name of the list that was not taken yet, or null. */
  name: Buffer | null = null;

  constructor(chunks: readonly CompressedChunk[]) {
    this.#chunks = [...chunks];
    this.advance();
  }

  advance(): void {
    if (this.#at >= this.#plain.length && !this.#open()) return;
    const length = this.#plain.readUInt16LE(this.#at);
    this.name = this.#plain.subarray(this.#at + 2, this.#at + 2 + length);
    this.#at += 2 + length;
  }

  #open(): boolean {
    const chunk = this.#chunks[this.#next];
    this.name = null;
    release(this.#plain);
    if (chunk === null || chunk === undefined) return false;
    this.#plain = zstdDecompressSync(chunk.bytes, { chunkSize: chunk.plainLength });
    release(chunk.bytes);
    this.#chunks[this.#next++] = null;
    this.#at = 0;
    return true;
  }
}

/** The names of all lists in byte order. A heap has the list with the smallest name on top. */
function* merged(lists: readonly ListReader[]): Generator<Buffer> {
  const heap = [...lists];
  const less = (a: number, b: number) => {
    const [left, right] = [heap[a]?.name, heap[b]?.name];
    return left != null && (right == null || Buffer.compare(left, right) < 0);
  };
  const sink = (from: number) => {
    for (let at = from; ; ) {
      const child = 2 * at + 1;
      const least = less(child + 1, child) ? child + 1 : child;
      if (!less(least, at)) return;
      [heap[at], heap[least]] = [heap[least] as ListReader, heap[at] as ListReader];
      at = least;
    }
  };
  for (let at = heap.length >> 1; at >= 0; at--) sink(at);
  for (;;) {
    const top = heap[0];
    if (top === undefined || top.name === null) return;
    yield top.name;
    top.advance();
    sink(0);
  }
}

/** A copy with exactly the compressed bytes: the compressor returns a view into a larger buffer. */
function compressed(chunk: Uint8Array): CompressedChunk {
  return { bytes: ownCopy(zstdCompressSync(chunk, compression)), plainLength: chunk.length };
}
