/**
 * What reading and writing zip archives have in common (PKWARE APPNOTE 6.3.10, Info-ZIP's extra fields). All numbers are little
 * endian. A number that does not fit into its field is all ones there, and its value is in the zip64 extra field.
 */

import { InvalidArchiveError } from "./invalid-archive.ts";

export const signatures = {
  local: 0x04034b50,
  descriptor: 0x08074b50,
  record: 0x02014b50,
  end: 0x06054b50,
  end64: 0x06064b50,
  locator: 0x07064b50,
} as const;

/** Bytes of the structures without names, extra fields and comments. */
export const lengths = { local: 30, record: 46, end: 22, end64: 56, locator: 20 } as const;

export const max16 = 0xffff;
export const max32 = 0xffff_ffff;

export const methods = { stored: 0, deflated: 8 } as const;

export const flags = {
  encrypted: 0x0001,
  /** CRC and sizes are in a descriptor after the content. */
  descriptor: 0x0008,
  patch: 0x0020,
  strongEncryption: 0x0040,
  utf8: 0x0800,
  maskedHeaders: 0x2000,
} as const;

export const extraIds = {
  zip64: 0x0001,
  ntfs: 0x000a,
  time: 0x5455,
  unicodePath: 0x7075,
  owner: 0x7875,
} as const;

/** The system that an entry was made on, by which its attributes and its name are read. */
export const systems = { fat: 0, unix: 3, hpfs: 6, ntfs: 10, vfat: 14, darwin: 19 } as const;

/** Types of files in a Unix mode. */
export const fileTypes = { mask: 0o170000, regular: 0o100000, directory: 0o040000, link: 0o120000 } as const;
export const permissionBits = 0o7777;

export const dosAttributes = { readOnly: 0x01, directory: 0x10, hasUnixMode: 0x8000 } as const;

export type ExtraFields = ReadonlyMap<number, Buffer>;

/** The id of an extra field, and its length. */
const extraHeaderBytes = 4;
const knownIds: ReadonlySet<number> = new Set(Object.values(extraIds));

/**
 * The extra fields that concern us. What follows the last whole field is padding of some programs. A field that is there twice is
 * refused: readers do not agree on which one counts.
 */
export function readExtras(bytes: Buffer, name: Buffer): ExtraFields {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + extraHeaderBytes <= bytes.length; ) {
    const id = bytes.readUInt16LE(at);
    const start = at + extraHeaderBytes;
    const end = start + bytes.readUInt16LE(at + 2);
    if (end > bytes.length) break;
    if (knownIds.has(id)) {
      if (found.has(id)) throw new InvalidArchiveError("malformed_extended_header", name);
      found.set(id, bytes.subarray(start, end));
    }
    at = end;
  }
  return found;
}

/** A number of 64 bits. */
export function readLong(bytes: Buffer, at: number, name: Buffer | null): number {
  const value = bytes.readBigUInt64LE(at);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new InvalidArchiveError("number_out_of_range", name);
  return Number(value);
}

/** Of a number in the zip64 field. */
const longBytes = 8;

/** The values in place of those that are all ones, in the order of the zip64 extra field. */
export function readZip64(values: readonly number[], field: Buffer | undefined, name: Buffer): readonly number[] {
  let at = 0;
  return values.map((value) => {
    if (value !== max32) return value;
    if (field === undefined || at + longBytes > field.length)
      throw new InvalidArchiveError("malformed_extended_header", name);
    at += longBytes;
    return readLong(field, at - longBytes, name);
  });
}
