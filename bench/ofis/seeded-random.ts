/**
 * Random numbers that repeat. Each file has its own generator, made from the seed of the tree and labels of the file, so
 * files can be made in any order and by any thread with the same result. It uses integers only (sfc32): no result depends
 * on how a machine rounds.
 */

import { createCipheriv, hash } from "node:crypto";

/** Taken from the cipher at once: large enough for its full speed, small enough to stay in the processor's cache. */
const drawBytes = 256 * 1024;
const zeros = Buffer.alloc(drawBytes);

export class SeededRandom {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  readonly #key: Buffer;

  constructor(seed: number, ...labels: readonly (string | number)[]) {
    this.#key = hash("sha256", `ofis ${seed} ${labels.join("/")}`, "buffer");
    this.#a = this.#key.readUInt32LE(0);
    this.#b = this.#key.readUInt32LE(4);
    this.#c = this.#key.readUInt32LE(8);
  }

  /** 32 random bits, unsigned. */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A whole number from 0 to `limit` − 1; `limit` is far below 2^32, so the bias is negligible. */
  below(limit: number): number {
    return this.next() % limit;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(share: number): boolean {
    return this.next() < share * 0x1_0000_0000;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError("nothing to pick from");
    return value;
  }

  /** Like `pick`, but the first values far more often than the last ones: the smaller of two random indexes counts. */
  pickSkewed<T>(values: readonly T[]): T {
    const value = values[Math.min(this.below(values.length), this.below(values.length))];
    if (value === undefined) throw new RangeError("nothing to pick from");
    return value;
  }

  digits(count: number): string {
    let text = "";
    for (let i = 0; i < count; i++) text += String(this.below(10));
    return text;
  }

  /** A random UUID in the form of version 4. */
  uuid(): string {
    const hex = this.bytes(16).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  /** Incompressible bytes. */
  bytes(length: number): Buffer {
    return Buffer.concat([...this.chunks(length)]);
  }

  /** Incompressible bytes in pieces, for lengths that are too large for memory. Each call starts a new stream. */
  *chunks(length: number): Generator<Buffer> {
    const start = Buffer.alloc(16);
    start.writeUInt32LE(this.next(), 0);
    start.writeUInt32LE(this.next(), 4);
    const cipher = createCipheriv("aes-256-ctr", this.#key, start);
    for (let left = length; left > 0; left -= drawBytes)
      yield cipher.update(zeros.subarray(0, Math.min(left, drawBytes)));
  }
}
