/**
 * The digest of a directory: one SHA-256 over the names of its files and over the quick stat of each file. Only a
 * directory that holds files and nothing else has a digest. Two digests are equal only where no file was added, removed,
 * renamed or changed, so a backup compares two digests instead of all files (docs/decisions/0128-directory-digests.md).
 *
 * What is hashed: the names in byte order, each followed by "/"; then seven doubles per file (`statFields`).
 */

import { createHash } from "node:crypto";

/** Doubles per file: inode, size, mtime, ctime (both in milliseconds), mode, uid, gid. */
export const statFields = 7;

/** What follows every name. No name has a slash, so two different lists of names never become the same bytes. */
export const nameEnd = 0x2f;

/**
 * Files of a directory that has a digest. The walk holds their names and stats (about 8 MiB), and it makes no pause for
 * other work while it stats them (about 0.2 s).
 */
export const maxDigestFiles = 64 * 1024;

/** `names` are the bytes to hash, in any number of chunks; `stats` has `statFields` numbers for each name. */
export function directoryDigest(names: Iterable<Uint8Array>, stats: Float64Array): Buffer {
  const hash = createHash("sha256");
  for (const chunk of names) hash.update(chunk);
  return hash.update(new Uint8Array(stats.buffer, stats.byteOffset, stats.byteLength)).digest();
}
