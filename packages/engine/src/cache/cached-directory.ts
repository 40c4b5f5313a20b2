/**
 * One directory of the cache during a run: the files that are remembered, in name order, beside those that will be.
 *
 * A *record* is a file: its marks at fixed places, so that "unchanged" is told without decoding, its tree entry as the
 * tree has it, and every ordinal that its content reaches.
 *   f64 inode, size, mtime, ctime (milliseconds) · u32 mode, uid, gid · u32 bytes of the entry · u32 bytes of the
 *   record · the entry · varint count, ordinals
 * Milliseconds in a double tell times a quarter of a microsecond apart. A file is remembered only when its last change
 * is two seconds old, so any later one is further away than that.
 *
 * As long as every file is found unchanged and in order, nothing is written: the cursor of what is kept moves through
 * the old parts. The first difference *diverges*: what was kept so far is copied, and from there on parts are new.
 *
 * Beside the files the directory's nodes are remembered: id and ordinal of each, in the order in which they are made. Of
 * a *plain* directory, whose entries are the remembered files and nothing else, it is known which of them is its root: the
 * last that was made of it. (The snapshot's own root has one more.) Where its files are not too many its roll is known, too,
 * and what they add up to.
 */

import { asBuffer, ByteReader, ByteWriter, release, sameBytes, varintAt, varintLength } from "../format/bytes.ts";
import { idLength } from "../format/hash.ts";
import type { FileEntry, Reference } from "../format/tree-entry.ts";
import { readEntry, writeEntry } from "../format/tree-entry.ts";
import type { ChangeMarks, GlimpsedFile } from "../source/source.ts";
import type { RollTotals } from "./directory-digest.ts";
import { decodeTotals, encodeTotals, marksPerFile, nameSeparator, rollDigest } from "./directory-digest.ts";

/** A walk holds a part of every directory that it is in, so a part is small; most directories still fit into one. */
const partBytes = 64 * 1024;

/** Nodes remembered of a directory: 256 stand for some 70 000 files. Those of a larger one are asked of the target. */
const maxNodes = 256;

/** Parts of a directory whose roll is remembered: with 64 KiB each they hold more files than a roll has. */
const maxRolledParts = 16;

const place = {
  inode: 0,
  size: 8,
  mtime: 16,
  ctime: 24,
  mode: 32,
  uid: 36,
  gid: 40,
  entryLength: 44,
  length: 48,
  entry: 52,
} as const;

/** A file to be remembered. */
export interface CachedFile {
  readonly entry: FileEntry;
  readonly marks: ChangeMarks;
  /** Every ordinal that the content reaches, list nodes included. */
  readonly ordinals: readonly number[];
}

/** What a directory has of the cache. */
export interface Parts {
  readonly oldParts: number;
  readonly oldNodes: Uint8Array | null;
  /** How many of the nodes a plain directory has; 0 if it is not plain. */
  readonly oldPlain: number;
  readonly oldRoll: RememberedRoll;
  old(part: number): Uint8Array;
  /** A part that was kept in this run. */
  fresh(part: number): Uint8Array;
  keep(part: number, body: Uint8Array): void;
  copyBefore(part: number): void;
  /** The directory is as it was. */
  untouched(): void;
  done(parts: number, filesDiffer: boolean, nodes: Uint8Array, plain: number, roll: RememberedRoll): void;
}

/** A roll's digest and its encoded totals; both empty where there is none. */
export interface RememberedRoll {
  readonly digest: Uint8Array;
  readonly totals: Uint8Array;
}

/** Part of some memory: SQLite takes bytes that are nowhere for null. */
export const noBytes = Buffer.alloc(1).subarray(0, 0);

export const noRoll: RememberedRoll = { digest: noBytes, totals: noBytes };

/** A remembered file as it lies in its part. */
export class FoundFile {
  bytes: Buffer = Buffer.alloc(0);
  #view = new DataView(this.bytes.buffer);
  /** Which part, and where in `bytes`. */
  part = -1;
  start = 0;
  end = 0;
  /** The same end in the old part, of which `bytes` may be a copy, and that part's length. */
  endInPart = 0;
  partLength = 0;
  nameStart = 0;
  nameEnd = 0;

  get size(): number {
    return this.#view.getFloat64(this.start + place.size, true);
  }

  /** Where the entry is, as the tree has it. */
  get entryStart(): number {
    return this.start + place.entry;
  }

  get entryEnd(): number {
    return this.entryStart + this.#view.getUint32(this.start + place.entryLength, true);
  }

  get entry(): FileEntry {
    const entry = readEntry(new ByteReader(this.bytes, this.entryStart, this.entryEnd));
    if (entry.type !== "file") throw new TypeError("the cache holds files only");
    return entry;
  }

  eachOrdinal(tell: (ordinal: number) => void): void {
    const { bytes, end } = this;
    // The first number is how many follow; the record's end says that too.
    let isCount = true;
    for (let at = this.entryEnd; at < end; ) {
      const value = varintAt(bytes, at);
      at += varintLength(value);
      if (!isCount) tell(value);
      isCount = false;
    }
  }

  /** Writes what a roll has of it. */
  tellMarks(marks: Float64Array, at: number): void {
    const view = this.#view;
    const { start } = this;
    marks[at] = view.getFloat64(start + place.inode, true);
    marks[at + 1] = view.getFloat64(start + place.size, true);
    marks[at + 2] = view.getFloat64(start + place.mtime, true);
    marks[at + 3] = view.getFloat64(start + place.ctime, true);
    marks[at + 4] = view.getUint32(start + place.mode, true);
    marks[at + 5] = view.getUint32(start + place.uid, true);
    marks[at + 6] = view.getUint32(start + place.gid, true);
  }

  /** Whether a file that was only glimpsed is this one, unchanged. */
  looksLike(seen: GlimpsedFile): boolean {
    const view = this.#view;
    const at = this.start;
    return (
      view.getFloat64(at + place.ctime, true) === seen.ctimeMs &&
      view.getFloat64(at + place.size, true) === seen.size &&
      view.getFloat64(at + place.mtime, true) === seen.mtimeMs &&
      view.getFloat64(at + place.inode, true) === seen.inode &&
      view.getUint32(at + place.mode, true) === seen.mode &&
      view.getUint32(at + place.uid, true) === seen.uid &&
      view.getUint32(at + place.gid, true) === seen.gid
    );
  }

  /** Whether a file's content is what it was when it was remembered. */
  hasContentOf(size: number, mtimeMs: number, marks: ChangeMarks): boolean {
    const view = this.#view;
    return (
      this.size === size &&
      view.getFloat64(this.start + place.mtime, true) === mtimeMs &&
      view.getFloat64(this.start + place.inode, true) === Number(marks.inode) &&
      view.getFloat64(this.start + place.ctime, true) === millisecondsOf(marks.ctimeNs)
    );
  }

  /** Goes to the record at `start` of a part. */
  goTo(bytes: Buffer, part: number, start: number): void {
    if (this.bytes !== bytes) {
      this.bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.part = part;
    this.start = start;
    this.end = start + this.#view.getUint32(start + place.length, true);
    this.endInPart = this.end;
    this.partLength = bytes.length;
    // The entry begins with its type and the length of its name.
    const at = start + place.entry + 1;
    const length = varintAt(bytes, at);
    this.nameStart = at + varintLength(length);
    this.nameEnd = this.nameStart + length;
  }

  /** A copy that stays while the cursor goes on. */
  copy(): FoundFile {
    const copied = new FoundFile();
    copied.goTo(Buffer.from(this.bytes.subarray(this.start, this.end)), this.part, 0);
    copied.endInPart = this.endInPart;
    copied.partLength = this.partLength;
    return copied;
  }
}

export class CachedDirectory {
  readonly #parts: Parts;
  readonly #found = new FoundFile();
  #writer: ByteWriter | null = null;
  /** Where the merge with the walk is: the record at the cursor is the next that may be found. */
  #part = -1;
  #body: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Where the last kept record of an undiverged directory ends. */
  #keptPart = -1;
  #keptEnd = 0;
  #keptLength = 0;
  #newPart = 0;
  #diverged = false;
  #keptAtOnce = false;
  #plain = 0;
  readonly #nodes: { readonly old: Buffer; at: number; readonly fresh: ByteWriter; count: number; differ: boolean };

  constructor(parts: Parts) {
    this.#parts = parts;
    const old = asBuffer(parts.oldNodes ?? Buffer.alloc(0));
    this.#nodes = { old, at: 0, fresh: new ByteWriter(64), count: 0, differ: parts.oldNodes === null };
  }

  /**
   * What is remembered under the name that is at these places of a buffer, valid until the next question. Names must be
   * asked for in ascending order.
   */
  find(bytes: Uint8Array, start = 0, end = bytes.length): FoundFile | null {
    while (this.#atRecord()) {
      const found = this.#found;
      const order = compareBytes(found.bytes, found.nameStart, found.nameEnd, bytes, start, end);
      if (order > 0) return null;
      this.#at = found.end;
      if (order === 0) return found;
    }
    return null;
  }

  /** Whether the directory was plain, and small enough for all of its nodes to be known. */
  get isPlain(): boolean {
    return this.#parts.oldPlain > 0;
  }

  /** Whether the roll of the directory is known. Without one there is nothing to compare another with. */
  get hasRoll(): boolean {
    return this.isPlain && this.#parts.oldRoll.digest.length > 0;
  }

  /** Keeps all files at once where their roll is the same as it was; says what they add up to, or null. */
  keepRoll(digest: Uint8Array): RollTotals | null {
    if (!sameBytes(digest, this.#parts.oldRoll.digest)) return null;
    this.#keptAtOnce = true;
    return decodeTotals(this.#parts.oldRoll.totals);
  }

  /** Whether every remembered file was kept, and none was put. */
  get keptAll(): boolean {
    if (this.#keptAtOnce) return true;
    return !this.#diverged && this.#keptEnd === this.#keptLength && this.#keptPart + 1 === this.#parts.oldParts;
  }

  /** Remembers a file as it was. Files must come in ascending order. Returns whether all before it were kept, too. */
  keep(found: FoundFile): boolean {
    if (!this.#diverged && !this.#keptAtOnce) {
      const start = found.endInPart - (found.end - found.start);
      const goesOn = found.part === this.#keptPart && start === this.#keptEnd;
      const nextPart = found.part === this.#keptPart + 1 && start === 0 && this.#keptEnd === this.#keptLength;
      if (goesOn || nextPart) {
        this.#keptPart = found.part;
        this.#keptEnd = found.endInPart;
        this.#keptLength = found.partLength;
        return true;
      }
    }
    this.#write((out) => out.raw(found.bytes.subarray(found.start, found.end)));
    return false;
  }

  /** The files that were kept before the first difference; each is valid until the next. */
  *passed(): Generator<FoundFile> {
    if (this.#keptAtOnce) throw new Error("files that were kept at once were not passed one by one");
    const found = new FoundFile();
    for (let part = 0; part <= this.#keptPart; part++) {
      const body = asBuffer(this.#parts.old(part));
      const end = part === this.#keptPart ? this.#keptEnd : body.length;
      for (let at = 0; at < end; at = found.end) {
        found.goTo(body, part, at);
        yield found;
      }
    }
  }

  /** Remembers a new or changed file. */
  put(file: CachedFile): void {
    this.#write((out) => writeRecord(out, file));
  }

  /** The ordinal of a node that the directory had in the base snapshot. */
  nodeOrdinal(id: Uint8Array): number | null {
    const { old, at } = this.#nodes;
    return ordinalIn(old, id, at, old.length) ?? ordinalIn(old, id, 0, at);
  }

  /** Takes the nodes of a plain directory over as they were, the root last. */
  takeNodes(): Reference[] {
    const taken: Reference[] = [];
    for (let at = 0; taken.length < this.#parts.oldPlain; at += nodeBytes) {
      const id = this.#nodes.old.subarray(at, at + idLength);
      const ordinal = Number(this.#nodes.old.readBigUInt64LE(at + idLength));
      this.putNode(id, ordinal);
      taken.push({ id, ordinal });
    }
    this.endPlain();
    return taken;
  }

  /** Says that the node put last is the root, and that all entries are remembered files. */
  endPlain(): void {
    this.#plain = this.#nodes.count <= maxNodes ? this.#nodes.count : 0;
  }

  /** Remembers a node of the directory's tree, in the order in which they are made. */
  putNode(id: Uint8Array, ordinal: number): void {
    const nodes = this.#nodes;
    if (nodes.count++ >= maxNodes) return;
    nodes.fresh.raw(id).u64(ordinal);
    nodes.differ ||= ordinalIn(nodes.old, id, nodes.at, nodes.at + nodeBytes) !== ordinal;
    nodes.at = Math.min(nodes.at + nodeBytes, nodes.old.length);
  }

  finish(): void {
    if (!this.keptAll && !this.#diverged) this.#diverge();
    if (this.#writer !== null && this.#writer.length > 0) this.#endPart();
    this.#writer?.free();
    const { fresh, old, differ } = this.#nodes;
    const nodesDiffer = differ || fresh.length !== old.length || this.#plain !== this.#parts.oldPlain;
    if (!this.#diverged && !nodesDiffer) this.#parts.untouched();
    else {
      const parts = this.#diverged ? this.#newPart : this.#parts.oldParts;
      this.#parts.done(parts, this.#diverged, fresh.view(), this.#plain, this.#rollOf(parts));
    }
  }

  /** The roll of a plain directory that will be remembered in so many parts. */
  #rollOf(parts: number): RememberedRoll {
    if (this.#plain === 0 || parts > maxRolledParts) return noRoll;
    if (!this.#diverged && this.hasRoll) return this.#parts.oldRoll;
    const names = new ByteWriter(4096);
    const ordinals = new Set<number>();
    const reached = (ordinal: number) => ordinals.add(ordinal);
    let marks = new Float64Array(256 * marksPerFile);
    let files = 0;
    let size = 0;
    const found = new FoundFile();
    for (let part = 0; part < parts; part++) {
      const body = asBuffer(this.#diverged ? this.#parts.fresh(part) : this.#parts.old(part));
      for (let at = 0; at < body.length; at = found.end) {
        found.goTo(body, part, at);
        if (files > 0) names.u8(nameSeparator);
        names.part(body, found.nameStart, found.nameEnd);
        if ((files + 1) * marksPerFile > marks.length) marks = doubled(marks);
        found.tellMarks(marks, files++ * marksPerFile);
        found.eachOrdinal(reached);
        size += found.size;
      }
      release(body);
    }
    const digest = rollDigest(names.view(), marks.subarray(0, files * marksPerFile));
    names.free();
    release(asBytes(marks));
    return { digest, totals: encodeTotals({ files, size, ordinals }) };
  }

  #atRecord(): boolean {
    while (this.#at >= this.#body.length) {
      if (this.#part + 1 >= this.#parts.oldParts) return false;
      this.#body = asBuffer(this.#parts.old(++this.#part));
      this.#at = 0;
    }
    this.#found.goTo(this.#body, this.#part, this.#at);
    return true;
  }

  #write(append: (out: ByteWriter) => void): void {
    if (this.#keptAtOnce) throw new Error("a file beside all that there are");
    if (!this.#diverged) this.#diverge();
    this.#writer ??= new ByteWriter(4096);
    append(this.#writer);
    if (this.#writer.length >= partBytes) this.#endPart();
  }

  /** From here on parts are new: whole ones before are copied, and of the one where the cursor is what was kept of it. */
  #diverge(): void {
    this.#diverged = true;
    if (this.#keptPart < 0) return;
    this.#parts.copyBefore(this.#keptPart);
    this.#newPart = this.#keptPart;
    this.#writer = new ByteWriter(partBytes);
    this.#writer.raw(this.#parts.old(this.#keptPart).subarray(0, this.#keptEnd));
    if (this.#writer.length >= partBytes) this.#endPart();
  }

  #endPart(): void {
    if (this.#writer === null) return;
    this.#parts.keep(this.#newPart++, this.#writer.view());
    this.#writer.reset();
  }
}

function doubled(numbers: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(numbers.length * 2);
  longer.set(numbers);
  release(asBytes(numbers));
  return longer;
}

function asBytes({ buffer }: Float64Array): Uint8Array {
  return new Uint8Array(buffer);
}

/** An id and an ordinal. */
const nodeBytes = idLength + 8;

/** The ordinal that a list of nodes has for an id, looked for between two places. */
function ordinalIn(nodes: Buffer, id: Uint8Array, from: number, to: number): number | null {
  for (let at = from; at < to && at < nodes.length; at += nodeBytes) {
    if (compareBytes(nodes, at, at + idLength, id, 0, idLength) === 0)
      return Number(nodes.readBigUInt64LE(at + idLength));
  }
  return null;
}

/** Byte order, in plain code: names are short, and a call into the system costs more than they do. */
function compareBytes(
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): number {
  const aLength = aEnd - aStart;
  const bLength = bEnd - bStart;
  const shorter = aLength < bLength ? aLength : bLength;
  for (let i = 0; i < shorter; i++) {
    const difference = (a[aStart + i] ?? 0) - (b[bStart + i] ?? 0);
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

function writeRecord(out: ByteWriter, { entry, marks, ordinals }: CachedFile): void {
  const body = new ByteWriter(256);
  writeEntry(body, entry);
  const entryLength = body.length;
  body.varint(ordinals.length);
  for (const ordinal of ordinals) body.varint(ordinal);
  const head = Buffer.allocUnsafe(place.entry);
  head.writeDoubleLE(Number(marks.inode), place.inode);
  head.writeDoubleLE(entry.size, place.size);
  head.writeDoubleLE(mtimeMsOf(entry), place.mtime);
  head.writeDoubleLE(millisecondsOf(marks.ctimeNs), place.ctime);
  head.writeUInt32LE(entry.mode, place.mode);
  head.writeUInt32LE(entry.uid, place.uid);
  head.writeUInt32LE(entry.gid, place.gid);
  head.writeUInt32LE(entryLength, place.entryLength);
  head.writeUInt32LE(place.entry + body.length, place.length);
  out.raw(head).raw(body.view());
}

/** A time as Node's file facts have it in milliseconds, from one in nanoseconds. */
function millisecondsOf(ns: bigint): number {
  const seconds = ns / 1_000_000_000n;
  const nanos = ns % 1_000_000_000n;
  const before = nanos < 0n;
  return Number(before ? seconds - 1n : seconds) * 1000 + Number(before ? nanos + 1_000_000_000n : nanos) / 1_000_000;
}

export function mtimeMsOf({ mtimeSeconds, mtimeNanos }: Pick<FileEntry, "mtimeSeconds" | "mtimeNanos">): number {
  return mtimeSeconds * 1000 + mtimeNanos / 1_000_000;
}
