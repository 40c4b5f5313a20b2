/**
 * Reads trees: the entries of a directory in name order, one entry by name, the segments of a large file. A `NodeSource`
 * reads the nodes and checks each one against its id.
 */

import { ByteReader, FormatError } from "./bytes.ts";
import { idLength } from "./hash.ts";
import { nodeKinds } from "./tree-builder.ts";
import type { FileContent, Reference, SegmentReference, TreeEntry } from "./tree-entry.ts";
import { readEntry, readReference, readSegmentReference } from "./tree-entry.ts";

export interface NodeSource {
  node(reference: Reference): Promise<Uint8Array>;
}

/** Called with every list node that is read. */
export type Visit = (reference: Reference) => void;

/** Deeper than any directory or list of 2^53 rows can be. */
export const maxDepth = 24;

/** All entries below a directory's root, in name order. */
export async function* entriesOf(source: NodeSource, root: Reference): AsyncGenerator<TreeEntry> {
  yield* walk(source, root, 0, new NameOrder());
}

async function* walk(source: NodeSource, at: Reference, depth: number, order: NameOrder): AsyncGenerator<TreeEntry> {
  if (depth > maxDepth) throw new FormatError("a tree is too deep");
  for (const row of directoryRows(await source.node(at)))
    if (row.kind === "child") yield* walk(source, row.reference, depth + 1, order);
    else {
      order.pass(row.entry.name);
      yield row.entry;
    }
}

/** A row of a directory's node: an entry of a leaf, or the reference of an inner node to a node below. */
export type DirectoryRow =
  | { readonly kind: "entry"; readonly entry: TreeEntry }
  | { readonly kind: "child"; readonly reference: Reference };

/** The rows of a directory's node. */
export function* directoryRows(node: Uint8Array): Generator<DirectoryRow> {
  const reader = new ByteReader(node);
  const kind = reader.u8();
  const count = reader.varint();
  if (kind === nodeKinds.leaf) for (let i = 0; i < count; i++) yield { kind: "entry", entry: readEntry(reader) };
  else if (kind === nodeKinds.inner)
    for (const { reference } of innerRows(reader, count)) yield { kind: "child", reference };
  else throw new FormatError("not a directory node");
  reader.done();
}

/** Refuses names of a directory that are out of order. A restore would write two entries with the same name to one file. */
export class NameOrder {
  #last: Uint8Array | null = null;

  /** Passes one name. */
  pass(name: Uint8Array): void {
    this.passRange(name, name);
  }

  /** Passes names of which the order was checked before. */
  passRange(first: Uint8Array, last: Uint8Array): void {
    if (this.#last !== null && Buffer.compare(this.#last, first) >= 0)
      throw new FormatError("a directory's names are out of order");
    this.#last = last;
  }
}

/** The entry of that name, or null. Reads one node per level. */
export async function findEntry(source: NodeSource, root: Reference, name: Uint8Array): Promise<TreeEntry | null> {
  let at: Reference | undefined = root;
  for (let depth = 0; at !== undefined && depth <= maxDepth; depth++) {
    const reader = new ByteReader(await source.node(at));
    const kind = reader.u8();
    const count = reader.varint();
    if (kind === nodeKinds.leaf) {
      for (let i = 0; i < count; i++) {
        const entry = readEntry(reader);
        if (Buffer.compare(entry.name, name) === 0) return entry;
      }
      return null;
    }
    if (kind !== nodeKinds.inner) throw new FormatError("not a directory node");
    at = innerRows(reader, count).find((row) => Buffer.compare(name, row.lastName) <= 0)?.reference;
  }
  return null;
}

/** A file's segments in order. A `part` yields none: the caller reads its bundle segment. */
export async function* segmentsOf(
  source: NodeSource,
  content: FileContent,
  visit?: Visit,
): AsyncGenerator<SegmentReference> {
  if (content.kind === "segments") yield* content.segments;
  else if (content.kind === "list") yield* listRows(source, content.root, content.depth, visit);
}

async function* listRows(
  source: NodeSource,
  at: Reference,
  depth: number,
  visit: Visit | undefined,
): AsyncGenerator<SegmentReference> {
  if (depth > maxDepth) throw new FormatError("a list is too deep");
  const reader = new ByteReader(await source.node(at));
  visit?.(at);
  if (reader.u8() !== (depth === 0 ? nodeKinds.segments : nodeKinds.lists)) throw new FormatError("not a list node");
  const count = reader.varint();
  for (let i = 0; i < count; i++) {
    const row = readSegmentReference(reader);
    if (depth === 0) yield row;
    else yield* listRows(source, row, depth - 1, visit);
  }
  reader.done();
}

function innerRows(reader: ByteReader, count: number): { lastName: Uint8Array; reference: Reference }[] {
  // Every row has at least an id: a larger count is refused before memory is allocated.
  if (count * idLength > reader.left) throw new FormatError("a node is truncated");
  return Array.from({ length: count }, () => ({ lastName: reader.bytes(), reference: readReference(reader) }));
}
