/**
 * The local header before the content of a zip entry, and the descriptor after it. They say again what the directory says. Programs
 * that read from the start believe them, so an entry that says two things is refused.
 */

import { InvalidArchiveError } from "./invalid-archive.ts";
import type { SpoolFile } from "./spool.ts";
import { extraIds, flags, lengths, max32, readExtras, readZip64, signatures } from "./zip-format.ts";
import type { ZipMemberRow } from "./zip-members.ts";

/** What is read of the archive at a time. Small entries are neighbours, and their headers come with one read. */
const windowBytes = 128 * 1024;

/** A name and extra fields of 64 KiB each. */
const mostHeaderBytes = lengths.local + 2 * 0xffff;

/** With 64-bit sizes and a signature. */
const mostDescriptorBytes = 24;

/** What must be the same for the content to be read right. Some programs set the bit of UTF-8 in one place only. */
const comparedFlags = flags.encrypted | flags.strongEncryption | flags.maskedHeaders | flags.patch;

/** Reads an archive from front to back, some at a time. */
export class ArchiveWindow {
  readonly #archive: SpoolFile;
  /** Nothing from here on is read. */
  readonly end: number;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(archive: SpoolFile, end: number) {
    this.#archive = archive;
    this.end = end;
  }

  /** Up to so many bytes from a position; fewer at the end. */
  async at(position: number, length: number): Promise<Buffer> {
    const wanted = Math.max(0, Math.min(length, this.end - position));
    if (position < this.#start || position + wanted > this.#start + this.#bytes.length) {
      const ahead = Math.min(Math.max(windowBytes, wanted), this.end - position);
      this.#bytes = await this.#archive.read(position, Math.max(0, ahead));
      this.#start = position;
    }
    const from = position - this.#start;
    return this.#bytes.subarray(from, from + wanted);
  }
}

/** Where the content of an entry begins, and where the next entry may begin. */
export interface ZipPlace {
  readonly content: number;
  readonly end: number;
}

/** Compares an entry with its local header and its descriptor. */
export async function checkLocal(window: ArchiveWindow, member: ZipMemberRow): Promise<ZipPlace> {
  let header = await window.at(member.offset, lengths.local);
  const wrong = () => new InvalidArchiveError("contradictory_entry", member.path);
  if (header.length < lengths.local || header.readUInt32LE(0) !== signatures.local) throw wrong();
  const headerBytes = lengths.local + header.readUInt16LE(26) + header.readUInt16LE(28);
  header = await window.at(member.offset, Math.min(headerBytes, mostHeaderBytes));
  if (header.length < headerBytes || !saysTheSame(header, member)) throw wrong();
  const content = member.offset + headerBytes;
  const contentEnd = content + member.length;
  if ((header.readUInt16LE(6) & flags.descriptor) === 0) return { content, end: contentEnd };
  const descriptorBytes = descriptorLength(await window.at(contentEnd, mostDescriptorBytes), member);
  if (descriptorBytes === null) throw wrong();
  return { content, end: contentEnd + descriptorBytes };
}

function saysTheSame(header: Buffer, { name, flags: flagBits, method, crc, size, length }: ZipMemberRow): boolean {
  const localFlags = header.readUInt16LE(6);
  const nameEnd = lengths.local + header.readUInt16LE(26);
  if (!header.subarray(lengths.local, nameEnd).equals(name)) return false;
  if (((localFlags ^ flagBits) & comparedFlags) !== 0 || header.readUInt16LE(8) !== method) return false;
  const extras = readExtras(header.subarray(nameEnd), name);
  const sizes = readZip64([header.readUInt32LE(22), header.readUInt32LE(18)], extras.get(extraIds.zip64), name);
  const found = [header.readUInt32LE(14), ...sizes];
  // With a descriptor they are known after the content only: 0, or what they will be.
  const isLater = (localFlags & flags.descriptor) !== 0;
  return [crc, size, length].every((value, at) => found[at] === value || (isLater && found[at] === 0));
}

/** The length of the descriptor; null if it says something else. It has a signature or none, and sizes of 32 or 64 bits. */
function descriptorLength(bytes: Buffer, { crc, length, size }: ZipMemberRow): number | null {
  // The wide form first: that of an empty file begins like the other one.
  for (const isSigned of [true, false])
    for (const wide of [true, false]) {
      const start = isSigned ? 4 : 0;
      const end = start + (wide ? 20 : 12);
      if (bytes.length < end || (isSigned && bytes.readUInt32LE(0) !== signatures.descriptor)) continue;
      if (!wide && Math.max(length, size) > max32) continue;
      const sizeAt = (at: number) =>
        wide ? bytes.readBigUInt64LE(start + 4 + at * 8) : BigInt(bytes.readUInt32LE(start + 4 + at * 4));
      if (bytes.readUInt32LE(start) === crc && sizeAt(0) === BigInt(length) && sizeAt(1) === BigInt(size)) return end;
    }
  return null;
}
