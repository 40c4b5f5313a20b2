/**
 * Receives a tar archive: writes it to the spool as it comes, reads its headers on the way, expands sparse files, and
 * offers its entries as a walk of a backup. Nothing of it is kept in memory, whatever its size.
 */

import { decompress } from "./decompress.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import {
  type ArchiveEvent,
  ArchiveTooLargeError,
  maxFileBytes,
  type ReceivedArchive,
  type ReceiveOptions,
  SpooledEntries,
} from "./received-archive.ts";
import { maxSparseParts, type SparseMap } from "./sparse-map.ts";
import { type SpoolFile, spoolError } from "./spool.ts";
import { type TarEntry, TarParser } from "./tar-parser.ts";

/** In memory until they are expanded. */
const maxSparsePartsOfArchive = 2 * maxSparseParts;

/** Expanded files begin at blocks of the file system, so that holes stay holes. */
const holeBytes = 4096;

/** Resolves when the whole archive is there and its structure is right; else nothing of it is left. */
export async function receiveTar(input: AsyncIterable<Buffer>, options: ReceiveOptions): Promise<ReceivedArchive> {
  let archive: TarReception | null = null;
  try {
    archive = new TarReception(options, await SpooledEntries.create(options.spool));
    await archive.receive(options.encoding === null ? input : decompress(input, options.encoding));
    return archive;
  } catch (error) {
    await archive?.remove();
    throw spoolError(error);
  }
}

class TarReception implements ReceivedArchive {
  readonly #options: ReceiveOptions;
  readonly #entries: SpooledEntries;
  /** Expanded when the archive is complete. */
  readonly #sparseFiles: { readonly from: number; readonly to: number; readonly map: SparseMap }[] = [];
  #sparseParts = 0;
  /** Where the next sparse file begins among the expanded ones. */
  #expandedBytes = 0;
  sizeBytes = 0;

  constructor(options: ReceiveOptions, entries: SpooledEntries) {
    this.#options = options;
    this.#entries = entries;
  }

  async receive(input: AsyncIterable<Buffer>): Promise<void> {
    const { spool, owner, signal } = this.#options;
    const parser = new TarParser({
      entry: (entry) => this.#add(entry),
      warning: (path, code) => this.#entries.warnings.push({ path, code }),
    });
    const archive = await spool.create(owner, "tar");
    this.#entries.keep("archive", archive);
    for await (const chunk of input) {
      signal.throwIfAborted();
      parser.write(chunk);
      await archive.append(chunk);
    }
    signal.throwIfAborted();
    parser.end();
    await archive.flush();
    await this.#expandSparseFiles(archive);
    await this.#entries.checkPaths(signal);
  }

  walk(): AsyncGenerator<ArchiveEvent> {
    return this.#entries.walk();
  }

  remove(): Promise<void> {
    return this.#entries.remove();
  }

  #add(entry: TarEntry): void {
    if (entry.type !== "file") {
      if (!this.#entries.table.add(entry))
        this.#entries.warnings.push({ path: entry.path, code: "link_target_missing" });
      return;
    }
    if (entry.size > maxFileBytes) throw new InvalidArchiveError("file_too_large", entry.path);
    this.sizeBytes += entry.size;
    if (this.sizeBytes > this.#options.maxBytes) throw new ArchiveTooLargeError();
    if (entry.sparse === null) this.#entries.table.add(entry);
    else this.#addSparse(entry, entry.sparse);
  }

  #addSparse(entry: TarEntry & { readonly type: "file" }, map: SparseMap): void {
    this.#sparseParts += map.parts.length;
    if (this.#sparseParts > maxSparsePartsOfArchive) throw new InvalidArchiveError("header_too_large", entry.path);
    const to = this.#expandedBytes;
    this.#expandedBytes += Math.ceil(entry.size / holeBytes) * holeBytes;
    this.#sparseFiles.push({ from: entry.offset, to, map });
    this.#entries.table.add(entry, { file: "expanded", offset: to });
  }

  async #expandSparseFiles(archive: SpoolFile): Promise<void> {
    if (this.#sparseFiles.length === 0) return;
    const { spool, owner, signal } = this.#options;
    const expanded = await spool.create(owner, "expanded");
    this.#entries.keep("expanded", expanded);
    for (const { from, to, map } of this.#sparseFiles) {
      let position = from;
      for (const { offset, length } of map.parts) {
        signal.throwIfAborted();
        await expanded.copy(archive, position, to + offset, length);
        position += length;
      }
    }
    await expanded.extend(this.#expandedBytes);
  }
}
