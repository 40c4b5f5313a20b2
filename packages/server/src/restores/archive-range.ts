/**
 * Any range of a frozen archive. The part with its first byte is found in the database; its entries are walked in the tree, without their
 * content, to the first byte; from there on everything is made while it is sent. Nothing of an archive is kept, and any process makes the
 * same bytes.
 */

import type { FileEntry, FileReader } from "@emanet/engine";
import type { ReadTx } from "../kernel/tx.ts";
import { inLargeChunks } from "../snapshots/index.ts";
import { type ArchiveMember, type ArchiveTotals, type Layout, layoutOf } from "./layouts.ts";
import { checksumBytes, findPart, type PartRow, partAt } from "./part-store.ts";
import { formatOf, type RestoreRecord } from "./store.ts";
import { type RestoreContent, walkRestore } from "./tree-of-restore.ts";

/** Small contents are read while the ones before them are sent. */
const readAheadPieces = 32;
const readAheadBytes = 256 * 1024;

export interface ArchiveSource {
  readonly restore: RestoreRecord;
  readonly content: RestoreContent;
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
}

/** The bytes from `start` to `end` of the archive, `end` not included. */
export function archiveRange(
  source: ArchiveSource,
  range: { readonly start: number; readonly end: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const pieces = new FrozenArchive(source).pieces(range.start, range.end);
  return inLargeChunks(contents(source.content.reader, pieces, signal));
}

/** Bytes, or a range of a file. */
type Piece = Uint8Array | { readonly file: FileEntry; readonly offset: number; readonly length: number };

async function* contents(
  reader: FileReader,
  pieces: AsyncIterable<Piece>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const waiting: Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>[] = [];
  for await (const piece of pieces) {
    signal.throwIfAborted();
    const begun = begin(reader, piece, signal);
    // It is awaited later. Without this handler, Node would report an unhandled rejection until then.
    begun.catch(() => undefined);
    waiting.push(begun);
    const oldest = waiting.length > readAheadPieces ? waiting.shift() : undefined;
    if (oldest !== undefined) yield* await oldest;
  }
  for (const one of waiting) yield* await one;
}

async function begin(reader: FileReader, piece: Piece, signal: AbortSignal) {
  if (piece instanceof Uint8Array) return [piece];
  const { file, offset, length } = piece;
  const bytes = reader.read(file, { offset, length }, signal);
  return length > readAheadBytes ? bytes : Array.fromAsync(bytes);
}

class FrozenArchive {
  readonly #source: ArchiveSource;
  readonly #layout: Layout;
  readonly #totals: ArchiveTotals;

  constructor(source: ArchiveSource) {
    const { layout, member_bytes, directory_bytes, member_count, escaped_names } = source.restore;
    if (layout === null || member_bytes === null || directory_bytes === null || member_count === null)
      throw new Error("a restore without its archive");
    this.#source = source;
    this.#layout = layoutOf(formatOf(source.restore), layout);
    this.#totals = {
      ...{ memberBytes: member_bytes, directoryBytes: directory_bytes },
      ...{ memberCount: member_count, escapedNames: escaped_names ?? 0 },
    };
  }

  async *pieces(start: number, end: number): AsyncGenerator<Piece> {
    const { memberBytes, directoryBytes } = this.#totals;
    const endOffset = memberBytes + directoryBytes;
    if (start < memberBytes) yield* this.#members(start, Math.min(end, memberBytes));
    if (end > memberBytes && start < endOffset)
      yield* this.#directory(Math.max(0, start - memberBytes), Math.min(end, endOffset) - memberBytes);
    if (end > endOffset) yield* cut(this.#layout.endOf(this.#totals), endOffset, start, end);
  }

  async *#members(start: number, end: number): AsyncGenerator<Piece> {
    const first = await this.#partAt("member_offset", start);
    let at = first.member_offset;
    for await (const member of this.#membersFrom(first)) {
      if (at >= end) return;
      const contentAt = at + member.header.length;
      const paddingAt = contentAt + member.contentBytes;
      yield* cut(member.header, at, start, end);
      yield* cutContent(member, contentAt, start, end);
      yield* cut(member.padding, paddingAt, start, end);
      at = paddingAt + member.padding.length;
    }
    if (at !== this.#totals.memberBytes) throw new Error("an archive is not as it was frozen");
  }

  /** From `start` to `end` of the directory. */
  async *#directory(start: number, end: number): AsyncGenerator<Piece> {
    const first = await this.#partAt("directory_offset", start);
    let [at, memberAt] = [first.directory_offset, first.member_offset];
    for await (const member of this.#membersFrom(first)) {
      if (at >= end) return;
      const record = member.recordAt(memberAt);
      yield* cut(record, at, start, end);
      at += record.length;
      memberAt += member.header.length + member.contentBytes + member.padding.length;
    }
    if (at !== this.#totals.directoryBytes) throw new Error("the directory of an archive is not as it was frozen");
  }

  /** The members from the first of a part on. */
  async *#membersFrom(first: PartRow): AsyncGenerator<ArchiveMember> {
    const { restore, content } = this.#source;
    const leftOutNodes = new Set(restore.left_out_nodes);
    const damage = {
      isLeftOut: (ordinal: number) => leftOutNodes.has(ordinal),
      onUnreadable: () => {
        throw new Error("a directory of a frozen archive cannot be read any more");
      },
    };
    const tree = { ...content, format: formatOf(restore), paths: restore.paths };
    const walk = walkRestore(tree, { root: first.root, after: first.after_path }, damage);
    let part = new PartFacts(first);
    let number = 0;
    for await (const entry of walk.entries) {
      if (number === part.row.entries) {
        part = new PartFacts(await this.#partAfter(part.row));
        number = 0;
      }
      const member = part.isLeftOut(number) ? null : this.#layout.memberOf(entry, part.factsOf(number));
      number++;
      if (member !== null) yield member;
    }
  }

  async #partAt(where: "member_offset" | "directory_offset", offset: number): Promise<PartRow> {
    const { restore, read } = this.#source;
    return found(await read((tx) => partAt(tx, restore.account_id, restore.id, where, offset)));
  }

  async #partAfter({ part }: PartRow): Promise<PartRow> {
    const { restore, read } = this.#source;
    return found(await read((tx) => findPart(tx, restore.account_id, restore.id, part + 1)));
  }
}

function found(row: PartRow | undefined): PartRow {
  if (row === undefined) throw new Error("a part of a frozen archive is missing");
  return row;
}

/** What a part says of its entries. */
class PartFacts {
  readonly row: PartRow;
  readonly #leftOut: ReadonlySet<number>;
  readonly #links: ReadonlyMap<number, Buffer>;

  constructor(row: PartRow) {
    this.row = row;
    this.#leftOut = new Set(row.left_out);
    this.#links = new Map(row.link_places.map((place, at) => [place, row.link_targets[at] ?? Buffer.alloc(0)]));
  }

  isLeftOut(number: number): boolean {
    return this.#leftOut.has(number);
  }

  factsOf(number: number) {
    return {
      checksum: this.row.checksums?.readUInt32LE(checksumBytes * number) ?? 0,
      firstName: this.#links.get(number) ?? null,
    };
  }
}

/** The part of these bytes, which are at `at`, that is in the range. */
function* cut(bytes: Uint8Array, at: number, start: number, end: number): Generator<Uint8Array> {
  const [from, to] = [Math.max(start - at, 0), Math.min(end - at, bytes.length)];
  if (from < to) yield bytes.subarray(from, to);
}

function* cutContent(
  { content, contentBytes }: ArchiveMember,
  at: number,
  start: number,
  end: number,
): Generator<Piece> {
  if (content instanceof Uint8Array) yield* cut(content, at, start, end);
  else if (content !== null) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, contentBytes)];
    if (from < to) yield { file: content, offset: from, length: to - from };
  }
}
