/**
 * Reads trees: the entries of a directory in name order, one entry by name, the segments of a large file. A `NodeSource`
 * reads the nodes and checks each one against its id.
 */

import { asBuffer, ByteReader, FormatError } from "./bytes.ts";
import { idLength } from "./hash.ts";
import { maxListRows, maxRowsOfList, nodeKinds } from "./tree-builder.ts";
import type { FileContent, Reference, SegmentReference, TreeEntry } from "./tree-entry.ts";
import { readEntry, readReference, readSegmentReference } from "./tree-entry.ts";

export interface NodeSource {
  node(reference: Reference): Promise<Uint8Array>;
  /** Announces the nodes that are read next, so that the source may look them up together. */
  prefetch?(references: readonly Reference[]): Promise<void>;
  /** As `prefetch`, and the source may read them too, at the same time. */
  openAhead?(references: readonly Reference[]): Promise<void>;
}

/** Called with every list node that is read. */
export type OnListNode = (reference: Reference) => void;

/** Deeper than any directory or list of 2^53 rows can be. */
export const maxDepth = 24;

/**
 * A builder ends a node at 16 KiB, or after four rows, whose names may be tens of kilobytes long. A longer node is a lying
 * client's: its rows would take thirty times its bytes, at every level of a walk.
 */
const maxDirectoryNodeBytes = 1024 * 1024;

/** All entries below a directory's root, in name order; with `after`, those behind this name. Nodes before it are not read. */
export async function* entriesOf(
  source: NodeSource,
  root: Reference,
  after?: Uint8Array,
  unreadable?: NodeFaults,
): AsyncGenerator<TreeEntry> {
  yield* walk(source, root, 0, { order: new NameOrder(), after, unreadable });
}

/** For a walk that goes on behind nodes that cannot be read. A node is named by its ordinal. */
export interface NodeFaults {
  /** Whether the walk passes over the node without reading it. */
  isLeftOut(ordinal: number): boolean;
  /** A node could not be read. The walk goes on behind it, unless this throws. */
  onUnreadable(ordinal: number, error: unknown): void;
}

interface EntryWalk {
  readonly order: NameOrder;
  readonly after: Uint8Array | undefined;
  readonly unreadable: NodeFaults | undefined;
}

async function* walk(source: NodeSource, at: Reference, depth: number, of: EntryWalk): AsyncGenerator<TreeEntry> {
  if (depth > maxDepth) throw new FormatError("a tree is too deep");
  const rows = (await rowsOf(source, at, of)).filter((row) => isBehind(row, of.after));
  await source.prefetch?.(rows.flatMap(nodesBelow));
  for (const row of rows)
    if (row.kind === "child") yield* walk(source, row.reference, depth + 1, of);
    else {
      of.order.check(row.entry.name);
      yield row.entry;
    }
}

async function rowsOf(source: NodeSource, at: Reference, { unreadable }: EntryWalk): Promise<DirectoryRow[]> {
  if (unreadable?.isLeftOut(at.ordinal) === true) return [];
  try {
    return [...directoryRows(await source.node(at))];
  } catch (error) {
    if (unreadable === undefined) throw error;
    unreadable.onUnreadable(at.ordinal, error);
    return [];
  }
}

/** Whether a row is, or may have below it, an entry behind the name. */
function isBehind(row: DirectoryRow, after: Uint8Array | undefined): boolean {
  return after === undefined || Buffer.compare(row.kind === "child" ? row.lastName : row.entry.name, after) > 0;
}

/** The nodes that a walk reads for a row. */
function nodesBelow(row: DirectoryRow): readonly Reference[] {
  if (row.kind === "child") return [row.reference];
  return row.entry.type === "directory" ? [row.entry.root] : [];
}

/** A row of a directory's node: an entry of a leaf; or of an inner node a node below, and the last name in it. */
export type DirectoryRow =
  | { readonly kind: "entry"; readonly entry: TreeEntry }
  | { readonly kind: "child"; readonly reference: Reference; readonly lastName: Uint8Array };

/** Returns the bytes of the entry at an offset if its row is not wanted, or 0. */
export type PassEntry = (node: Buffer, at: number) => number;

/** The rows of a directory's node, without the entries that `pass` passes over. */
export function* directoryRows(node: Uint8Array, pass?: PassEntry): Generator<DirectoryRow> {
  if (node.length > maxDirectoryNodeBytes) throw new FormatError("a directory's node is too long");
  const reader = new ByteReader(node);
  const kind = reader.u8();
  const count = reader.varint();
  if (kind === nodeKinds.leaf) yield* leafRows(node, reader, count, pass);
  else if (kind === nodeKinds.inner) for (const row of innerRows(reader, count)) yield { kind: "child", ...row };
  else throw new FormatError("not a directory node");
  reader.done();
}

function* leafRows(node: Uint8Array, reader: ByteReader, count: number, pass?: PassEntry): Generator<DirectoryRow> {
  const bytes = asBuffer(node);
  for (let i = 0; i < count; i++) {
    const passed = pass?.(bytes, reader.at) ?? 0;
    if (passed > 0) reader.skip(passed);
    else yield { kind: "entry", entry: readEntry(reader) };
  }
}

/** Refuses names of a directory that are out of order. A restore would write two entries with the same name to one file. */
export class NameOrder {
  #last: Uint8Array | null = null;

  /** Checks one name. */
  check(name: Uint8Array): void {
    this.checkRange(name, name);
  }

  /** Checks the first of several names whose order among themselves was checked before. */
  checkRange(first: Uint8Array, last: Uint8Array): void {
    if (this.#last !== null && Buffer.compare(this.#last, first) >= 0)
      throw new FormatError("a directory's names are out of order");
    this.#last = last;
  }
}

/** The entry of that name, or null. Reads one node per level. With `unreadable`, null also where such a node would have it. */
export async function findEntry(
  source: NodeSource,
  root: Reference,
  name: Uint8Array,
  unreadable?: NodeFaults,
): Promise<TreeEntry | null> {
  let at = root;
  for (let depth = 0; depth <= maxDepth; depth++) {
    if (unreadable?.isLeftOut(at.ordinal) === true) return null;
    try {
      const found: NodeMatch = matchIn(await source.node(at), name);
      if (found.kind === "entry") return found.entry;
      at = found.reference;
    } catch (error) {
      if (unreadable === undefined) throw error;
      unreadable.onUnreadable(at.ordinal, error);
      return null;
    }
  }
  return null;
}

type NodeMatch =
  | { readonly kind: "entry"; readonly entry: TreeEntry | null }
  | { readonly kind: "child"; readonly reference: Reference };

/** The entry of that name in a leaf; the node that would have it, of an inner node. */
function matchIn(node: Uint8Array, name: Uint8Array): NodeMatch {
  const reader = new ByteReader(node);
  const kind = reader.u8();
  const count = reader.varint();
  if (kind === nodeKinds.leaf) {
    for (let i = 0; i < count; i++) {
      const entry = readEntry(reader);
      if (Buffer.compare(entry.name, name) === 0) return { kind: "entry", entry };
    }
    return { kind: "entry", entry: null };
  }
  if (kind !== nodeKinds.inner) throw new FormatError("not a directory node");
  const row = innerRows(reader, count).find(({ lastName }) => Buffer.compare(name, lastName) <= 0);
  return row === undefined ? { kind: "entry", entry: null } : { kind: "child", reference: row.reference };
}

/** A file's segments in order. A `part` yields none: the caller reads its bundle segment. */
export async function* segmentsOf(
  source: NodeSource,
  content: FileContent,
  onListNode?: OnListNode,
): AsyncGenerator<SegmentReference> {
  if (content.kind === "segments") yield* content.segments;
  else if (content.kind === "list") yield* new ListReader(source, onListNode).segments(content.root, content.depth);
}

/** A segment and its offset in the file. */
export interface PlacedSegment {
  readonly segment: SegmentReference;
  readonly start: number;
}

/** The segments that have bytes from `from` to `to` of the file. Reads only the nodes above them. */
export async function* segmentsInRange(
  source: NodeSource,
  content: FileContent,
  from: number,
  to: number,
): AsyncGenerator<PlacedSegment> {
  if (content.kind === "segments") yield* rowsInRange(content.segments, 0, from, to);
  else if (content.kind === "list") yield* listRange(source, content.root, content.depth, { from, to, start: 0 });
}

async function* listRange(
  source: NodeSource,
  at: Reference,
  depth: number,
  { from, to, start }: { readonly from: number; readonly to: number; readonly start: number },
): AsyncGenerator<PlacedSegment> {
  for (const row of rowsInRange(await readListNode(source, at, depth), start, from, to)) {
    if (depth === 0) yield row;
    else yield* listRange(source, row.segment, depth - 1, { from, to, start: row.start });
  }
}

function* rowsInRange(
  rows: readonly SegmentReference[],
  start: number,
  from: number,
  to: number,
): Generator<PlacedSegment> {
  let at = start;
  for (const segment of rows) {
    if (at < to && at + segment.bytes > from) yield { segment, start: at };
    at += segment.bytes;
  }
}

/** Reads the list of one file. A node that occurs several times is decoded once, so that its rows are in memory once. */
class ListReader {
  readonly #source: NodeSource;
  readonly #onListNode: OnListNode | undefined;
  readonly #nodes = new Map<number, { readonly id: Uint8Array; readonly rows: readonly SegmentReference[] }>();
  #rows = 0;

  constructor(source: NodeSource, onListNode: OnListNode | undefined) {
    this.#source = source;
    this.#onListNode = onListNode;
  }

  /** The segments below a node. Throws `FormatError` if there are too many rows, also of nodes without segments. */
  async *segments(root: Reference, depth: number): AsyncGenerator<SegmentReference> {
    const open = [{ rows: await this.#read(root, depth), next: 0, depth }];
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const row = top.rows[top.next++];
      if (row === undefined) open.pop();
      else if (++this.#rows > maxRowsOfList) throw new FormatError("a file has too many segments");
      else if (top.depth === 0) yield row;
      else {
        const depthBelow = top.depth - 1;
        // A promise for each repetition would take most of the time.
        const rows = this.#known(row) ?? (await this.#read(row, depthBelow));
        open.push({ rows, next: 0, depth: depthBelow });
      }
    }
  }

  #known(at: Reference): readonly SegmentReference[] | null {
    const known = this.#nodes.get(at.ordinal);
    return known !== undefined && Buffer.compare(known.id, at.id) === 0 ? known.rows : null;
  }

  async #read(at: Reference, depth: number): Promise<readonly SegmentReference[]> {
    const rows = await readListNode(this.#source, at, depth);
    this.#onListNode?.(at);
    this.#nodes.set(at.ordinal, { id: at.id, rows });
    return rows;
  }
}

async function readListNode(source: NodeSource, at: Reference, depth: number): Promise<readonly SegmentReference[]> {
  if (depth > maxDepth) throw new FormatError("a list is too deep");
  const reader = new ByteReader(await source.node(at));
  if (reader.u8() !== (depth === 0 ? nodeKinds.segments : nodeKinds.lists)) throw new FormatError("not a list node");
  const count = reader.varint();
  if (count > maxListRows) throw new FormatError("a list node has too many rows");
  const rows: SegmentReference[] = [];
  for (let i = 0; i < count; i++) rows.push(readSegmentReference(reader));
  reader.done();
  return rows;
}

function innerRows(reader: ByteReader, count: number): { lastName: Uint8Array; reference: Reference }[] {
  // Every row has at least an id: a larger count is refused before memory is allocated.
  if (count * idLength > reader.left) throw new FormatError("a node is truncated");
  return Array.from({ length: count }, () => ({ lastName: reader.bytes(), reference: readReference(reader) }));
}
