/**
 * A record: what the cache stores of one file. Integers and doubles are little-endian.
 *
 *   offset  bytes
 *        0  8 × 4  doubles: inode, size, mtime, ctime (times in milliseconds)
 *       32  4 × 3  mode, uid, gid
 *       44  4      length of the entry
 *       48  4      length of the whole record
 *       52         the entry as a tree node has it; it begins with the type (1 byte) and the name
 *        …         varint count, then as many varints: the ordinals that the file's content reaches, list nodes included
 *
 * The stat fields have fixed offsets, so an unchanged file is recognised without decoding its entry. Milliseconds in a
 * double are exact to a quarter of a microsecond. That is enough: a file is cached only if its last change is at least
 * 35 s old (`minCacheAgeMs`), so the time of a later change differs by much more. The exact mtime is in the entry.
 */

import { ByteReader, ByteWriter, varintAt, varintLength } from "../format/bytes.ts";
import type { FileEntry } from "../format/tree-entry.ts";
import { readEntry, writeEntry } from "../format/tree-entry.ts";
import type { ChangeStat, QuickStat } from "../source/source.ts";

const offsets = {
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

/** A file to be cached. */
export interface CachedFile {
  readonly entry: FileEntry;
  readonly changeStat: ChangeStat;
  /** Every ordinal that the content reaches, list nodes included. */
  readonly ordinals: readonly number[];
}

/** A record in its bytes. One object moves through all records of a directory; `copy` makes one that stays. */
export class FileRecord {
  bytes: Buffer = Buffer.alloc(0);
  #view = new DataView(this.bytes.buffer);
  /** The record is `bytes` from `start` to `end`, its name from `nameStart` to `nameEnd`. */
  start = 0;
  end = 0;
  nameStart = 0;
  nameEnd = 0;
  /** Which record of the directory it is, in which part, and where it ends there. */
  index = 0;
  part = 0;
  endInPart = 0;

  moveTo(bytes: Buffer, start: number): void {
    if (this.bytes !== bytes) {
      this.bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.start = start;
    this.end = start + this.#view.getUint32(start + offsets.length, true);
    const nameLengthAt = start + offsets.entry + 1;
    const nameLength = varintAt(bytes, nameLengthAt);
    this.nameStart = nameLengthAt + varintLength(nameLength);
    this.nameEnd = this.nameStart + nameLength;
  }

  copy(): FileRecord {
    const copied = new FileRecord();
    copied.moveTo(Buffer.from(this.bytes.subarray(this.start, this.end)), 0);
    copied.index = this.index;
    copied.part = this.part;
    copied.endInPart = this.endInPart;
    return copied;
  }

  get size(): number {
    return this.#view.getFloat64(this.start + offsets.size, true);
  }

  get entryStart(): number {
    return this.start + offsets.entry;
  }

  get entryEnd(): number {
    return this.entryStart + this.#view.getUint32(this.start + offsets.entryLength, true);
  }

  get entry(): FileEntry {
    const entry = readEntry(new ByteReader(this.bytes, this.entryStart, this.entryEnd));
    if (entry.type !== "file") throw new TypeError("the cache holds an entry that is not a file");
    return entry;
  }

  /** Whether nothing of the file changed: content, mode and owner. */
  isUnchanged(stat: QuickStat): boolean {
    const view = this.#view;
    const at = this.start;
    return (
      view.getFloat64(at + offsets.ctime, true) === stat.ctimeMs &&
      view.getFloat64(at + offsets.size, true) === stat.size &&
      view.getFloat64(at + offsets.mtime, true) === stat.mtimeMs &&
      view.getFloat64(at + offsets.inode, true) === stat.inode &&
      view.getUint32(at + offsets.mode, true) === stat.mode &&
      view.getUint32(at + offsets.uid, true) === stat.uid &&
      view.getUint32(at + offsets.gid, true) === stat.gid
    );
  }

  /** Whether the content of the file did not change. */
  hasSameContent(size: number, mtimeMs: number, changeStat: ChangeStat): boolean {
    const view = this.#view;
    const at = this.start;
    return (
      this.size === size &&
      view.getFloat64(at + offsets.mtime, true) === mtimeMs &&
      view.getFloat64(at + offsets.inode, true) === Number(changeStat.inode) &&
      view.getFloat64(at + offsets.ctime, true) === millisecondsOf(changeStat.ctimeNs)
    );
  }

  eachOrdinal(use: (ordinal: number) => void): void {
    const { bytes, end, entryEnd } = this;
    let at = entryEnd + varintLength(varintAt(bytes, entryEnd));
    while (at < end) {
      const ordinal = varintAt(bytes, at);
      at += varintLength(ordinal);
      use(ordinal);
    }
  }

  /** Writes the fields that a directory digest hashes, in its order. */
  writeStatFields(fields: Float64Array, at: number): void {
    const view = this.#view;
    const { start } = this;
    fields[at] = view.getFloat64(start + offsets.inode, true);
    fields[at + 1] = view.getFloat64(start + offsets.size, true);
    fields[at + 2] = view.getFloat64(start + offsets.mtime, true);
    fields[at + 3] = view.getFloat64(start + offsets.ctime, true);
    fields[at + 4] = view.getUint32(start + offsets.mode, true);
    fields[at + 5] = view.getUint32(start + offsets.uid, true);
    fields[at + 6] = view.getUint32(start + offsets.gid, true);
  }
}

export function writeRecord(out: ByteWriter, { entry, changeStat, ordinals }: CachedFile): void {
  const body = new ByteWriter(256);
  writeEntry(body, entry);
  const entryLength = body.length;
  body.varint(ordinals.length);
  for (const ordinal of ordinals) body.varint(ordinal);
  const head = Buffer.allocUnsafe(offsets.entry);
  head.writeDoubleLE(Number(changeStat.inode), offsets.inode);
  head.writeDoubleLE(entry.size, offsets.size);
  head.writeDoubleLE(mtimeMsOf(entry), offsets.mtime);
  head.writeDoubleLE(millisecondsOf(changeStat.ctimeNs), offsets.ctime);
  head.writeUInt32LE(entry.mode, offsets.mode);
  head.writeUInt32LE(entry.uid, offsets.uid);
  head.writeUInt32LE(entry.gid, offsets.gid);
  head.writeUInt32LE(entryLength, offsets.entryLength);
  head.writeUInt32LE(offsets.entry + body.length, offsets.length);
  out.raw(head).raw(body.view());
}

export function mtimeMsOf({ mtimeSeconds, mtimeNanos }: Pick<FileEntry, "mtimeSeconds" | "mtimeNanos">): number {
  return mtimeSeconds * 1000 + mtimeNanos / 1_000_000;
}

/** Nanoseconds as the double that Node computes for the same time in `mtimeMs` and `ctimeMs`. */
function millisecondsOf(ns: bigint): number {
  const seconds = ns / 1_000_000_000n;
  const nanos = ns % 1_000_000_000n;
  const isBefore1970 = nanos < 0n;
  const mtimeSeconds = Number(isBefore1970 ? seconds - 1n : seconds);
  const mtimeNanos = Number(isBefore1970 ? nanos + 1_000_000_000n : nanos);
  return mtimeMsOf({ mtimeSeconds, mtimeNanos });
}

/** Byte order of two ranges. It is plain code because names are short: a call into the system would take longer. */
export function compareRanges(
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
