/**
 * The tree nodes of one directory: the id and the ordinal of each, in the order in which the tree builder makes them, so
 * the root comes last. A node that the directory had in the base snapshot is reachable from the base: the backup uses
 * its ordinal and need not ask the target for it.
 */

import { asBuffer, ByteWriter } from "../format/bytes.ts";
import { idLength } from "../format/hash.ts";
import type { Reference } from "../format/tree-entry.ts";
import { compareRanges } from "./file-record.ts";

/** Cached nodes of a directory: 256 nodes hold about 70 000 files. The target is asked for the nodes after these. */
const maxNodes = 256;

/** An id and a u64. */
const nodeBytes = idLength + 8;

export class DirectoryNodes {
  readonly #old: Buffer;
  /** Where the search begins: mostly nodes come in the same order again. */
  #at = 0;
  readonly #new = new ByteWriter(64);
  #differ = false;
  count = 0;

  constructor(old: Uint8Array) {
    this.#old = asBuffer(old);
  }

  /** The ordinal of a node that the directory had in the base snapshot. */
  ordinalOf(id: Uint8Array): number | null {
    return this.#find(id, this.#at, this.#old.length) ?? this.#find(id, 0, this.#at);
  }

  add(id: Uint8Array, ordinal: number): void {
    if (this.count++ >= maxNodes) return;
    this.#new.raw(id).u64(ordinal);
    this.#differ ||= this.#find(id, this.#at, this.#at + nodeBytes) !== ordinal;
    this.#at = Math.min(this.#at + nodeBytes, this.#old.length);
  }

  /** Adds the first `count` nodes of the base snapshot again and returns them. */
  addOld(count: number): Reference[] {
    const nodes: Reference[] = [];
    for (let at = 0; nodes.length < count; at += nodeBytes) {
      const id = this.#old.subarray(at, at + idLength);
      const ordinal = Number(this.#old.readBigUInt64LE(at + idLength));
      this.add(id, ordinal);
      nodes.push({ id, ordinal });
    }
    return nodes;
  }

  /** Whether all nodes fit into the cache. */
  get isComplete(): boolean {
    return this.count <= maxNodes;
  }

  /** Whether the nodes are others than in the base snapshot. */
  get differ(): boolean {
    return this.#differ || this.#new.length !== this.#old.length;
  }

  /** What the cache stores: an id and a u64 for each node. */
  encoded(): Uint8Array {
    return this.#new.view();
  }

  #find(id: Uint8Array, from: number, to: number): number | null {
    const nodes = this.#old;
    for (let at = from; at < to && at < nodes.length; at += nodeBytes) {
      if (compareRanges(nodes, at, at + idLength, id, 0, idLength) === 0)
        return Number(nodes.readBigUInt64LE(at + idLength));
    }
    return null;
  }
}
