/**
 * A directory's files at once: their names in order, and of each the marks by which a change shows. A directory that holds
 * nothing but remembered files and whose roll is the same as it was needs no look at what is remembered of each
 * (docs/decisions/0128-a-roll-is-called.md). Rolls are compared by their digests.
 */

import { ByteWriter, release, varintAt, varintLength } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import { decodeOrdinals, encodeOrdinals } from "../format/ordinal-list.ts";

/** Inode, size, mtime and ctime in milliseconds, mode, uid, gid. */
export const marksPerFile = 7;

/** No name has a slash in it, nor a byte that is zero, as marks have: joined names cannot be mistaken. */
export const nameSeparator = 0x2f;

/** Files of a roll: they are looked at without a turn for other work, some 20 milliseconds. */
export const maxRolledFiles = 4096;

/** Two rolls have the same digest only if they are the same. Names are joined by the separator. */
export function rollDigest(names: Uint8Array, marks: Float64Array): Buffer {
  const whole = Buffer.concat([names, Buffer.from(marks.buffer, marks.byteOffset, marks.byteLength)]);
  const digest = sha256(whole);
  release(whole);
  return digest;
}

/** What a directory adds to its snapshot when every file in it is as it was. */
export interface RollTotals {
  readonly files: number;
  readonly size: number;
  /** Every ordinal that the files' contents reach. */
  readonly ordinals: Iterable<number>;
}

/** Totals as they are remembered: files, bytes, ordinals. */
export function encodeTotals({ files, size, ordinals }: RollTotals): Buffer {
  return new ByteWriter().varint(files).varint(size).raw(encodeOrdinals(ordinals)).take();
}

export function decodeTotals(bytes: Uint8Array): RollTotals {
  const files = varintAt(bytes, 0);
  const afterFiles = varintLength(files);
  const size = varintAt(bytes, afterFiles);
  return { files, size, ordinals: decodeOrdinals(bytes, afterFiles + varintLength(size)) };
}
