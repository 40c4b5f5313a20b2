/**
 * The entries of a received archive, sorted as a backup walks them: depth first, names in byte order. A table in a file,
 * so that memory does not grow with the number of entries.
 *
 * The key of an entry is its path with NUL in place of `/`. NUL is in no name and sorts before every byte, so the order of
 * keys is the order of the walk. Of entries with the same path the last one counts, as when tar extracts them.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Moment } from "./extended-header.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import type { TarEntry } from "./tar-parser.ts";

/** Entries between two commits. A commit per entry would be most of the time. */
const entriesPerCommit = 10_000;

const slash = 0x2f;
const nul = 0;

/** Where the content of a file is: in the archive, or among what was expanded: sparse files, deflated files. */
export type ContentFile = "archive" | "expanded";

export interface StoredEntry {
  readonly type: "file" | "directory" | "symbolic-link";
  readonly path: Buffer;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtime: Moment;
  readonly size: number;
  readonly offset: number;
  readonly file: ContentFile;
  /** Of a symbolic link. */
  readonly target: Buffer | null;
  /** The same number for all names of one file that has several; else null. */
  readonly linkGroup: number | null;
}

/** Directories that the archive does not name get these (contract). */
const impliedDirectory = { mode: 0o755, uid: 0, gid: 0, mtime: { seconds: 0, nanos: 0 } } as const;

interface Row {
  readonly key: Uint8Array;
  readonly type: StoredEntry["type"];
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly seconds: number;
  readonly nanos: number;
  readonly size: number;
  readonly offset: number;
  readonly file: ContentFile;
  readonly target: Uint8Array | null;
  readonly link_group: number | null;
}

export type WalkStep =
  | { readonly type: "enter" | "file" | "link"; readonly entry: StoredEntry }
  | { readonly type: "leave" };

export class EntryTable {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #find: StatementSync;
  readonly #setGroup: StatementSync;
  #sinceCommit = 0;
  #groups = 0;

  constructor(path: string) {
    this.#db = createTable(path);
    this.#insert = this.#db.prepare("insert or replace into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#find = this.#db.prepare("select * from entries where key = ?");
    this.#setGroup = this.#db.prepare("update entries set link_group = ? where key = ?");
    this.#db.exec("begin");
  }

  /** Adds an entry. Returns false for a hard link to what did not come before, or to a directory. */
  add(entry: TarEntry, content: { readonly file: ContentFile; readonly offset: number } | null = null): boolean {
    if (++this.#sinceCommit % entriesPerCommit === 0) this.#db.exec("commit; begin");
    if (entry.type === "hard-link") return this.#addHardLink(entry.path, entry.target);
    this.#put({
      ...entry,
      type: entry.type,
      size: entry.type === "file" ? entry.size : 0,
      offset: content?.offset ?? (entry.type === "file" ? entry.offset : 0),
      file: content?.file ?? "archive",
      target: entry.type === "symbolic-link" ? entry.target : null,
      linkGroup: null,
    });
    return true;
  }

  /** Whether the path is taken by something else than a directory that this one repeats. */
  isTaken(path: Buffer, type: StoredEntry["type"]): boolean {
    const row = this.#find.get(keyOf(path)) as unknown as Row | undefined;
    return row !== undefined && !(row.type === "directory" && type === "directory");
  }

  /** The name gets what the other name has now. A later entry at that name does not change it. */
  #addHardLink(path: Buffer, target: Buffer): boolean {
    const row = this.#find.get(keyOf(target)) as unknown as Row | undefined;
    if (row === undefined || row.type === "directory") return false;
    if (path.equals(target)) return true;
    // Snapshots group the names of files alone. A second name of a symbolic link becomes an equal link.
    const linkGroup = row.type === "file" ? (row.link_group ?? this.#groups++) : null;
    this.#setGroup.run(linkGroup, keyOf(target));
    this.#put({ ...entryOf(row), path, linkGroup });
    return true;
  }

  #put({ path, type, mode, uid, gid, mtime, size, offset, file, target, linkGroup }: StoredEntry): void {
    const key = keyOf(path);
    this.#insert.run(key, type, mode, uid, gid, mtime.seconds, mtime.nanos, size, offset, file, target, linkGroup);
  }

  /** All entries. Refuses an archive in which something other than a directory has entries below it. */
  *walk(): Generator<WalkStep> {
    const open: Buffer[] = [];
    for (const raw of this.#db.prepare("select * from entries order by key").iterate()) {
      const row = raw as unknown as Row;
      const entry = entryOf(row);
      if (open.length === 0 && entry.path.length > 0) yield enterImplied(open, Buffer.alloc(0));
      yield* this.#goTo(open, entry.path);
      yield stepOf(open, entry);
    }
    if (open.length === 0) yield enterImplied(open, Buffer.alloc(0));
    while (open.pop() !== undefined) yield { type: "leave" };
  }

  /** Leaves directories that the path is not in, and enters those that the archive does not name. */
  *#goTo(open: Buffer[], path: Buffer): Generator<WalkStep> {
    while (open.length > 1 && !isBelow(path, open.at(-1) ?? path)) {
      open.pop();
      yield { type: "leave" };
    }
    const from = open.at(-1)?.length ?? 0;
    for (let end = path.indexOf(slash, from + 1); end >= 0; end = path.indexOf(slash, end + 1)) {
      const directory = path.subarray(0, end);
      const known = this.#find.get(keyOf(directory)) as unknown as Row | undefined;
      if (known !== undefined) throw new InvalidArchiveError("path_is_no_directory", directory);
      yield enterImplied(open, directory);
    }
  }

  close(): void {
    this.#db.close();
  }
}

function createTable(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  try {
    // Scratch: the file is useless after a crash, so nothing protects it from one.
    db.exec("pragma journal_mode = off; pragma synchronous = off; pragma locking_mode = exclusive");
    db.exec(`create table entries (key blob primary key, type text, mode, uid, gid, seconds, nanos, size, offset,
      file text, target blob, link_group) without rowid`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function enterImplied(open: Buffer[], path: Buffer): WalkStep {
  open.push(path);
  const rest = { size: 0, offset: 0, file: "archive", target: null, linkGroup: null } as const;
  return { type: "enter", entry: { type: "directory", path, ...impliedDirectory, ...rest } };
}

function stepOf(open: Buffer[], entry: StoredEntry): WalkStep {
  if (entry.type !== "directory") return { type: entry.type === "file" ? "file" : "link", entry };
  open.push(entry.path);
  return { type: "enter", entry };
}

function isBelow(path: Buffer, directory: Buffer): boolean {
  return (
    directory.length === 0 ||
    (path.length > directory.length &&
      path[directory.length] === slash &&
      path.subarray(0, directory.length).equals(directory))
  );
}

function keyOf(path: Buffer): Buffer {
  return replaced(path, slash, nul);
}

function entryOf(row: Row): StoredEntry {
  const { type, mode, uid, gid, seconds, nanos, size, offset, file, target } = row;
  return {
    ...{ type, mode, uid, gid, size, offset, file, mtime: { seconds, nanos }, linkGroup: row.link_group },
    path: replaced(Buffer.from(row.key), nul, slash),
    target: target === null ? null : Buffer.from(target),
  };
}

function replaced(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(from); at >= 0; at = copy.indexOf(from, at + 1)) copy[at] = to;
  return copy;
}
