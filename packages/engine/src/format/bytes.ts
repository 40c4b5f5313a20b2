/**
 * Reading and writing the format's primitive values: fixed little-endian integers, LEB128 varints up to 2^53, and
 * length-prefixed byte strings. Everything that the engine stores is written with these.
 *
 * A reader checks every length: reading past the end is a `FormatError`, never a short value.
 */

/** Bytes that do not follow the format: damaged, truncated, or not of this vault. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}

/** A growing byte buffer. Reused with `reset` in loops, so that encoding a million entries allocates little. */
export class ByteWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity = 256) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  reset(): void {
    this.#length = 0;
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  u16(value: number): this {
    this.#reserve(2);
    this.#length = this.#bytes.writeUInt16LE(value, this.#length);
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(value, this.#length);
    return this;
  }

  u64(value: number): this {
    this.#reserve(8);
    this.#length = this.#bytes.writeBigUInt64LE(BigInt(value), this.#length);
    return this;
  }

  /** A signed 64-bit integer. */
  i64(value: bigint): this {
    this.#reserve(8);
    this.#length = this.#bytes.writeBigInt64LE(value, this.#length);
    return this;
  }

  varint(value: number): this {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not a varint: ${value}`);
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
    return this;
  }

  /** A signed varint: 0, -1, 1, -2, … as 0, 1, 2, 3, … */
  zigzag(value: number): this {
    return this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** A part of some bytes. */
  part(bytes: Buffer, from: number, to: number): this {
    this.#reserve(to - from);
    bytes.copy(this.#bytes, this.#length, from, to);
    this.#length += to - from;
    return this;
  }

  /** A varint length and the bytes. */
  bytes(bytes: Uint8Array): this {
    return this.varint(bytes.length).raw(bytes);
  }

  text(value: string): this {
    return this.bytes(Buffer.from(value, "utf8"));
  }

  /** A copy of the written bytes. */
  take(): Buffer {
    return ownCopy(this.#bytes.subarray(0, this.#length));
  }

  /** The written bytes, valid until the next write or reset. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Releases the memory. The writer must not be used afterwards. */
  free(): void {
    this.#length = 0;
    release(this.#bytes);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + count));
    grown.set(this.#bytes.subarray(0, this.#length));
    release(this.#bytes);
    this.#bytes = grown;
  }
}

/** Reads what `ByteWriter` wrote. Slices are views into the given bytes. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.#bytes = asBuffer(bytes);
    this.#at = at;
    this.#end = end;
  }

  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  u8(): number {
    const at = this.#step(1);
    return this.#bytes.readUInt8(at);
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#step(2));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#step(4));
  }

  u64(): number {
    const value = this.#bytes.readBigUInt64LE(this.#step(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new FormatError("a 64-bit value is out of range");
    return Number(value);
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
      scale *= 0x80;
    }
    throw new FormatError("a varint is out of range");
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  raw(length: number): Buffer {
    const at = this.#step(length);
    return this.#bytes.subarray(at, at + length);
  }

  bytes(): Buffer {
    return this.raw(this.varint());
  }

  skip(length: number): void {
    this.#step(length);
  }

  text(): string {
    return this.bytes().toString("utf8");
  }

  /** Throws unless all bytes were read. */
  done(): void {
    if (this.left !== 0) throw new FormatError(`${this.left} bytes too many`);
  }

  #step(count: number): number {
    const at = this.#at;
    if (count < 0 || at + count > this.#end) throw new FormatError("truncated");
    this.#at = at + count;
    return at;
  }
}

/** The same memory as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Byte-wise equality. Not for secrets: the time depends on the first difference. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/**
 * A copy outside of Node's buffer pool. A small buffer from the pool keeps its whole page in memory: a thousand ids that
 * waited to be registered held 50 MiB.
 */
export function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** A shared page of Node's buffer pool is never larger than this. */
const largestSharedBytes = 128 * 1024;

/**
 * Releases the memory of a buffer at once; the buffer must not be used afterwards. The garbage collector would run only
 * after tens of megabytes of buffers. A buffer on a page that may be shared is not released.
 */
export function release(bytes: Uint8Array): void {
  const { buffer, byteOffset, byteLength } = bytes;
  if (!(buffer instanceof ArrayBuffer) || buffer.detached) return;
  const isWhole = byteOffset === 0 && byteLength === buffer.byteLength;
  if (isWhole || buffer.byteLength > largestSharedBytes) buffer.transfer(0);
}

/** The varint at an offset, without a reader and without checks: for loops over very many, on bytes that we wrote. */
export function varintAt(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = at, scale = 1, byte = 0x80; byte >= 0x80; i++, scale *= 0x80) {
    byte = bytes[i] ?? 0;
    value += (byte & 0x7f) * scale;
  }
  return value;
}

/** The encoded length of a varint. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/** Lower-case hexadecimal, as object names and messages use it. */
export function hex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("hex");
}
