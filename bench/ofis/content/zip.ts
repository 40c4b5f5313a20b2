/**
 * Zip files, written in one pass with bounded memory. They are compressed with Huffman codes alone: the
 * result depends on no match finder, so it is the same on every machine. It is as incompressible as any deflated file,
 * because the input is random text.
 */

import { constants, crc32, deflateRawSync } from "node:zlib";
import type { FileWriter } from "../file-writer.ts";
import type { SeededRandom } from "../seeded-random.ts";

/** Text compressed at a time; a multiple of three, so that base64 has no padding inside. */
const portionBytes = 192 * 1024;

/** Sizes and checksum follow the data, because they are not known before. */
const descriptorFlag = 0x0008;
export const utf8Flag = 0x0800;

interface Listed {
  readonly name: Uint8Array;
  readonly flags: number;
  readonly crc: number;
  readonly packed: number;
  readonly plain: number;
  readonly at: number;
}

/** Random text in pieces; what it compresses to is about `bytes` long. */
export function* denseText(random: SeededRandom, bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= portionBytes)
    yield Buffer.from(random.bytes(Math.min(left, portionBytes)).toString("base64"), "latin1");
}

export class ZipWriter {
  readonly #out: FileWriter;
  readonly #listed: Listed[] = [];
  /** DOS date in the upper, time in the lower half. */
  readonly #time: number;

  constructor(out: FileWriter, date: string) {
    this.#out = out;
    const [year = 1980, month = 1, day = 1] = date.split("-").map(Number);
    this.#time = ((((year - 1980) << 9) | (month << 5) | day) << 16) >>> 0;
  }

  /** Adds a file of these pieces. `flags` says how the name is written: `utf8Flag`, or 0 for a code page. */
  add(name: Uint8Array, flags: number, pieces: Iterable<Uint8Array>): void {
    const at = this.#out.size;
    this.#out.write(this.#localHeader(name, flags | descriptorFlag));
    let crc = 0;
    let packed = 0;
    let plain = 0;
    for (const piece of pieces) {
      crc = crc32(piece, crc);
      plain += piece.length;
      packed += this.#deflate(piece, false);
    }
    packed += this.#deflate(Buffer.alloc(0), true);
    const descriptor = Buffer.alloc(16);
    descriptor.writeUInt32LE(0x08074b50, 0);
    descriptor.writeUInt32LE(crc, 4);
    descriptor.writeUInt32LE(packed, 8);
    descriptor.writeUInt32LE(plain, 12);
    this.#out.write(descriptor);
    this.#listed.push({ name, flags: flags | descriptorFlag, crc, packed, plain, at });
  }

  finish(): void {
    const start = this.#out.size;
    for (const each of this.#listed) this.#out.write(this.#centralHeader(each));
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(this.#listed.length, 8);
    end.writeUInt16LE(this.#listed.length, 10);
    end.writeUInt32LE(this.#out.size - start, 12);
    end.writeUInt32LE(start, 16);
    this.#out.write(end);
  }

  #deflate(piece: Uint8Array, last: boolean): number {
    const finishFlush = last ? constants.Z_FINISH : constants.Z_FULL_FLUSH;
    const bytes = deflateRawSync(piece, { strategy: constants.Z_HUFFMAN_ONLY, finishFlush });
    this.#out.writeDense(bytes);
    return bytes.length;
  }

  #localHeader(name: Uint8Array, flags: number): Buffer {
    const header = Buffer.alloc(30 + name.length);
    header.writeUInt32LE(0x04034b50, 0);
    header.writeUInt16LE(20, 4);
    header.writeUInt16LE(flags, 6);
    header.writeUInt16LE(8, 8);
    header.writeUInt32LE(this.#time, 10);
    header.writeUInt16LE(name.length, 26);
    header.set(name, 30);
    return header;
  }

  #centralHeader({ name, flags, crc, packed, plain, at }: Listed): Buffer {
    const header = Buffer.alloc(46 + name.length);
    header.writeUInt32LE(0x02014b50, 0);
    header.writeUInt16LE(20, 4);
    header.writeUInt16LE(20, 6);
    header.writeUInt16LE(flags, 8);
    header.writeUInt16LE(8, 10);
    header.writeUInt32LE(this.#time, 12);
    header.writeUInt32LE(crc, 16);
    header.writeUInt32LE(packed, 20);
    header.writeUInt32LE(plain, 24);
    header.writeUInt16LE(name.length, 28);
    header.writeUInt32LE(at, 42);
    header.set(name, 46);
    return header;
  }
}
