/**
 * What all kinds of archives have in common: the terms of receiving one, and its entries as a walk of a backup. The archive
 * stays in the spool, and its entries in a table in a file, so memory does not grow with them.
 */

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import type { ArchiveEncoding } from "./decompress.ts";
import { type ContentFile, EntryTable, type StoredEntry, type WalkStep } from "./entry-table.ts";
import type { Spool, SpoolFile } from "./spool.ts";

/** The contract's limit of one file. */
export const maxFileBytes = 2 ** 40;

/** Steps between two pauses for other work. */
export const stepsPerTurn = 256;

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

/** Lets other work run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The entries of an archive in the spool, and the files that have their content. */
export class SpooledEntries {
  readonly table: EntryTable;
  readonly warnings: ArchiveWarning[] = [];
  readonly #tablePath: string;
  readonly #files = new Map<ContentFile, SpoolFile>();

  private constructor(table: EntryTable, tablePath: string) {
    this.table = table;
    this.#tablePath = tablePath;
  }

  static async create(spool: Spool): Promise<SpooledEntries> {
    const tablePath = spool.newPath("entries");
    try {
      return new SpooledEntries(new EntryTable(tablePath), tablePath);
    } catch (error) {
      await rm(tablePath, { force: true });
      throw error;
    }
  }

  /** The file is removed with the entries. */
  keep(kind: ContentFile, file: SpoolFile): void {
    this.#files.set(kind, file);
  }

  async *walk(): AsyncGenerator<ArchiveEvent> {
    let count = 0;
    for (const step of this.table.walk()) {
      if (++count % stepsPerTurn === 0) await turn();
      yield this.#eventOf(step);
      // The first step enters the root.
      if (count === 1) for (const { path, code } of this.warnings) yield { type: "warning", path, code };
    }
  }

  /** Conflicts of paths are found by walking. They must be known before the archive is accepted. */
  async checkPaths(signal: AbortSignal): Promise<void> {
    let count = 0;
    for (const _ of this.table.walk()) {
      if (++count % stepsPerTurn !== 0) continue;
      await turn();
      signal.throwIfAborted();
    }
  }

  async remove(): Promise<void> {
    this.table.close();
    await rm(this.#tablePath, { force: true });
    for (const file of this.#files.values()) await file.remove();
  }

  #eventOf(step: WalkStep): ArchiveEvent {
    if (step.type === "leave") return { type: "leave" };
    const { entry } = step;
    const { path } = entry;
    const stat = statOf(entry);
    if (step.type === "enter") return { type: "enter", path, stat };
    if (step.type === "link") return { type: "link", path, stat, target: entry.target ?? Buffer.alloc(0) };
    const file = this.#files.get(entry.file);
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
