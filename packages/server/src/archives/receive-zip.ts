/**
 * Receives a zip archive: writes it to the spool as it comes, reads the directory at its end, and offers its entries as a walk of a
 * backup. Stored files are read where they are in the archive, deflated ones are inflated into a second spool file. Every size and
 * CRC-32 is checked before the archive is accepted. Nothing of it is kept in memory, whatever its size.
 *
 * Order: the directory is read and everything that it shows to be wrong is refused; then the sum of the sizes is compared with the
 * limits, and overlaps are refused; only then the first byte is inflated. So an archive that would grow without bound is refused
 * before it does.
 */

import { rm } from "node:fs/promises";
import { crc32, inflateRawSync } from "node:zlib";
import { decompress } from "./decompress.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import {
  type ArchiveEvent,
  ArchiveTooLargeError,
  type ReceivedArchive,
  type ReceiveOptions,
  SpooledEntries,
  stepsPerTurn,
  turn,
} from "./received-archive.ts";
import { type SpoolFile, spoolError } from "./spool.ts";
import { directoryRecords, findDirectory, named, naming, type ZipDirectory } from "./zip-directory.ts";
import { readEntry } from "./zip-entry.ts";
import { methods } from "./zip-format.ts";
import { ArchiveWindow, checkLocal } from "./zip-local.ts";
import { overlap, type ZipMemberRow, ZipMembers } from "./zip-members.ts";
import { type Inflater, ZipParts } from "./zip-parts.ts";

export type { Inflater } from "./zip-parts.ts";

export interface ReceiveZipOptions extends ReceiveOptions {
  /** Inflates small files. */
  readonly inflater: Inflater;
  /** Called while the archive is checked, which can take long after its last byte. */
  readonly onProgress: () => void;
}

/** Resolves when the whole archive is there and every byte of it is right; else nothing of it is left. */
export async function receiveZip(input: AsyncIterable<Buffer>, options: ReceiveZipOptions): Promise<ReceivedArchive> {
  const { spool, encoding } = options;
  const membersPath = spool.newPath("members");
  let archive: ZipReception | null = null;
  let members: ZipMembers | null = null;
  try {
    archive = new ZipReception(options, await SpooledEntries.create(spool));
    members = new ZipMembers(membersPath);
    await archive.receive(encoding === null ? input : decompress(input, encoding), members);
    return archive;
  } catch (error) {
    await archive?.remove();
    throw spoolError(error);
  } finally {
    members?.close();
    await rm(membersPath, { force: true });
  }
}

class ZipReception implements ReceivedArchive {
  readonly #options: ReceiveZipOptions;
  readonly #entries: SpooledEntries;
  #steps = 0;
  /** Bytes of the deflated files. */
  #expandedBytes = 0;
  sizeBytes = 0;

  constructor(options: ReceiveZipOptions, entries: SpooledEntries) {
    this.#options = options;
    this.#entries = entries;
  }

  async receive(input: AsyncIterable<Buffer>, members: ZipMembers): Promise<void> {
    const { signal } = this.#options;
    const archive = await this.#store(input);
    const directory = await findDirectory(archive);
    await this.#readDirectory(archive, directory, members);
    for (const _ of members.refuseOverlaps(directory)) await this.#step();
    await this.#readEntries(archive, directory, members);
    await this.#entries.checkPaths(signal);
  }

  walk(): AsyncGenerator<ArchiveEvent> {
    return this.#entries.walk();
  }

  remove(): Promise<void> {
    return this.#entries.remove();
  }

  async #store(input: AsyncIterable<Buffer>): Promise<SpoolFile> {
    const { spool, owner, signal } = this.#options;
    const archive = await spool.create(owner, "zip");
    this.#entries.keep("archive", archive);
    for await (const chunk of input) {
      signal.throwIfAborted();
      await archive.append(chunk);
    }
    signal.throwIfAborted();
    await archive.flush();
    return archive;
  }

  /** Lets other work run now and then. */
  async #step(): Promise<void> {
    if (++this.#steps % stepsPerTurn !== 0) return;
    await turn();
    this.#options.signal.throwIfAborted();
    this.#options.onProgress();
  }

  async #readDirectory(archive: SpoolFile, directory: ZipDirectory, members: ZipMembers): Promise<void> {
    const { maxBytes, spool } = this.#options;
    for await (const records of directoryRecords(archive, directory))
      for (const record of records) {
        members.add(
          record,
          naming(record.index, () => readEntry(record)),
        );
        this.sizeBytes += record.size;
        if (record.method === methods.deflated) this.#expandedBytes += record.size;
        // The archive and what is inflated of it are in the spool at once.
        if (this.sizeBytes > maxBytes || archive.size + this.#expandedBytes > spool.ownerBytes)
          throw new ArchiveTooLargeError();
        await this.#step();
      }
  }

  /** Adds the entries in the order of their content, and checks the content. */
  async #readEntries(archive: SpoolFile, directory: ZipDirectory, members: ZipMembers): Promise<void> {
    const { spool, owner, signal, inflater, onProgress } = this.#options;
    const expanded = await spool.create(owner, "expanded");
    this.#entries.keep("expanded", expanded);
    expanded.allot(this.#expandedBytes);
    inflater.startThreadsFor(archive.size + this.#expandedBytes);
    const parts = new ZipParts({ archive, expanded, inflater, signal, onProgress });
    const window = new ArchiveWindow(archive, directory.offset);
    let [end, isWhole] = [0, true];
    try {
      for (const member of members.inOrder()) {
        if (member.offset < end) throw overlap(member.path, member.index);
        isWhole &&= member.offset === end;
        end = await this.#readEntry(window, member, parts);
        await this.#step();
      }
    } finally {
      // Also after an error: a worker must not write to files that are being removed.
      await parts.settle();
    }
    await parts.end();
    // Bytes that no entry of the directory has: another archive before this one, or what a program left out.
    if (!isWhole || end !== directory.offset)
      this.#entries.warnings.push({ path: Buffer.alloc(0), code: "unlisted_bytes" });
  }

  /** Returns where the entry ends. */
  async #readEntry(window: ArchiveWindow, member: ZipMemberRow, parts: ZipParts): Promise<number> {
    try {
      const { content, end } = await checkLocal(window, member);
      if (end > window.end) throw overlap(member.path, member.index);
      await this.#addEntry(window, member, content, parts);
      return end;
    } catch (error) {
      throw error instanceof InvalidArchiveError && error.entry === null ? named(error, member.index) : error;
    }
  }

  async #addEntry(window: ArchiveWindow, member: ZipMemberRow, content: number, parts: ZipParts): Promise<void> {
    const { table, warnings } = this.#entries;
    const { type, path, mode, uid, gid, mtime, size } = member;
    const stat = { path, mode, uid, gid, mtime };
    if (type === "special") {
      warnings.push({ path, code: "special_file" });
      await parts.add(member, content);
      return;
    }
    if (table.isTaken(path, type)) throw new InvalidArchiveError("duplicate_path", path);
    if (type === "symbolic-link") {
      const target = targetOf(member, await window.at(content, member.length));
      if (target.length === 0) warnings.push({ path, code: "empty_link_target" });
      else table.add({ ...stat, type, target });
      return;
    }
    const to = await parts.add(member, content);
    if (type === "directory") table.add({ ...stat, type });
    else table.add({ ...stat, type, size, offset: content, sparse: null }, to);
  }
}

/** The content of a symbolic link, which is a path. */
function targetOf({ method, size, crc, path }: ZipMemberRow, stored: Buffer): Buffer {
  const target = method === methods.stored ? Buffer.from(stored) : inflatedTarget(stored, size, path);
  if (target.length !== size) throw new InvalidArchiveError("size_mismatch", path);
  if (crc32(target) !== crc) throw new InvalidArchiveError("checksum_mismatch", path);
  if (target.includes(0)) throw new InvalidArchiveError("unsafe_path", path);
  return target;
}

function inflatedTarget(stored: Buffer, size: number, path: Buffer): Buffer {
  try {
    return inflateRawSync(stored, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    const isLong = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    throw new InvalidArchiveError(isLong ? "size_mismatch" : "damaged_compression", path, { cause: error });
  }
}
