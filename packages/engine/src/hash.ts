/**
 * Every identifier of the format, each in a domain of its own.
 *
 * - *block id* (16 bytes): CBC-MAC with AES-256 under the vault's block-id key over the whole SHA-256 of the block. A
 *   pseudo-random function of the full digest: without the key nobody can test whether a vault holds a known block, nor
 *   look for two blocks of one id, which a digest that is shortened before it is keyed would allow. Two cipher calls over
 *   a list of digests cost nothing beside the hashing (docs/decisions/0102).
 * - *segment id* (32): SHA-256 over the block ids and lengths. Inherits the key; computed without reading old data.
 * - *node id* (32): SHA-256 over a derived key and the node's bytes (trees and lists).
 * - *file hash* (32): over the size and the ids of the file's own segments, independent of bundling.
 * - *frame id* (32): plain SHA-256 of the sealed bytes, so that scrubbing needs no key.
 */

import { createCipheriv, createHash, hash, hkdfSync } from "node:crypto";
import { asBuffer, sameBytes } from "./bytes.ts";

export const blockIdLength = 16;
export const idLength = 32;

/** Bytes per block in a list of digests. */
export const digestLength = 32;

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

/** Writes a block's SHA-256 as number `index` of a list that `keyBlockIds` will turn into ids. */
export function digestBlock(block: Uint8Array, into: Uint8Array, index: number): void {
  into.set(hash("sha256", block, "buffer"), index * digestLength);
}

/** Turns a list of digests made by `digestBlock` into block ids: AES(AES(first half) xor second half). */
export function keyBlockIds(blockIdKey: Uint8Array, digests: Uint8Array): Buffer {
  const cipher = createCipheriv("aes-256-ecb", blockIdKey, null);
  cipher.setAutoPadding(false);
  const halves = Buffer.allocUnsafe(digests.length / 2);
  for (let from = 0, to = 0; from < digests.length; from += digestLength, to += blockIdLength)
    halves.set(digests.subarray(from, from + blockIdLength), to);
  const mixed = cipher.update(halves);
  for (let at = 0; at < mixed.length; at++) {
    // Byte `at` of the list of ids faces the byte of its digest's second half.
    const second = (at & ~0xf) * 2 + blockIdLength + (at & 0xf);
    mixed[at] = (mixed[at] ?? 0) ^ (digests[second] ?? 0);
  }
  return cipher.update(mixed);
}

/** The id of one block. For many, use the two steps. */
export function blockId(blockIdKey: Uint8Array, block: Uint8Array): Buffer {
  return keyBlockIds(blockIdKey, sha256(block));
}

/** Whether these bytes are the block of this id. */
export function isBlock(blockIdKey: Uint8Array, id: Uint8Array, block: Uint8Array): boolean {
  return sameBytes(blockId(blockIdKey, block), id);
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
