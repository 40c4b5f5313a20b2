/**
 * Builds trees. The entries of a directory, in byte order of their names, are divided into leaves of about 2 KiB. A hash of
 * the name decides where a leaf ends. So one changed file in a directory of a million files changes one leaf and the few
 * nodes above it. Leaves are small because ids do not compress: a night with 20 changed files stores 20 leaves
 * (docs/decisions/0140). A node above holds the last name and the reference of each node below, and ends by the same rule. The
 * segment list of a large file is built in the same way: there the segment's id decides where a node ends.
 *
 * Node encoding: u8 kind ("L" leaf, "I" inner, "S" segment list, "T" list of lists); varint count; the rows.
 * A `NodeSink` stores the nodes and returns their ordinals.
 */

import { ByteWriter, ownCopy, varintAt, varintLength } from "./bytes.ts";
import { hash32, nodeId } from "./hash.ts";
import type { FileContent, Reference, SegmentReference, TreeEntry } from "./tree-entry.ts";
import { maxInlineSegments, writeEntry, writeReference, writeSegmentReference } from "./tree-entry.ts";

export const nodeKinds = { leaf: 0x4c, inner: 0x49, segments: 0x53, lists: 0x54 } as const;

/** Stores nodes, or finds those that are stored already. */
export interface NodeSink {
  readonly nodeKey: Uint8Array;
  /**
   * Returns the node's ordinal, or a promise where there is something to wait for. The bytes stay valid until then.
   * `isNew`: the node refers to an ordinal of this upload (`isNewOrdinal`), so no snapshot can have the node yet.
   */
  putNode(id: Uint8Array, bytes: Uint8Array, isNew: boolean): Promise<number> | number;
  /** Whether this upload has reserved the ordinal. */
  isNewOrdinal?(ordinal: number): boolean;
  /** Called with each node of a directory in the order in which they were made, when its ordinal is there. */
  onNode?(id: Uint8Array, ordinal: number): void;
}

/**
 * A node may end after so many bytes, ends on average so many bytes later, and must end at the most. The mean of 2 KiB is
 * twice the least: a larger share at random would make nodes more unequal, and a change hits large ones more often.
 */
const minNodeBytes = 1024;
const meanBytesAfterMin = 1024;
const maxNodeBytes = 16 * 1024;

/** Rows of an inner node at least. Without it, names of a kilobyte would give each node one row, and levels without end. */
const minInnerRows = 4;

/**
 * Nodes of a segment list: at least, on average after that, at most so many references. A file of up to 4 GiB has one node,
 * most of up to 8 GiB too. So a download reads the list and the data, and nothing between them. Smaller nodes would save
 * little: 1.7 % changed pages change nine of ten segments of a dump, and 40 bytes per segment are 0.004 % of its content.
 */
const minListRows = 4096;
const meanListRows = 4096;

/** At most so many. A reader refuses a node with more rows. */
export const maxListRows = 16_384;

/**
 * Segments of one file: one of 4 TiB has about so many. A backup and a restore have a reference to each in memory. A lying
 * client may repeat the nodes of a list as often as it likes, so a reader needs a limit.
 */
export const maxFileSegments = 2 ** 22;

/** Rows of all nodes of a segment list. A node has at least 4096 rows, so those of the levels above are few. */
export const maxRowsOfList = maxFileSegments + maxListRows;

/** Nodes of one directory whose ordinals may be awaited. More would hold more memory and save no round trip. */
const maxWaitingNodes = 256;

/**
 * Builds the nodes of a directory, entry by entry in name order. Keeps one open node per level in memory, and the nodes whose
 * ordinals are awaited: the builder goes on with the next entries meanwhile.
 */
export class DirectoryBuilder {
  readonly #sink: NodeSink;
  readonly #levels: Level[] = [];
  readonly #scratch = new ByteWriter(1024);
  /** Ends when the rows of all nodes so far are in the levels above; null if no node is awaited. */
  #waiting: Promise<void> | null = null;
  #waitingNodes = 0;

  constructor(sink: NodeSink) {
    this.#sink = sink;
  }

  /** Adds an entry. Returns a promise only if too many nodes are awaited. */
  add(entry: TreeEntry): Promise<void> | undefined {
    this.#scratch.reset();
    writeEntry(this.#scratch, entry);
    this.#append(0, this.#scratch.view(), 0, this.#scratch.length, this.#isNewEntry(entry));
    return this.#limit();
  }

  /** Adds an entry that is encoded already in a part of a buffer. It refers to nothing new. */
  addEncoded(bytes: Buffer, start: number, end: number): Promise<void> | undefined {
    this.#append(0, bytes, start, end, false);
    return this.#limit();
  }

  /** Returns the root node, or a promise if nodes are awaited. */
  finish(depth = 0): Promise<Reference> | Reference {
    for (let at = depth; ; at++) {
      const level = this.#level(at);
      const isTop = at === this.#levels.length - 1;
      // Rows of nodes that are awaited are still to come.
      if (this.#waiting !== null) return this.#waiting.then(() => this.finish(at));
      if (isTop && (at === 0 || level.closed === 0)) {
        // A top node with a single child is not stored: the child is the root.
        if (at > 0 && level.rows === 1 && level.only !== null) return level.only;
        const { id, ordinal } = this.#store(level);
        return typeof ordinal === "number" ? this.#stored(id, ordinal) : ordinal.then((made) => this.#stored(id, made));
      }
      if (level.rows > 0) this.#close(at);
    }
  }

  /** A promise if too many nodes are awaited. */
  #limit(): Promise<void> | undefined {
    return this.#waitingNodes >= maxWaitingNodes ? (this.#waiting ?? undefined) : undefined;
  }

  #append(
    depth: number,
    bytes: Buffer,
    start: number,
    end: number,
    isNew: boolean,
    only: Reference | null = null,
  ): void {
    const level = this.#level(depth);
    level.lastRow = level.writer.length;
    level.writer.part(bytes, start, end);
    level.rows++;
    level.only = only;
    level.isNew ||= isNew;
    const size = level.writer.length;
    if (size < minNodeBytes || (depth > 0 && level.rows < minInnerRows)) return;
    // The chance to end is in proportion to the row's bytes, so the mean size of nodes does not depend on the rows.
    const chance = ((end - start) / meanBytesAfterMin) * 0x1_0000_0000;
    if (size >= maxNodeBytes || hashOfName(depth, bytes, start) < chance) this.#close(depth);
  }

  /** Ends the open node of a level. Its row goes into the level above, after the rows of the nodes before it. */
  #close(depth: number): void {
    const level = this.#level(depth);
    const name = nameOf(depth, level.writer.view(), level.lastRow);
    const { id, ordinal } = this.#store(level);
    level.closed++;
    level.rows = 0;
    level.isNew = false;
    level.writer.reset();
    const addRow = (made: number) => {
      const reference = this.#stored(id, made);
      const row = new ByteWriter(64).bytes(name);
      writeReference(row, reference);
      const isNew = this.#sink.isNewOrdinal?.(made) ?? false;
      this.#append(depth + 1, row.view(), 0, row.length, isNew, reference);
    };
    if (this.#waiting === null && typeof ordinal === "number") addRow(ordinal);
    else this.#wait(ordinal, addRow);
  }

  #wait(ordinal: Promise<number> | number, addRow: (ordinal: number) => void): void {
    this.#waitingNodes++;
    const waiting = Promise.all([ordinal, this.#waiting]).then(([made]) => {
      this.#waitingNodes--;
      // A row may end a node above, which is then awaited after this one.
      if (this.#waiting === waiting) this.#waiting = null;
      addRow(made);
    });
    this.#waiting = waiting;
    waiting.catch(() => {
      // `finish` rejects with it.
    });
  }

  #stored(id: Uint8Array, ordinal: number): Reference {
    this.#sink.onNode?.(id, ordinal);
    return { ordinal, id };
  }

  #store(level: Level): { readonly id: Uint8Array; readonly ordinal: Promise<number> | number } {
    const head = level.depth === 0 ? nodeKinds.leaf : nodeKinds.inner;
    return storeNode(this.#sink, head, level.rows, level.writer.view(), level.isNew);
  }

  #isNewEntry(entry: TreeEntry): boolean {
    const { isNewOrdinal } = this.#sink;
    if (isNewOrdinal === undefined) return false;
    if (entry.type === "directory") return isNewOrdinal(entry.root.ordinal);
    return entry.type === "file" && ordinalsIn(entry.content).some((ordinal) => isNewOrdinal(ordinal));
  }

  #level(depth: number): Level {
    const known = this.#levels[depth];
    if (known !== undefined) return known;
    const level = { depth, writer: new ByteWriter(4096), rows: 0, closed: 0, lastRow: 0, only: null, isNew: false };
    this.#levels[depth] = level;
    return level;
  }
}

/** The ordinals that an entry's content names itself. */
function ordinalsIn(content: FileContent): readonly number[] {
  if (content.kind === "part") return [content.segment.ordinal];
  if (content.kind === "segments") return content.segments.map(({ ordinal }) => ordinal);
  return content.kind === "list" ? [content.root.ordinal] : [];
}

interface Level {
  readonly depth: number;
  readonly writer: ByteWriter;
  rows: number;
  closed: number;
  /** Where the newest row begins. */
  lastRow: number;
  only: Reference | null;
  /** A row of the open node refers to something new. */
  isNew: boolean;
}

/** A copy of the name at the start of a row. */
function nameOf(depth: number, bytes: Buffer, row: number): Buffer {
  const at = nameAt(depth, row);
  const length = varintAt(bytes, at);
  const start = at + varintLength(length);
  return ownCopy(bytes.subarray(start, start + length));
}

/** The hash of that name, which decides whether a node ends after the row. */
function hashOfName(depth: number, bytes: Buffer, row: number): number {
  const at = nameAt(depth, row);
  const length = varintAt(bytes, at);
  const start = at + varintLength(length);
  return hash32(bytes, depth + 1, start, start + length);
}

/** The offset of a row's name: after the type in a leaf, at the start in an inner node. */
function nameAt(depth: number, row: number): number {
  return depth === 0 ? row + 1 : row;
}

/** Turns a file's segments into its content, through a list of lists where there are many. */
export async function contentOf(sink: NodeSink, segments: readonly SegmentReference[]): Promise<FileContent> {
  if (segments.length === 0) return { kind: "empty" };
  if (segments.length <= maxInlineSegments) return { kind: "segments", segments };
  let rows: readonly SegmentReference[] = segments;
  for (let depth = 0; ; depth++) {
    rows = await listLevel(sink, depth === 0 ? nodeKinds.segments : nodeKinds.lists, rows);
    const [root, ...others] = rows;
    if (root !== undefined && others.length === 0) return { kind: "list", depth, root };
  }
}

async function listLevel(
  sink: NodeSink,
  kind: number,
  rows: readonly SegmentReference[],
): Promise<readonly SegmentReference[]> {
  const above: SegmentReference[] = [];
  const writer = new ByteWriter(16 * 1024);
  let count = 0;
  let bytes = 0;
  let isNew = false;
  for (const [index, row] of rows.entries()) {
    writeSegmentReference(writer, row);
    isNew ||= sink.isNewOrdinal?.(row.ordinal) ?? false;
    count++;
    bytes += row.bytes;
    const cut = count >= minListRows && hash32(row.id) % meanListRows === 0;
    if (!cut && count < maxListRows && index < rows.length - 1) continue;
    const { id, ordinal } = storeNode(sink, kind, count, writer.view(), isNew);
    above.push({ id, ordinal: await ordinal, bytes });
    writer.reset();
    count = 0;
    bytes = 0;
    isNew = false;
  }
  return above;
}

function storeNode(
  sink: NodeSink,
  kind: number,
  rows: number,
  body: Uint8Array,
  isNew: boolean,
): { readonly id: Uint8Array; readonly ordinal: Promise<number> | number } {
  const writer = new ByteWriter(body.length + 16).u8(kind).varint(rows).raw(body);
  const id = nodeId(sink.nodeKey, writer.view());
  const ordinal = sink.putNode(id, writer.view(), isNew);
  if (typeof ordinal === "number") {
    writer.free();
    return { id, ordinal };
  }
  return { id, ordinal: ordinal.finally(() => writer.free()) };
}
