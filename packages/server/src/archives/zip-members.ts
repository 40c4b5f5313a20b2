/**
 * The entries of a zip in the order of their content in the archive, which shows entries that overlap. A table in a file, so that
 * memory does not grow with their number.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { InvalidArchiveError } from "./invalid-archive.ts";
import type { DirectoryRecord, ZipDirectory } from "./zip-directory.ts";
import type { ZipEntry } from "./zip-entry.ts";
import { lengths } from "./zip-format.ts";

/** Entries between two commits. A commit per entry would be most of the time. */
const entriesPerCommit = 10_000;

/** An entry, and what its local header is compared with. */
export type ZipMemberRow = ZipEntry & Omit<DirectoryRecord, "extras" | "system" | "attributes" | "dosTime" | "dosDate">;

interface Row extends Omit<ZipMemberRow, "path" | "name" | "mtime" | "offset" | "index"> {
  readonly place: number;
  readonly number: number;
  readonly path: Uint8Array;
  readonly name: Uint8Array;
  readonly seconds: number;
  readonly nanos: number;
}

export class ZipMembers {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  #sinceCommit = 0;

  constructor(path: string) {
    const db = new DatabaseSync(path);
    this.#db = db;
    try {
      // Scratch: the file is useless after a crash, so nothing protects it from one.
      db.exec("pragma journal_mode = off; pragma synchronous = off; pragma locking_mode = exclusive");
      db.exec(`create table members (place, number, type text, path blob, name blob, mode, uid, gid, seconds, nanos,
        flags, method, crc, length, size, primary key (place, number)) without rowid`);
      this.#insert = db.prepare("insert into members values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
      db.exec("begin");
    } catch (error) {
      db.close();
      throw error;
    }
  }

  add(record: DirectoryRecord, { type, path, mode, uid, gid, mtime }: ZipEntry): void {
    if (++this.#sinceCommit % entriesPerCommit === 0) this.#db.exec("commit; begin");
    const { index, name, flags, method, crc, length, size, offset } = record;
    const stat = [mode, uid, gid, mtime.seconds, mtime.nanos];
    this.#insert.run(offset, index, type, path, name, ...stat, flags, method, crc, length, size);
  }

  *inOrder(): Generator<ZipMemberRow> {
    for (const raw of this.#db.prepare("select * from members order by place, number").iterate()) {
      const { place, number, path, name, seconds, nanos, ...row } = raw as unknown as Row;
      yield {
        ...row,
        ...{ index: number, offset: place, mtime: { seconds, nanos } },
        ...{ path: Buffer.from(path), name: Buffer.from(name) },
      };
    }
  }

  /**
   * Refuses entries that overlap, as far as the directory shows it: a local header has the same name, and at least no extra field. A
   * small archive can so have the same bytes as the content of many entries.
   */
  *refuseOverlaps(directory: ZipDirectory): Generator<void> {
    let end = 0;
    for (const { offset, name, length, path, index } of this.inOrder()) {
      if (offset < end) throw overlap(path, index);
      end = offset + lengths.local + name.length + length;
      if (end > directory.offset) throw overlap(path, index);
      yield;
    }
  }

  close(): void {
    this.#db.close();
  }
}

export function overlap(path: Buffer, index: number): InvalidArchiveError {
  const error = new InvalidArchiveError("overlapping_entries", path);
  error.entry = index;
  return error;
}
