/**
 * All ids of the format. Each kind has its own domain, so no two kinds can be confused.
 *
 * - *block id* (16 bytes): CBC-MAC with AES-256 under the vault's block-id key over the whole SHA-256 of the block. A
 *   pseudo-random function of the full digest. Without the key it is impossible to test whether a vault has a known block,
 *   or to search for two blocks with the same id (a digest that is shortened before it is keyed would allow that). Two cipher
 *   calls over a list of digests take almost no time compared with the hashing (docs/decisions/0102).
 * - *segment id* (32): SHA-256 over the block ids and lengths. It is keyed because block ids are. Computed without
 *   reading old data.
 * - *node id* (32): SHA-256 over a derived key and the node's bytes (trees and lists).
 * - *file hash* (32): over the size and the ids of the file's own segments, independent of bundling.
 * - *frame id* (32): plain SHA-256 of the sealed bytes, so that scrub needs no key.
 */

import { createCipheriv, createHash, hash, hkdfSync } from "node:crypto";
import { asBuffer, sameBytes } from "./bytes.ts";

export const blockIdLength = 16;
export const idLength = 32;

/** Bytes per block in a list of digests. */
export const digestLength = 32;

const segmentDomain = Buffer.from("emanet segment v2\0");
const nodeDomain = Buffer.from("emanet node v2\0");
const fileDomain = Buffer.from("emanet file v2\0");

/** Derives an independent 32-byte key for one purpose. */
export function deriveKey(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, Buffer.alloc(0), `emanet v2 ${purpose}`, 32));
}

/** SHA-256 in one call. */
export function sha256(bytes: Uint8Array): Buffer {
  return hash("sha256", bytes, "buffer");
}

/** Writes a block's SHA-256 as number `index` of a list that `keyBlockIds` will turn into ids. */
export function digestBlock(block: Uint8Array, into: Uint8Array, index: number): void {
  into.set(hash("sha256", block, "buffer"), index * digestLength);
}

/**
 * The same for `count` consecutive blocks. The first block starts at `from`, and block i ends at `ends[i]`. The digests
 * are joined as strings and written at once: one buffer per digest costs a seventh of the hashing (docs/decisions/0118).
 */
export function digestBlocks(
  bytes: Uint8Array,
  from: number,
  ends: Uint32Array,
  count: number,
  into: Buffer,
  index: number,
): void {
  let joined = "";
  let start = from;
  for (let i = 0; i < count; i++) {
    const end = ends[i] ?? start;
    joined += hash("sha256", bytes.subarray(start, end), "latin1");
    start = end;
  }
  into.write(joined, index * digestLength, "latin1");
}

/** Turns a list of digests made by `digestBlock` into block ids: AES(AES(first half) xor second half). */
export function keyBlockIds(blockIdKey: Uint8Array, digests: Uint8Array): Buffer {
  const cipher = createCipheriv("aes-256-ecb", blockIdKey, null);
  cipher.setAutoPadding(false);
  const words = asWords(digests);
  const halves = new Uint32Array(words.length / 2);
  takeFirstHalves(words, halves);
  const mixed = asWords(cipher.update(asBytes(halves)));
  xorSecondHalves(words, mixed);
  return cipher.update(asBytes(mixed));
}

/** Words of a digest, and of one half of it. */
const digestWords = digestLength / 4;
const halfWords = digestWords / 2;

// Small functions over words: V8 recompiled one long loop over bytes every few calls.
function takeFirstHalves(digests: Uint32Array, halves: Uint32Array): void {
  for (let at = 0; at < halves.length; at++) {
    halves[at] = digests[((at & ~(halfWords - 1)) << 1) + (at & (halfWords - 1))] ?? 0;
  }
}

function xorSecondHalves(digests: Uint32Array, mixed: Uint32Array): void {
  for (let at = 0; at < mixed.length; at++) {
    const second = digests[((at & ~(halfWords - 1)) << 1) + halfWords + (at & (halfWords - 1))] ?? 0;
    mixed[at] = (mixed[at] ?? 0) ^ second;
  }
}

/** The same memory as words, or a copy if it is not aligned to words. The byte order does not matter. */
function asWords(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0 ? bytes : Uint8Array.from(bytes);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / Uint32Array.BYTES_PER_ELEMENT);
}

function asBytes(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
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
  return hash("sha256", Buffer.concat([nodeDomain, nodeKey, node]), "buffer");
}

/** Compares nodes with their ids. Nothing is allocated for a node of usual length: verify checks millions. */
export class NodeChecker {
  readonly #nodeKey: Uint8Array;
  readonly #headBytes: number;
  /** Domain and key, and space for a node. */
  readonly #scratch: Buffer;

  constructor(nodeKey: Uint8Array) {
    this.#nodeKey = nodeKey;
    this.#headBytes = nodeDomain.length + nodeKey.length;
    this.#scratch = Buffer.concat([nodeDomain, nodeKey], this.#headBytes + usualNodeBytes);
  }

  /** Whether these bytes are the node of this id. */
  isNode(id: Uint8Array, node: Uint8Array): boolean {
    if (node.length > usualNodeBytes) return sameBytes(nodeId(this.#nodeKey, node), id);
    this.#scratch.set(node, this.#headBytes);
    const found = hash("sha256", this.#scratch.subarray(0, this.#headBytes + node.length), "latin1");
    return found === asBuffer(id).toString("latin1");
  }
}

/** A builder ends a node at 16 KiB, unless its names are very long. */
const usualNodeBytes = 16 * 1024;

/** A file's hash: a hash over its size and the ids of its segments (a bundled file counts as one segment of its blocks). */
export function fileHash(size: number, segmentIds: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(size));
  return hash("sha256", Buffer.concat([fileDomain, head, ...segmentIds]), "buffer");
}

/** The same hash of ids that come one after the other: a large file has millions. */
export class FileHash {
  readonly #hash = createHash("sha256").update(fileDomain);

  constructor(size: number) {
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(BigInt(size));
    this.#hash.update(head);
  }

  add(segmentId: Uint8Array): void {
    this.#hash.update(segmentId);
  }

  finish(): Buffer {
    return this.#hash.digest();
  }
}

/** A fast, stable 32-bit hash without security, for the ends of bundles and nodes. */
export function hash32(bytes: Uint8Array, seed = 0x811c9dc5, from = 0, to = bytes.length): number {
  let h = seed;
  for (let i = from; i < to; i++) h = Math.imul(h ^ (bytes[i] ?? 0), 0x01000193);
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
