/**
 * Every identifier of the format, each in a domain of its own.
 *
 * - *block id* (16 bytes): AES-256 under the vault's block-id key of the first half of the block's SHA-256. Keyed, so
 *   that nobody without the key can test whether a vault holds a known block. One permutation over a list of digests
 *   costs nothing beside the hashing; HMAC per block costs a third more (docs/decisions/0102).
 * - *segment id* (32): SHA-256 over the block ids and lengths. Inherits the key; computed without reading old data.
 * - *node id* (32): SHA-256 over a derived key and the node's bytes (trees and lists).
 * - *file hash* (32): over the size and the ids of the file's own segments, independent of bundling.
 * - *frame id* (32): plain SHA-256 of the sealed bytes, so that scrubbing needs no key.
 */

import { createCipheriv, createHash, hash, hkdfSync } from "node:crypto";
import { asBuffer } from "./bytes.ts";

export const blockIdLength = 16;
export const idLength = 32;

const segmentDomain = Buffer.from("emanet segment v1\0");
const nodeDomain = Buffer.from("emanet node v1\0");
const fileDomain = Buffer.from("emanet file v1\0");

/** Derives an independent 32-byte key for one purpose. */
export function deriveKey(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, Buffer.alloc(0), `emanet v1 ${purpose}`, 32));
}

/** SHA-256 in one call. */
export function sha256(bytes: Uint8Array): Buffer {
  return hash("sha256", bytes, "buffer");
}

/** Writes the first half of a block's SHA-256 where `keyBlockIds` will turn it into its id. */
export function digestBlock(block: Uint8Array, into: Uint8Array, at: number): void {
  into.set(hash("sha256", block, "buffer").subarray(0, blockIdLength), at);
}

/** Turns a list of digests made by `digestBlock` into block ids. */
export function keyBlockIds(blockIdKey: Uint8Array, digests: Uint8Array): Buffer {
  const cipher = createCipheriv("aes-256-ecb", blockIdKey, null);
  cipher.setAutoPadding(false);
  return cipher.update(digests);
}

/** The id of one block. For many, use the two steps. */
export function blockId(blockIdKey: Uint8Array, block: Uint8Array): Buffer {
  return keyBlockIds(blockIdKey, sha256(block).subarray(0, blockIdLength));
}

/** The id of a segment made of these blocks: `ids` holds 16 bytes per block, `lengths` one number. */
export function segmentId(ids: Uint8Array, lengths: Uint32Array): Buffer {
  const lengthBytes = Buffer.from(lengths.buffer, lengths.byteOffset, lengths.byteLength);
  // One call over a copy: for the few kilobytes of a list of ids this is faster than a hash object.
  return hash("sha256", Buffer.concat([segmentDomain, ids, lengthBytes]), "buffer");
}

/** The id of a tree or list node. */
export function nodeId(nodeKey: Uint8Array, node: Uint8Array): Buffer {
  return createHash("sha256").update(nodeDomain).update(nodeKey).update(node).digest();
}

/** A file's hash: the Merkle root over the ids of its segments (a bundled file is one segment of its own). */
export function fileHash(size: number, segmentIds: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(size));
  return hash("sha256", Buffer.concat([fileDomain, head, ...segmentIds]), "buffer");
}

/** A cheap, stable 32-bit hash for places where only the spread matters (bundle and node boundaries). */
export function spread32(bytes: Uint8Array, seed = 0x811c9dc5): number {
  let h = seed;
  const view = asBuffer(bytes);
  for (let i = 0; i < view.length; i++) h = Math.imul(h ^ (view[i] ?? 0), 0x01000193);
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
