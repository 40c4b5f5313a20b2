/**
 * Receives a tar archive: writes it to the spool as it comes, reads its headers on the way, expands sparse files, and
 * offers its entries as a walk of a backup. Nothing of it is kept in memory, whatever its size.
 */

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { type ArchiveEncoding, decompress } from "./decompress.ts";
import { EntryTable, type StoredEntry, type WalkStep } from "./entry-table.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import { maxSparseParts, type SparseMap } from "./sparse-map.ts";
import { type Spool, type SpoolFile, spoolError } from "./spool.ts";
import { type TarEntry, TarParser } from "./tar-parser.ts";

/** The contract's limit of one file. */
export const maxFileBytes = 2 ** 40;

/** Steps of a walk between two pauses for other work. */
const stepsPerTurn = 256;

/** In memory until they are expanded. */
const maxSparsePartsOfArchive = 2 * maxSparseParts;

/** Expanded files begin at blocks of the file system, so that holes stay holes. */
const holeBytes = 4096;

const slash = 0x2f;

/** Bytes of a hard-link group in a snapshot. */
const linkGroupBytes = 8;

/** The files have more bytes than the caller allows. Holes and files that a later entry replaces count too. */
export class ArchiveTooLargeError extends Error {
  constructor() {
    super("the archive has more bytes than allowed");
    this.name = "ArchiveTooLargeError";
  }
}

export interface ReceiveOptions {
  readonly spool: Spool;
  /** Whose share of the spool is used. */
  readonly owner: string;
  /** How the archive is compressed; null: it is not. */
  readonly encoding: ArchiveEncoding | null;
  /** Most bytes of all files. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface ArchiveWarning {
  readonly path: Uint8Array;
  readonly code: string;
}

interface EntryStat {
  readonly name: Uint8Array;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeSeconds: number;
  readonly mtimeNanos: number;
  readonly attributes: readonly never[];
}

/** The events of the engine's sources. */
export type ArchiveEvent =
  | { readonly type: "enter"; readonly path: Uint8Array; readonly stat: EntryStat }
  | { readonly type: "leave" }
  | {
      readonly type: "file";
      readonly path: Uint8Array;
      readonly stat: EntryStat;
      readonly size: number;
      readonly changeStat: { readonly inode: bigint; readonly ctimeNs: bigint };
      readonly content: { readonly path: Uint8Array; readonly offset: number };
      readonly linkGroup?: Uint8Array;
      readonly sha256?: Uint8Array;
    }
  | { readonly type: "link"; readonly path: Uint8Array; readonly stat: EntryStat; readonly target: Uint8Array }
  | { readonly type: "warning"; readonly path: Uint8Array; readonly code: string };

/** The archive is in the spool until `remove`. */
export interface ReceivedArchive {
  /** Bytes of all files. */
  readonly sizeBytes: number;
  walk(): AsyncIterable<ArchiveEvent>;
  remove(): Promise<void>;
}

/** Resolves when the whole archive is there and its structure is right; else nothing of it is left. */
export async function receiveTar(input: AsyncIterable<Buffer>, options: ReceiveOptions): Promise<ReceivedArchive> {
  const tablePath = options.spool.newPath("entries");
  let archive: TarReception | null = null;
  try {
    archive = new TarReception(options, tablePath);
    await archive.receive(options.encoding === null ? input : decompress(input, options.encoding));
    return archive;
  } catch (error) {
    await (archive === null ? rm(tablePath, { force: true }) : archive.remove());
    throw spoolError(error);
  }
}

class TarReception implements ReceivedArchive {
  readonly #options: ReceiveOptions;
  readonly #tablePath: string;
  readonly #table: EntryTable;
  readonly #warnings: ArchiveWarning[] = [];
  /** Expanded when the archive is complete. */
  readonly #sparseFiles: { readonly from: number; readonly to: number; readonly map: SparseMap }[] = [];
  #sparseParts = 0;
  /** Where the next sparse file begins among the expanded ones. */
  #expandedBytes = 0;
  #archive: SpoolFile | undefined;
  #expanded: SpoolFile | undefined;
  sizeBytes = 0;

  constructor(options: ReceiveOptions, tablePath: string) {
    this.#options = options;
    this.#tablePath = tablePath;
    this.#table = new EntryTable(tablePath);
  }

  async receive(input: AsyncIterable<Buffer>): Promise<void> {
    const { spool, owner, signal } = this.#options;
    const parser = new TarParser({
      entry: (entry) => this.#add(entry),
      warning: (path, code) => this.#warnings.push({ path, code }),
    });
    const archive = await spool.create(owner, "tar");
    this.#archive = archive;
    for await (const chunk of input) {
      signal.throwIfAborted();
      parser.write(chunk);
      await archive.append(chunk);
    }
    signal.throwIfAborted();
    parser.end();
    await archive.flush();
    await this.#expandSparseFiles(archive);
    await this.#checkPaths();
  }

  async *walk(): AsyncGenerator<ArchiveEvent> {
    let count = 0;
    for (const step of this.#table.walk()) {
      if (++count % stepsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
      yield this.#eventOf(step);
      // The first step enters the root.
      if (count === 1) for (const { path, code } of this.#warnings) yield { type: "warning", path, code };
    }
  }

  async remove(): Promise<void> {
    this.#table.close();
    await rm(this.#tablePath, { force: true });
    await this.#archive?.remove();
    await this.#expanded?.remove();
  }

  #add(entry: TarEntry): void {
    if (entry.type !== "file") {
      if (!this.#table.add(entry)) this.#warnings.push({ path: entry.path, code: "link_target_missing" });
      return;
    }
    if (entry.size > maxFileBytes) throw new InvalidArchiveError("file_too_large", entry.path);
    this.sizeBytes += entry.size;
    if (this.sizeBytes > this.#options.maxBytes) throw new ArchiveTooLargeError();
    if (entry.sparse === null) this.#table.add(entry);
    else this.#addSparse(entry, entry.sparse);
  }

  #addSparse(entry: TarEntry & { readonly type: "file" }, map: SparseMap): void {
    this.#sparseParts += map.parts.length;
    if (this.#sparseParts > maxSparsePartsOfArchive) throw new InvalidArchiveError("header_too_large", entry.path);
    const to = this.#expandedBytes;
    this.#expandedBytes += Math.ceil(entry.size / holeBytes) * holeBytes;
    this.#sparseFiles.push({ from: entry.offset, to, map });
    this.#table.add(entry, { file: "expanded", offset: to });
  }

  async #expandSparseFiles(archive: SpoolFile): Promise<void> {
    if (this.#sparseFiles.length === 0) return;
    const { spool, owner, signal } = this.#options;
    const expanded = await spool.create(owner, "expanded");
    this.#expanded = expanded;
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

  /** Conflicts of paths are found by walking. They must be known before the archive is accepted. */
  async #checkPaths(): Promise<void> {
    let count = 0;
    for (const _ of this.#table.walk()) {
      if (++count % stepsPerTurn !== 0) continue;
      await new Promise((resolve) => setImmediate(resolve));
      this.#options.signal.throwIfAborted();
    }
  }

  #eventOf(step: WalkStep): ArchiveEvent {
    if (step.type === "leave") return { type: "leave" };
    const { entry } = step;
    const { path } = entry;
    const stat = statOf(entry);
    if (step.type === "enter") return { type: "enter", path, stat };
    if (step.type === "link") return { type: "link", path, stat, target: entry.target ?? Buffer.alloc(0) };
    const file = entry.file === "archive" ? this.#archive : this.#expanded;
    if (file === undefined) throw new Error("the archive is not in the spool");
    const content = { path: Buffer.from(file.path), offset: entry.offset };
    const linkGroup = entry.linkGroup === null ? {} : { linkGroup: groupOf(entry.linkGroup) };
    return { type: "file", path, stat, size: entry.size, changeStat: noChangeStat, content, ...linkGroup };
  }
}

/** Files of an archive have no inode. */
const noChangeStat = { inode: 0n, ctimeNs: 0n };

function statOf({ path, mode, uid, gid, mtime }: StoredEntry): EntryStat {
  const name = path.subarray(path.lastIndexOf(slash) + 1);
  return { name, mode, uid, gid, mtimeSeconds: mtime.seconds, mtimeNanos: mtime.nanos, attributes: [] };
}

function groupOf(number: number): Uint8Array {
  return createHash("sha256").update(`hard-link group ${number}`).digest().subarray(0, linkGroupBytes);
}
