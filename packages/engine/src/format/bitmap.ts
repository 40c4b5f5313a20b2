/**
 * Sets of ordinals: the items that a snapshot reaches. A growing bit array in memory. Stored compressed with zstd, because
 * the ordinals of one snapshot come in long sequences.
 */

import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { FormatError } from "./bytes.ts";

/** 128 MiB of bitmap are 2^30 ordinals. With about a megabyte per item no vault has so many. */
const maxBitmapBytes = 128 * 1024 * 1024;

export class Bitmap {
  #words: Uint32Array;

  constructor(words = new Uint32Array(64)) {
    this.#words = words;
  }

  /**
   * Reads a stored bitmap. Every ordinal must be less than `below`: a larger bitmap of a client is refused before it is
   * decompressed.
   */
  static decode(bytes: Uint8Array, below = maxBitmapBytes * 8): Bitmap {
    if (bytes.length === 0) return new Bitmap();
    const plain = decompressed(bytes, Math.min(maxBitmapBytes, Math.ceil(below / 32) * 4));
    if (plain.length % 4 !== 0) throw new FormatError("a bitmap has a wrong length");
    const words = new Uint32Array(plain.length / 4);
    Buffer.from(words.buffer).set(plain);
    return new Bitmap(words);
  }

  encode(): Buffer {
    let end = this.#words.length;
    while (end > 0 && this.#words[end - 1] === 0) end--;
    const plain = Buffer.from(this.#words.buffer, 0, end * 4);
    return zstdCompressSync(plain, { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
  }

  add(ordinal: number): void {
    const word = Math.floor(ordinal / 32);
    if (word >= this.#words.length) this.#grow(word + 1);
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (ordinal % 32));
  }

  remove(ordinal: number): void {
    const word = Math.floor(ordinal / 32);
    if (word < this.#words.length) this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (ordinal % 32));
  }

  has(ordinal: number): boolean {
    return ((this.#words[Math.floor(ordinal / 32)] ?? 0) & (1 << (ordinal % 32))) !== 0;
  }

  /** Adds all ordinals of `other`. Marking does nothing else. */
  or(other: Bitmap): void {
    const theirs = other.#words;
    if (theirs.length > this.#words.length) this.#grow(theirs.length);
    const ours = this.#words;
    for (let i = 0; i < theirs.length; i++) ours[i] = (ours[i] ?? 0) | (theirs[i] ?? 0);
  }

  /** The ordinals that are not in `other`. */
  minus(other: Bitmap): Bitmap {
    const words = this.#words.slice();
    const theirs = other.#words;
    for (let i = 0; i < Math.min(words.length, theirs.length); i++) words[i] = (words[i] ?? 0) & ~(theirs[i] ?? 0);
    return new Bitmap(words);
  }

  equals(other: Bitmap): boolean {
    const [ours, theirs] = [this.#words, other.#words];
    for (let i = 0; i < Math.max(ours.length, theirs.length); i++)
      if ((ours[i] ?? 0) !== (theirs[i] ?? 0)) return false;
    return true;
  }

  get size(): number {
    let count = 0;
    for (let word of this.#words) {
      word -= (word >>> 1) & 0x55555555;
      word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
      count += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
    }
    return count;
  }

  /** The highest ordinal in the set, or -1. */
  get highest(): number {
    for (let i = this.#words.length - 1; i >= 0; i--) {
      const word = this.#words[i] ?? 0;
      if (word !== 0) return i * 32 + 31 - Math.clz32(word);
    }
    return -1;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let i = 0; i < this.#words.length; i++) {
      let word = this.#words[i] ?? 0;
      while (word !== 0) {
        const bit = 31 - Math.clz32(word & -word);
        yield i * 32 + bit;
        word &= word - 1;
      }
    }
  }

  #grow(words: number): void {
    if (words * 4 > maxBitmapBytes) throw new FormatError("an ordinal is too large");
    const grown = new Uint32Array(Math.max(words, this.#words.length * 2));
    grown.set(this.#words);
    this.#words = grown;
  }
}

function decompressed(bytes: Uint8Array, maxBytes: number): Buffer {
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: Math.max(maxBytes, 1) });
  } catch (cause) {
    throw new FormatError("a bitmap does not decompress", { cause });
  }
}
