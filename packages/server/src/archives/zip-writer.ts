/**
 * Writes zip archives while they are sent.
 *
 * The layout follows from the members alone, so the same members always give the same bytes. A file of up to 256 KiB is *stored*: it is
 * read whole before its header is written, so that the header has its CRC-32. The CRC-32 of a larger one is known after its content only.
 * Then it is in a descriptor after the content, and the content is in stored blocks of deflate, which cost 5 bytes for 65 535: readers
 * that begin at the front (Java's `ZipInputStream`) find the end of such content, and cannot find the end of stored content.
 *
 * Names are UTF-8 and say so. zip64 fields are written only where a number needs them. The directory is made at the end, from a second
 * pass over the members: of the first pass only the CRC-32s are kept.
 */

import { crc32 } from "node:zlib";
import {
  dosAttributes,
  extraIds,
  fileTypes,
  flags,
  lengths,
  max16,
  max32,
  methods,
  permissionBits,
  signatures,
  systems,
} from "./zip-format.ts";
import { timeFields, toDosTime } from "./zip-time.ts";

/** A change of the layout needs another number: bytes that a client has fetched in part must stay the same. */
export const zipLayoutVersion = 1;

/** Files up to this size are in memory before they are written. */
export const maxStoredBytes = 256 * 1024;

export interface ZipMember {
  readonly type: "file" | "directory" | "symbolic-link";
  /** In UTF-8; no slash at its end. */
  readonly path: Buffer;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeSeconds: number;
  readonly mtimeNanos: number;
  /** Bytes of content: of a file, or of the target of a link. */
  readonly size: number;
  /** Its CRC-32 is known before its content is written. Then it is stored, however large it is. */
  readonly isStored?: true;
}

type Bytes = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface ZipContent {
  readonly member: ZipMember;
  readonly bytes: Bytes;
}

/** The members, twice in the same order: with their content, and alone for the directory. */
export interface ZipSource {
  contents(): AsyncIterable<ZipContent>;
  members(): AsyncIterable<ZipMember>;
  /** For people, in ASCII; asked for at the end. */
  comment(): string;
}

/** What a block of deflate can hold. */
const maxBlockBytes = 0xffff;
const blockHeaderBytes = 5;

/** 2.0 for deflate and directories, 4.5 for zip64. */
const versions = { plain: 20, zip64: 45 } as const;

const typeBits = {
  file: fileTypes.regular,
  directory: fileTypes.directory,
  "symbolic-link": fileTypes.link,
} as const;

const slash = Buffer.from("/");

/** The whole archive. */
export async function* zipOf(source: ZipSource): AsyncGenerator<Uint8Array> {
  const checksums = new Checksums();
  let offset = 0;
  for await (const { member, bytes } of source.contents()) {
    yield* contentOf(member, bytes, checksums);
    offset += zipBytesOf(member);
  }
  const directoryOffset = offset;
  let [directoryBytes, count, place] = [0, 0, 0];
  for await (const member of source.members()) {
    const record = zipRecordOf(member, checksums.at(count++), place);
    directoryBytes += record.length;
    place += zipBytesOf(member);
    yield record;
  }
  if (count !== checksums.count || place !== directoryOffset) throw new Error("the members of an archive have changed");
  yield zipEndOf({ count, directoryOffset, directoryBytes, comment: source.comment() });
}

/** Grows by four bytes for each member. */
class Checksums {
  #values = new Uint32Array(1024);
  count = 0;

  add(crc: number): void {
    if (this.count === this.#values.length) {
      const larger = new Uint32Array(2 * this.count);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.count++] = crc;
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }
}

/** A member with its content. */
async function* contentOf(member: ZipMember, bytes: Bytes, checksums: Checksums): AsyncGenerator<Uint8Array> {
  if (!isStreamed(member)) {
    const content = await Array.fromAsync(bytes);
    const crc = content.reduce((sum, chunk) => crc32(chunk, sum), 0);
    yield zipHeaderOf(member, crc);
    yield* content;
    if (lengthOf(content) !== member.size) throw new Error("a file has another size than its entry");
    checksums.add(crc);
    return;
  }
  yield zipHeaderOf(member, 0);
  let crc = 0;
  const counted = async function* () {
    for await (const chunk of bytes) {
      crc = crc32(chunk, crc);
      yield chunk;
    }
  };
  yield* blocksOf(counted(), member.size);
  yield zipDescriptorOf(member, crc);
  checksums.add(crc);
}

function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

/** The content as stored blocks of deflate. */
async function* blocksOf(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let [left, leftOfBlock] = [size, 0];
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) throw new Error("a file is longer than its entry");
      if (leftOfBlock === 0) {
        leftOfBlock = Math.min(maxBlockBytes, left);
        yield blockHeader(leftOfBlock, leftOfBlock === left);
      }
      const taken = Math.min(leftOfBlock, chunk.length - at);
      yield chunk.subarray(at, at + taken);
      at += taken;
      leftOfBlock -= taken;
      left -= taken;
    }
  }
  if (left > 0) throw new Error("a file is shorter than its entry");
}

/** Whether it is the last block, the kind "stored" (0), and the length with its complement. */
function blockHeader(length: number, isLast: boolean): Buffer {
  const header = Buffer.alloc(blockHeaderBytes);
  header[0] = isLast ? 1 : 0;
  header.writeUInt16LE(length, 1);
  header.writeUInt16LE(~length & 0xffff, 3);
  return header;
}

function isStreamed({ size, isStored }: ZipMember): boolean {
  return size > maxStoredBytes && isStored !== true;
}

/** Bytes of the content in the archive. */
function contentBytesOf(member: ZipMember): number {
  const { size } = member;
  return isStreamed(member) ? size + blockHeaderBytes * Math.ceil(size / maxBlockBytes) : size;
}

/** Whether a size does not fit into 32 bits. The directory then has both as 64 bits, and so have local header and descriptor. */
function hasLongSizes(member: ZipMember): boolean {
  return Math.max(member.size, contentBytesOf(member)) >= max32;
}

/** The bytes of a member with its content. */
export function zipBytesOf(member: ZipMember): number {
  const descriptorBytes = !isStreamed(member) ? 0 : hasLongSizes(member) ? 24 : 16;
  return zipHeaderOf(member, 0).length + contentBytesOf(member) + descriptorBytes;
}

/** What is before the content. */
export function zipHeaderOf(member: ZipMember, crc: number): Buffer {
  const isLate = isStreamed(member);
  const isLong = hasLongSizes(member);
  const name = nameOf(member);
  // With a descriptor the sizes are 0 here; as zip64 they are 0 in the extra field.
  const { size } = member;
  const extra = extraOf(member, isLong ? (isLate ? [0, 0] : [size, size]) : []);
  const header = Buffer.alloc(lengths.local);
  header.writeUInt32LE(signatures.local, 0);
  writeCommon(header, 4, member);
  header.writeUInt32LE(isLate ? 0 : crc, 14);
  header.writeUInt32LE(isLong ? max32 : isLate ? 0 : member.size, 18);
  header.writeUInt32LE(isLong ? max32 : isLate ? 0 : member.size, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

/** What follows the content of a large file. */
export function zipDescriptorOf(member: ZipMember, crc: number): Buffer {
  const isLong = hasLongSizes(member);
  const descriptor = Buffer.alloc(isLong ? 24 : 16);
  descriptor.writeUInt32LE(signatures.descriptor, 0);
  descriptor.writeUInt32LE(crc, 4);
  const sizes = [contentBytesOf(member), member.size];
  for (const [index, size] of sizes.entries())
    if (isLong) descriptor.writeBigUInt64LE(BigInt(size), 8 + 8 * index);
    else descriptor.writeUInt32LE(size, 8 + 4 * index);
  return descriptor;
}

/** The member in the directory. */
export function zipRecordOf(member: ZipMember, crc: number, offset: number): Buffer {
  const name = nameOf(member);
  const sizes = hasLongSizes(member) ? [member.size, contentBytesOf(member)] : [];
  const isFar = offset >= max32;
  const extra = extraOf(member, isFar ? [...sizes, offset] : sizes);
  const record = Buffer.alloc(lengths.record);
  record.writeUInt32LE(signatures.record, 0);
  record.writeUInt16LE((systems.unix << 8) | versions.zip64, 4);
  writeCommon(record, 6, member, isFar);
  record.writeUInt32LE(crc, 16);
  record.writeUInt32LE(sizes.length > 0 ? max32 : contentBytesOf(member), 20);
  record.writeUInt32LE(sizes.length > 0 ? max32 : member.size, 24);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt16LE(extra.length, 30);
  record.writeUInt32LE(attributesOf(member), 38);
  record.writeUInt32LE(isFar ? max32 : offset, 42);
  return Buffer.concat([record, name, extra]);
}

/** From the version that is needed to the DOS time: the same in local header and directory. */
function writeCommon(target: Buffer, at: number, member: ZipMember, isFar = false): void {
  const { date, time } = toDosTime(member.mtimeSeconds);
  target.writeUInt16LE(isFar || hasLongSizes(member) ? versions.zip64 : versions.plain, at);
  target.writeUInt16LE(flags.utf8 | (isStreamed(member) ? flags.descriptor : 0), at + 2);
  target.writeUInt16LE(isStreamed(member) ? methods.deflated : methods.stored, at + 4);
  target.writeUInt16LE(time, at + 6);
  target.writeUInt16LE(date, at + 8);
}

function nameOf({ path, type }: ZipMember): Buffer {
  return type === "directory" ? Buffer.concat([path, slash]) : path;
}

function attributesOf({ type, mode }: ZipMember): number {
  const unixMode = typeBits[type] | (mode & permissionBits);
  return unixMode * 0x10000 + (type === "directory" ? dosAttributes.directory : 0);
}

/** The extra fields: numbers of 64 bits, the exact time, the owner. */
function extraOf({ mtimeSeconds, mtimeNanos, uid, gid }: ZipMember, longNumbers: readonly number[]): Buffer {
  const fields: (readonly [number, Buffer])[] = [];
  if (longNumbers.length > 0) {
    const values = Buffer.alloc(8 * longNumbers.length);
    for (const [index, value] of longNumbers.entries()) values.writeBigUInt64LE(BigInt(value), 8 * index);
    fields.push([extraIds.zip64, values]);
  }
  fields.push(...timeFields(mtimeSeconds, mtimeNanos));
  if (uid !== 0 || gid !== 0) fields.push([extraIds.owner, ownerField(uid, gid)]);
  return Buffer.concat(fields.flatMap(([id, value]) => [extraHeader(id, value.length), value]));
}

function extraHeader(id: number, length: number): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16LE(id, 0);
  header.writeUInt16LE(length, 2);
  return header;
}

/** Info-ZIP's: a version, and two numbers with their lengths. */
function ownerField(uid: number, gid: number): Buffer {
  const field = Buffer.from([1, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
  field.writeUInt32LE(uid, 2);
  field.writeUInt32LE(gid, 7);
  return field;
}

interface ZipEnd {
  readonly count: number;
  readonly directoryOffset: number;
  readonly directoryBytes: number;
  readonly comment: string;
}

/** What follows the directory: the end record, and before it the large one where a number needs it. */
export function zipEndOf({ count, directoryOffset, directoryBytes, comment }: ZipEnd): Buffer {
  const isLong = count >= max16 || directoryOffset >= max32 || directoryBytes >= max32;
  const end = Buffer.alloc(lengths.end);
  end.writeUInt32LE(signatures.end, 0);
  end.writeUInt16LE(Math.min(count, max16), 8);
  end.writeUInt16LE(Math.min(count, max16), 10);
  end.writeUInt32LE(Math.min(directoryBytes, max32), 12);
  end.writeUInt32LE(Math.min(directoryOffset, max32), 16);
  end.writeUInt16LE(comment.length, 20);
  const parts = [end, Buffer.from(comment, "latin1")];
  return Buffer.concat(isLong ? [...longEnd(count, directoryOffset, directoryBytes), ...parts] : parts);
}

function longEnd(count: number, directoryOffset: number, directoryBytes: number): readonly Buffer[] {
  const record = Buffer.alloc(lengths.end64);
  record.writeUInt32LE(signatures.end64, 0);
  // Its own length, without the signature and this number.
  record.writeBigUInt64LE(BigInt(lengths.end64 - 12), 4);
  record.writeUInt16LE((systems.unix << 8) | versions.zip64, 12);
  record.writeUInt16LE(versions.zip64, 14);
  for (const [at, value] of [
    [24, count],
    [32, count],
    [40, directoryBytes],
    [48, directoryOffset],
  ] as const)
    record.writeBigUInt64LE(BigInt(value), at);
  const locator = Buffer.alloc(lengths.locator);
  locator.writeUInt32LE(signatures.locator, 0);
  locator.writeBigUInt64LE(BigInt(directoryOffset + directoryBytes), 8);
  locator.writeUInt32LE(1, 16);
  return [record, locator];
}
