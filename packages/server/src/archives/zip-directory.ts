/**
 * The directory of a zip archive: the list of its entries at its end. It alone says what the archive has.
 *
 * The archive is hostile input, and programs read malformed ones in different ways. So the directory must be where the end record says,
 * between the entries and that record, and must have as many records as it says. Some programs count modulo 65 536: the directory is
 * read to its end, and the count is compared modulo 65 536.
 */

import { maxEntries } from "./archive-path.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import type { SpoolFile } from "./spool.ts";
import {
  type ExtraFields,
  extraIds,
  lengths,
  max16,
  max32,
  readExtras,
  readLong,
  readZip64,
  signatures,
} from "./zip-format.ts";

/** What is read of the directory at a time: more than its longest record, which has three fields of 64 KiB. */
const windowBytes = 512 * 1024;

/** bsdtar fills the last block of 10 KiB with zeros when it writes to a pipe. */
const maxPaddingBytes = 10 * 1024;

const endMark = Buffer.alloc(4);
endMark.writeUInt32LE(signatures.end);

export interface ZipDirectory {
  readonly offset: number;
  /** Where the records end. */
  readonly end: number;
  /** How many records it says to have. */
  readonly count: number;
  /** The count is exact, and not modulo 65 536. */
  readonly isExact: boolean;
}

/** One record. Nothing in it is checked yet but its own structure. */
export interface DirectoryRecord {
  /** How many records came before it. */
  readonly index: number;
  readonly name: Buffer;
  readonly system: number;
  readonly flags: number;
  readonly method: number;
  readonly dosTime: number;
  readonly dosDate: number;
  readonly crc: number;
  /** Bytes in the archive. */
  readonly length: number;
  /** Bytes of the content. */
  readonly size: number;
  readonly attributes: number;
  /** Of the local header. */
  readonly offset: number;
  readonly extras: ExtraFields;
}

function notAZip(): InvalidArchiveError {
  return new InvalidArchiveError("not_a_zip");
}

/** Finds the directory by the end record, which is the last thing in the archive but for a comment and zeros. */
export async function findDirectory(archive: SpoolFile): Promise<ZipDirectory> {
  const tailBytes = Math.min(archive.size, lengths.end + max16 + maxPaddingBytes);
  const tail = await archive.read(archive.size - tailBytes, tailBytes);
  const at = endRecordIn(tail);
  const end = tail.subarray(at, at + lengths.end);
  const place = archive.size - tailBytes + at;
  const [disk, directoryDisk] = [end.readUInt16LE(4), end.readUInt16LE(6)];
  const [countHere, count] = [end.readUInt16LE(8), end.readUInt16LE(10)];
  const [size, offset] = [end.readUInt32LE(12), end.readUInt32LE(16)];
  const locator = await readLocator(archive, place);
  if (locator === null) {
    if (disk !== 0 || directoryDisk !== 0 || countHere !== count) throw new InvalidArchiveError("multi_volume");
    if (offset + size !== place) throw notAZip();
    return { offset, end: place, count, isExact: false };
  }
  const found = await readEnd64(archive, locator, place - lengths.locator);
  // What the small record says must agree with the large one, unless it says that it does not know.
  const agrees = (small: number, unknown: number, large: number) => small === unknown || small === large;
  const isSame =
    agrees(count, max16, found.count) &&
    agrees(size, max32, found.end - found.offset) &&
    agrees(offset, max32, found.offset);
  if (!isSame) throw notAZip();
  return found;
}

/** Where the end record is. With a comment that has another end record in it, programs would read two different archives. */
function endRecordIn(tail: Buffer): number {
  const found: number[] = [];
  const zerosFrom = tail.findLastIndex((byte) => byte !== 0) + 1;
  for (
    let at = tail.lastIndexOf(endMark, -lengths.end);
    at >= 0;
    at = at === 0 ? -1 : tail.lastIndexOf(endMark, at - 1)
  ) {
    const end = at + lengths.end + tail.readUInt16LE(at + 20);
    const padding = tail.length - end;
    if (padding === 0 || (padding > 0 && padding < maxPaddingBytes && end >= zerosFrom)) found.push(at);
  }
  const [at] = found;
  if (at === undefined || found.length > 1) throw notAZip();
  return at;
}

/** The place of the large end record; null if there is none. */
async function readLocator(archive: SpoolFile, endPlace: number): Promise<number | null> {
  if (endPlace < lengths.locator) return null;
  const locator = await archive.read(endPlace - lengths.locator, lengths.locator);
  if (locator.readUInt32LE(0) !== signatures.locator) return null;
  if (locator.readUInt32LE(4) !== 0 || locator.readUInt32LE(16) > 1) throw new InvalidArchiveError("multi_volume");
  return readLong(locator, 8, null);
}

async function readEnd64(archive: SpoolFile, place: number, end: number): Promise<ZipDirectory> {
  if (place + lengths.end64 > end) throw notAZip();
  const record = await archive.read(place, lengths.end64);
  // Its own length does not count the signature and itself.
  const isWhole = record.readUInt32LE(0) === signatures.end64 && place + 12 + readLong(record, 4, null) === end;
  if (!isWhole) throw notAZip();
  const [countHere, count] = [readLong(record, 24, null), readLong(record, 32, null)];
  const isOneDisk = record.readUInt32LE(16) === 0 && record.readUInt32LE(20) === 0 && countHere === count;
  if (!isOneDisk) throw new InvalidArchiveError("multi_volume");
  const [size, offset] = [readLong(record, 40, null), readLong(record, 48, null)];
  if (offset + size !== place) throw notAZip();
  return { offset, end: place, count, isExact: true };
}

/** The records in their order, some at a time. */
export async function* directoryRecords(
  archive: SpoolFile,
  directory: ZipDirectory,
): AsyncGenerator<readonly DirectoryRecord[]> {
  let index = 0;
  for (let position = directory.offset; position < directory.end; ) {
    const window = await archive.read(position, Math.min(windowBytes, directory.end - position));
    const records: DirectoryRecord[] = [];
    let at = 0;
    for (let next = recordEnd(window, at); next !== null; next = recordEnd(window, at)) {
      records.push(naming(index, () => readRecord(window.subarray(at, next ?? at), index)));
      index++;
      at = next;
    }
    // The window is longer than any record, so only a directory that ends within a record has none in it.
    if (records.length === 0) throw named(notAZip(), index);
    if (index > maxEntries) throw new InvalidArchiveError("too_many_entries");
    position += at;
    yield records;
  }
  const isCounted = directory.isExact ? index === directory.count : index % (max16 + 1) === directory.count;
  if (!isCounted) throw notAZip();
}

/** Runs a step for an entry: an error says which entry it is about. */
export function naming<T>(index: number, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw named(error, index);
  }
}

/** The error, with the entry that it is about. */
export function named(error: unknown, index: number): unknown {
  if (error instanceof InvalidArchiveError) error.entry = index;
  return error;
}

/** Where the record that begins here ends; null if it is not whole in the window. */
function recordEnd(window: Buffer, at: number): number | null {
  if (at + lengths.record > window.length) return null;
  const variable = window.readUInt16LE(at + 28) + window.readUInt16LE(at + 30) + window.readUInt16LE(at + 32);
  const end = at + lengths.record + variable;
  return end > window.length ? null : end;
}

function readRecord(record: Buffer, index: number): DirectoryRecord {
  if (record.readUInt32LE(0) !== signatures.record) throw notAZip();
  const extraStart = lengths.record + record.readUInt16LE(28);
  const name = Buffer.from(record.subarray(lengths.record, extraStart));
  const extras = readExtras(record.subarray(extraStart, extraStart + record.readUInt16LE(30)), name);
  const small = [record.readUInt32LE(24), record.readUInt32LE(20), record.readUInt32LE(42)];
  const [size = 0, length = 0, offset = 0] = readZip64(small, extras.get(extraIds.zip64), name);
  if (record.readUInt16LE(34) !== 0) throw new InvalidArchiveError("multi_volume", name);
  return {
    ...{ index, name, size, length, offset, extras },
    system: record[5] ?? 0,
    flags: record.readUInt16LE(8),
    method: record.readUInt16LE(10),
    dosTime: record.readUInt16LE(12),
    dosDate: record.readUInt16LE(14),
    crc: record.readUInt32LE(16),
    attributes: record.readUInt32LE(38),
  };
}
