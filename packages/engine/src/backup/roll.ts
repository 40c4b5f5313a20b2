/**
 * A directory's files at once: their names in order, and of each the marks by which a change shows. A directory that holds
 * nothing but remembered files and whose roll is the same as it was needs no look at what is remembered of each
 * (docs/decisions/0128-a-roll-is-called.md). Rolls are compared by their digests.
 */

import { ByteWriter, varintAt, varintLength } from "../bytes.ts";
import { sha256 } from "../hash.ts";

/** Inode, size, mtime and ctime in milliseconds, mode, uid, gid. */
export const marksPerFile = 7;

/** No name has a slash in it, so joined names cannot be mistaken. */
const separator = "/";

/** Says that two rolls are the same, and nothing less. Names have a character for each byte. */
export function rollDigest(names: readonly string[], marks: Float64Array): Buffer {
  const text = Buffer.from(names.join(separator), "latin1");
  return sha256(Buffer.concat([text, Buffer.from(marks.buffer, marks.byteOffset, marks.byteLength)]));
}

/** What a directory adds to its snapshot when every file in it is as it was. */
export interface RollSum {
  readonly files: number;
  readonly size: number;
  /** Every ordinal that the files' contents reach. */
  readonly ordinals: Iterable<number>;
}

/** A sum as it is remembered: files, bytes, and the ordinals in ascending order, each as its distance to the one before. */
export function encodeRollSum({ files, size, ordinals }: RollSum): Buffer {
  const out = new ByteWriter().varint(files).varint(size);
  let last = 0;
  for (const ordinal of Float64Array.from(new Set(ordinals)).sort()) {
    out.varint(ordinal - last);
    last = ordinal;
  }
  return out.take();
}

export function decodeRollSum(bytes: Uint8Array): RollSum {
  const ordinals: number[] = [];
  let at = 0;
  const next = () => {
    const value = varintAt(bytes, at);
    at += varintLength(value);
    return value;
  };
  const files = next();
  const size = next();
  for (let last = 0; at < bytes.length; ordinals.push(last)) last += next();
  return { files, size, ordinals };
}
