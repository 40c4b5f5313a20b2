/**
 * The fields of a tar header: one block of 512 bytes. Read from v7, ustar, pax and GNU archives.
 *
 * Names are bytes. Numbers are octal text, or base 256 with the highest bit of the first byte set (GNU).
 */

import { InvalidArchiveError } from "./invalid-archive.ts";

export const blockSize = 512;

/** Where each field is: start and length (POSIX `ustar`, and GNU where they differ). */
export const fields = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  linkName: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
  /** GNU sparse files: four parts, whether blocks with more parts follow, and the size of the expanded file. */
  sparseParts: [386, 96],
  sparseIsExtended: [482, 1],
  sparseRealSize: [483, 12],
} as const satisfies Record<string, readonly [number, number]>;

const space = 0x20;
const slash = 0x2f;
const zero = 0x30;
const seven = 0x37;

/** `ustar` followed by NUL: POSIX. GNU writes `ustar` followed by two spaces, and has no prefix. */
const posixMagic = Buffer.from("ustar\0");

export interface TarHeader {
  readonly type: string;
  readonly name: Buffer;
  readonly linkName: Buffer;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtimeSeconds: number;
}

export function isZeroBlock(block: Buffer): boolean {
  return block.equals(zeroBlock);
}

const zeroBlock = Buffer.alloc(blockSize);

/** Whether the checksum fits. Some old programs summed signed bytes; both sums are accepted, as by every reader. */
export function isHeader(block: Buffer): boolean {
  const stored = readOctal(fieldOf(block, "checksum"));
  const [start, length] = fields.checksum;
  // The field itself counts as spaces.
  let sum = space * length;
  for (let at = 0; at < start; at++) sum += block[at] ?? 0;
  for (let at = start + length; at < blockSize; at++) sum += block[at] ?? 0;
  return stored !== null && (stored === sum || stored === sum - 0x100 * highBytes(block));
}

/** Bytes outside the checksum that are negative as signed bytes. */
function highBytes(block: Buffer): number {
  const [start, length] = fields.checksum;
  return block.reduce((count, byte, at) => count + (byte >= 0x80 && (at < start || at >= start + length) ? 1 : 0), 0);
}

/** Reads a header whose checksum fits. */
export function readHeader(block: Buffer): TarHeader {
  const name = joinedName(block);
  const number = (field: keyof typeof fields) => readNumber(fieldOf(block, field), name);
  return {
    type: String.fromCharCode(block[fields.type[0]] || zero),
    name,
    linkName: textOf(fieldOf(block, "linkName")),
    mode: number("mode"),
    uid: number("uid"),
    gid: number("gid"),
    size: sizeOf(number("size"), name),
    mtimeSeconds: number("mtime"),
  };
}

export function fieldOf(block: Buffer, field: keyof typeof fields): Buffer {
  const [start, length] = fields[field];
  return block.subarray(start, start + length);
}

/** Refuses a negative size. */
export function sizeOf(value: number, path: Uint8Array): number {
  if (value < 0) throw new InvalidArchiveError("number_out_of_range", path);
  return value;
}

/** A number of a header field. An empty field is 0, as for every reader. */
export function readNumber(field: Buffer, path: Uint8Array): number {
  const isBase256 = ((field[0] ?? 0) & 0x80) !== 0;
  const value = isBase256 ? readBase256(field) : readOctal(field);
  if (value === null) throw new InvalidArchiveError("number_out_of_range", path);
  return value;
}

/** Null if the field has other bytes than octal digits between spaces and NULs. Twelve digits stay far below 2^53. */
function readOctal(field: Buffer): number | null {
  let at = 0;
  while (at < field.length && field[at] === space) at++;
  let value = 0;
  for (; at < field.length; at++) {
    const byte = field[at] ?? 0;
    if (byte === 0 || byte === space) break;
    if (byte < zero || byte > seven) return null;
    value = value * 8 + (byte - zero);
  }
  return value;
}

/** Two's complement, big-endian. The highest bit of the field marks this form, the next one is the sign. Null beyond 2^53. */
function readBase256(field: Buffer): number | null {
  const isNegative = ((field[0] ?? 0) & 0x40) !== 0;
  let value = BigInt((field[0] ?? 0) & 0x7f) - (isNegative ? 0x80n : 0n);
  for (const byte of field.subarray(1)) value = value * 256n + BigInt(byte);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : null;
}

/** The bytes before the first NUL. */
export function textOf(field: Buffer): Buffer {
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end));
}

function joinedName(block: Buffer): Buffer {
  const name = textOf(fieldOf(block, "name"));
  if (!fieldOf(block, "magic").subarray(0, posixMagic.length).equals(posixMagic)) return name;
  const prefix = textOf(fieldOf(block, "prefix"));
  return prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.of(slash), name]);
}
