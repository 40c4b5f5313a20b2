/**
 * The tree nodes that verify has checked, and what each of them reaches. So a node is read and checked once, however many
 * snapshots have it. Two parts:
 *
 * - `NodeGraph` keeps one record per node: the ordinals that its entries name, the nodes below it, and its first and last name.
 *   Nodes are numbered in the order in which they are added, so a node has a higher number than those below it.
 * - `ReachCounter` holds the ordinals that one snapshot reaches. It moves from one snapshot to the next by counting
 *   references: a subtree that both have is not visited. So its work follows what differs between snapshots.
 *
 * Memory: a record takes its encoded bytes (about 150 for a node of 2 KiB) and `bytesPerNode`. `memoryBytes` limits the sum.
 * A counter takes 4 bytes per node and per ordinal of the vault. A node that does not fit is not kept.
 */

import { Bitmap } from "../format/bitmap.ts";
import { ByteReader, ByteWriter, sameBytes } from "../format/bytes.ts";
import { idLength } from "../format/hash.ts";
import { decodeOrdinals, writeOrdinals } from "../format/ordinal-list.ts";
import type { Reference } from "../format/tree-entry.ts";

/** A node with everything that verify needs of it once it was checked. */
export interface CheckedNode {
  /** The number of files below it, at all levels. */
  readonly files: number;
  /** Its own ordinal, and those of the segments and lists of its files. */
  readonly ordinals: readonly number[];
  /** Inner nodes: the nodes below. Leaves: the root nodes of their directories. */
  readonly children: readonly number[];
  /** Null in an empty directory. */
  readonly firstName: Uint8Array | null;
  readonly lastName: Uint8Array | null;
}

/** The memory of a node without its record: an entry of a map, a position, a counter. */
const bytesPerNode = 72;

/** Records are stored in chunks: a buffer of its own for each would take more memory than its content. */
const chunkBytes = 64 * 1024;

/** Positions are chunk × this + offset. */
const chunkScale = 2 ** 32;

export class NodeGraph {
  readonly #chunks: Buffer[] = [];
  /** Bytes used of the last chunk. */
  #used = 0;
  readonly #positions: number[] = [];
  readonly #byOrdinal = new Map<number, number>();
  readonly #scratch = new ByteWriter(1024);
  readonly #list = new ByteWriter(1024);
  #memoryLeft: number;

  constructor(memoryBytes: number) {
    this.#memoryLeft = memoryBytes;
  }

  /** The number that the next node gets. */
  get size(): number {
    return this.#positions.length;
  }

  /** The number of a node; null if it is not kept. Another id at the same ordinal is another node. */
  find({ ordinal, id }: Reference): number | null {
    const node = this.#byOrdinal.get(ordinal);
    return node !== undefined && sameBytes(this.#record(node).subarray(0, idLength), id) ? node : null;
  }

  /** Keeps a node. Null if there is no memory for it, or if its ordinal belongs to another node. */
  add(reference: Reference, checked: CheckedNode): number | null {
    if (this.#byOrdinal.has(reference.ordinal)) return this.find(reference);
    if (this.#memoryLeft <= 0) return null;
    const record = this.#encode(reference.id, checked);
    this.#memoryLeft -= record.length + bytesPerNode;
    const node = this.#positions.push(this.#store(record)) - 1;
    this.#byOrdinal.set(reference.ordinal, node);
    return node;
  }

  /** Removes these nodes, and the nodes above them that were added from number `since` on. */
  drop(nodes: Iterable<number>, since: number): void {
    const dropped = new Set(nodes);
    for (let node = since; node < this.size; node++)
      if (this.children(node).some((child) => dropped.has(child))) dropped.add(node);
    for (const [ordinal, node] of this.#byOrdinal) if (dropped.has(node)) this.#byOrdinal.delete(ordinal);
  }

  /** Removes all nodes from number `since` on. */
  forget(since: number): void {
    for (const [ordinal, node] of this.#byOrdinal) if (node >= since) this.#byOrdinal.delete(ordinal);
  }

  files(node: number): number {
    return this.#reader(node).varint();
  }

  names(node: number): { readonly first: Uint8Array | null; readonly last: Uint8Array | null } {
    const reader = this.#reader(node);
    reader.varint();
    if (reader.u8() === 0) return { first: null, last: null };
    return { first: reader.bytes(), last: reader.bytes() };
  }

  ordinals(node: number): number[] {
    return decodeOrdinals(this.#lists(node).bytes());
  }

  children(node: number): number[] {
    const lists = this.#lists(node);
    lists.bytes();
    return decodeOrdinals(lists.bytes());
  }

  /** A reader behind the id of a record. */
  #reader(node: number): ByteReader {
    return new ByteReader(this.#record(node).subarray(idLength));
  }

  /** A reader at the ordinals of a record. */
  #lists(node: number): ByteReader {
    const reader = this.#reader(node);
    reader.varint();
    if (reader.u8() === 1) {
      reader.bytes();
      reader.bytes();
    }
    return reader;
  }

  #record(node: number): Buffer {
    const position = this.#positions[node] ?? 0;
    const chunk = this.#chunks[Math.floor(position / chunkScale)] ?? Buffer.alloc(0);
    return chunk.subarray(position % chunkScale);
  }

  /**
   * Node id · varint files · u8 1 and both names, or 0 · bytes ordinals · bytes nodes below. Valid until the next call: buffers of its
   * own for each record would take more time than checking the node.
   */
  #encode(id: Uint8Array, { files, ordinals, children, firstName, lastName }: CheckedNode): Buffer {
    const record = this.#scratch;
    record.reset();
    record.raw(id).varint(files);
    if (firstName === null || lastName === null) record.u8(0);
    else record.u8(1).bytes(firstName).bytes(lastName);
    for (const list of [ordinals, children]) {
      this.#list.reset();
      writeOrdinals(this.#list, list);
      record.bytes(this.#list.view());
    }
    return record.view();
  }

  #store(record: Buffer): number {
    const last = this.#chunks.at(-1);
    if (last === undefined || this.#used + record.length > last.length) {
      this.#chunks.push(Buffer.alloc(Math.max(chunkBytes, record.length)));
      this.#used = 0;
    }
    const position = (this.#chunks.length - 1) * chunkScale + this.#used;
    this.#chunks.at(-1)?.set(record, this.#used);
    this.#used += record.length;
    return position;
  }
}

export class ReachCounter {
  readonly #graph: NodeGraph;
  #roots: readonly number[] = [];
  #nodeCounts = new Uint32Array(64);
  #ordinalCounts = new Uint32Array(64);
  /** What the current roots reach. */
  readonly reach = new Bitmap();

  constructor(graph: NodeGraph) {
    this.#graph = graph;
  }

  /** Moves to the snapshot with these nodes and everything below them. */
  moveTo(roots: readonly number[]): void {
    // First the new ones: what both snapshots have keeps a count above zero and is not visited.
    this.#add(roots);
    this.#remove(this.#roots);
    this.#roots = [...roots];
  }

  #add(roots: readonly number[]): void {
    this.#nodeCounts = grown(this.#nodeCounts, this.#graph.size);
    const stack = [...roots];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (increment(this.#nodeCounts, node) > 1) continue;
      for (const ordinal of this.#graph.ordinals(node)) {
        this.#ordinalCounts = grown(this.#ordinalCounts, ordinal + 1);
        if (increment(this.#ordinalCounts, ordinal) === 1) this.reach.add(ordinal);
      }
      for (const child of this.#graph.children(node)) stack.push(child);
    }
  }

  #remove(roots: readonly number[]): void {
    const stack = [...roots];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (decrement(this.#nodeCounts, node) > 0) continue;
      for (const ordinal of this.#graph.ordinals(node))
        if (decrement(this.#ordinalCounts, ordinal) === 0) this.reach.remove(ordinal);
      for (const child of this.#graph.children(node)) stack.push(child);
    }
  }
}

function increment(counts: Uint32Array, at: number): number {
  const count = (counts[at] ?? 0) + 1;
  counts[at] = count;
  return count;
}

function decrement(counts: Uint32Array, at: number): number {
  const count = (counts[at] ?? 0) - 1;
  if (count < 0) throw new RangeError("a count of references is below zero");
  counts[at] = count;
  return count;
}

function grown(counts: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  if (length <= counts.length) return counts;
  const larger = new Uint32Array(Math.max(length, counts.length * 2));
  larger.set(counts);
  return larger;
}
