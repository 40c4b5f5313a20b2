/**
 * The files that verify has checked, so that a file is planned once, however many nodes and snapshots have it. A changed leaf
 * has one new entry and some twenty old ones.
 *
 * What is checked of a file follows from its size, hash and content. The set keeps these bytes. For files of several segments it
 * keeps a SHA-256 of them; hashing every entry of a changed leaf would take half of verify's time. `memoryBytes` limits the
 * set; files that do not fit are checked again.
 */

import { ByteWriter } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import type { FileEntry } from "../format/tree-entry.ts";
import { writeContent } from "../format/tree-entry.ts";

/** A part of a bundle and a file of one segment are shorter: two ids and some small numbers. */
const maxKeyBytes = 128;

/** The memory of a key beside its bytes: the header of a string, and a place in a set that is half empty. */
const bytesPerKey = 64;

export class CheckedFiles {
  readonly #scratch = new ByteWriter(1024);
  readonly #keys = new Set<string>();
  #memoryLeft: number;

  constructor(memoryBytes: number) {
    this.#memoryLeft = memoryBytes;
  }

  has(entry: FileEntry): boolean {
    return this.#keys.size > 0 && this.#keys.has(this.#key(entry));
  }

  /** The same for a file whose size, hash and content are in these bytes of a node. */
  hasBytes(node: Buffer, from: number, to: number): boolean {
    return this.#keys.size > 0 && this.#keys.has(keyOf(node, from, to));
  }

  add(entry: FileEntry): void {
    const key = this.#key(entry);
    const bytes = key.length + bytesPerKey;
    if (bytes > this.#memoryLeft || this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#memoryLeft -= bytes;
  }

  #key({ size, hash, content }: FileEntry): string {
    this.#scratch.reset();
    writeContent(this.#scratch.varint(size).raw(hash), content);
    return keyOf(this.#scratch.view(), 0, this.#scratch.length);
  }
}

function keyOf(bytes: Buffer, from: number, to: number): string {
  if (to - from <= maxKeyBytes) return bytes.toString("latin1", from, to);
  return sha256(bytes.subarray(from, to)).toString("latin1");
}
