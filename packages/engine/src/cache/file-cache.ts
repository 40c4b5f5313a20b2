/**
 * The file cache: what a backup stores on the machine about the files of a source, so that the next backup reads only
 * what changed. It holds names, stats and ids, and no key.
 *
 * A *record* is one file: its stat, its tree entry and the ordinals that its content reaches (`file-record.ts`).
 * A *part* is up to 64 KiB of records of one directory, in name order (`cached-directory.ts`).
 * A *directory* has a number of parts, the nodes of its tree (`directory-nodes.ts`) and, where it holds only cached
 * files, a summary with its digest (`directory-summary.ts`).
 * One backup is one SQLite transaction, committed after the snapshot is complete. Backups are numbered (column `run`).
 *
 * The cache is valid for one base snapshot and one catalog id; otherwise `begin` empties it. So every node
 * and every ordinal in it is reachable from the base.
 *
 * A directory is looked up by its path. Where another directory or none was at this path, it is looked up by its
 * identity (device, inode, birth time): a directory that was moved or renamed keeps its records
 * (docs/decisions/0129-a-directory-is-known-when-it-moves.md).
 *
 * A failure of the database (the disk is full, the file is damaged) does not end the backup: what cannot be read counts as not
 * cached, nothing more is written, and `commit` throws the failure.
 */

import type { StatementSync } from "node:sqlite";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { sameBytes } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import { sameDevice } from "../source/source.ts";
import type { DirectoryState, PartStore } from "./cached-directory.ts";
import { CachedDirectory, noBytes } from "./cached-directory.ts";
import { KeyList, keyLength } from "./key-list.ts";

const schemaVersion = 6;

/** SQLite's page cache. */
const cacheKib = 2 * 1024;

/** The parts of a small directory take a page or two. */
const pageBytes = 16 * 1024;

/** Keys of unchanged directories that are held in memory (16 bytes each). With more, rows are written as for a change. */
const maxUnchangedKeys = 64 * 1024;

const directoryColumns = `directory blob primary key, run integer not null, parts integer not null, nodes blob not null,
  summary blob not null, checksum integer not null, identity blob not null`;

const indexByIdentity = "create index by_identity on directories (identity)";

/**
 * `directories` has the rows of the last backup, `new_directories` those of this one. The key of a directory is a hash of
 * its path. Parts are stored under the number of the backup that wrote them. The row has that number.
 */
const schema = `
create table about (name text primary key, value text not null) without rowid;
create table directories (${directoryColumns}) without rowid;
${indexByIdentity};
create table new_directories (${directoryColumns}) without rowid;
create table parts (directory blob not null, run integer not null, part integer not null, body blob not null,
  primary key (directory, run, part)) without rowid;
pragma user_version = ${schemaVersion};`;

/** The name of the catalog id in the table `about`, as caches on disk have it. */
const catalogIdKey = "generation";

/** Of this and of older versions. */
const tables = ["about", "directories", "new_directories", "seen", "parts"];

/** What SQLite reports of a damaged file. */
const sqliteCorrupt = 11;

class MissingPartError extends Error {
  override readonly name = "MissingPartError";
}

export class FileCache {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  #run = 0;
  #isValid = false;
  /** The first failure of this backup. */
  #failure: Error | null = null;
  /**
   * As long as every directory is unchanged, only its key is added here. The first difference writes the rows of all
   * these directories to `new_directories`, and from then on every directory is written there.
   */
  readonly #unchanged = new KeyList();
  #writesRows = false;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    // The page size takes effect only in a new file.
    this.#database.exec(
      `pragma page_size = ${pageBytes}; pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -${cacheKib}`,
    );
    const version = this.#database.prepare("pragma user_version").get()?.user_version;
    if (version === schemaVersion) return;
    for (const table of tables) this.#database.exec(`drop table if exists ${table}`);
    this.#database.exec(schema);
  }

  /** The snapshot that the cache is valid for, or null if it is empty. */
  get base(): string | null {
    return this.#read(() => this.#about("base"), null);
  }

  /** Starts a backup. Returns whether the records can be used. */
  begin(base: string | null, catalogId: number): boolean {
    this.#isValid = false;
    this.#unchanged.clear();
    this.#write(() => {
      this.#database.exec("begin immediate");
      this.#isValid = base !== null && this.base === base && this.#about(catalogIdKey) === String(catalogId);
      this.#run = Number(this.#about("run") ?? "0") + 1;
      this.#writesRows = !this.#isValid;
      if (this.#isValid) return;
      this.#sql("delete from directories").run();
      this.#sql("delete from parts").run();
    });
    return this.#isValid;
  }

  /** Opens a directory, to read its old records and to write its new ones. */
  directory(path: Uint8Array, identity: Uint8Array = noBytes): CachedDirectory {
    const key = sha256(path).subarray(0, keyLength);
    const found = this.#read(() => this.#find(key, identity), noRow);
    return new CachedDirectory(this.#partStore(key, identity, found));
  }

  /** Throws what failed; `rollback` must follow. */
  commit(base: string, catalogId: number): void {
    if (this.#failure !== null) throw this.#failure;
    const { count } = this.#sql("select count(*) as count from directories").get() ?? {};
    // Fewer keys than rows: directories are gone.
    if (count !== this.#unchanged.count) this.#startWritingRows();
    if (this.#writesRows) {
      // All rows are replaced at once: replacing them one by one would write more pages.
      this.#database.exec(
        `drop index by_identity; delete from directories; insert into directories select * from new_directories;
        delete from new_directories; ${indexByIdentity}`,
      );
      this.#sql(
        "delete from parts where not exists (select 1 from directories d where d.directory = parts.directory and d.run = parts.run)",
      ).run();
    }
    const set = this.#sql("insert or replace into about values (?, ?)");
    set.run("base", base);
    set.run(catalogIdKey, String(catalogId));
    set.run("run", String(this.#run));
    this.#database.exec("commit");
  }

  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec("rollback");
    if (isDamage(this.#failure)) this.#empty();
    this.#failure = null;
  }

  close(): void {
    this.#database.close();
  }

  /**
   * The row of a directory: the one of its path, or the one with its identity where the path had another directory. Where
   * the device at this path has a new number, every identity on it is new too, and the path decides.
   */
  #find(key: Uint8Array, identity: Uint8Array): FoundRow {
    if (!this.#isValid) return noRow;
    const columns = "directory, run, parts, nodes, summary, checksum, identity";
    const row = this.#sql(`select ${columns} from directories where directory = ?`).get(key);
    const before = row?.identity instanceof Uint8Array ? row.identity : noBytes;
    const isSame = row !== undefined && sameBytes(before, identity);
    const canBeMoved = identity.length > 0 && (before.length === 0 || sameDevice(before, identity));
    if (isSame || !canBeMoved) return foundRow(row, null, isSame);
    const moved = this.#sql(`select ${columns} from directories where identity = ? limit 1`).get(identity);
    if (moved?.directory instanceof Uint8Array) return foundRow(moved, moved.directory, false);
    return foundRow(row, null, false);
  }

  #partStore(key: Uint8Array, identity: Uint8Array, { old, oldRun, movedFrom, isSame }: FoundRow): PartStore {
    const run = this.#run;
    const oldKey = movedFrom ?? key;
    const copyOldBefore = (part: number) => {
      const copy =
        "insert or replace into parts select ?, ?, part, body from parts where directory = ? and run = ? and part < ?";
      this.#sql(copy).run(key, run, oldKey, oldRun, part);
    };
    const finish: PartStore["finish"] = ({ parts, nodes, summary }, hasNewParts) => {
      this.#startWritingRows();
      if (!hasNewParts && movedFrom !== null) copyOldBefore(old.parts);
      const partsRun = hasNewParts || movedFrom !== null ? run : (oldRun ?? run);
      const insert = this.#sql("insert or replace into new_directories values (?, ?, ?, ?, ?, ?, ?)");
      insert.run(key, partsRun, parts, nodes, summary, checksumOf(nodes, summary), identity);
    };
    return {
      old,
      read: (work, otherwise) => this.#read(work, otherwise),
      write: (work) => this.#write(work),
      readOld: (part) => this.#readPart(oldKey, oldRun, part),
      readNew: (part) => this.#readPart(key, run, part),
      writeNew: (part, body) => this.#sql("insert or replace into parts values (?, ?, ?, ?)").run(key, run, part, body),
      copyOldBefore,
      finishUnchanged: () => {
        if (isSame) this.#addUnchanged(key);
        else finish(old, false);
      },
      finish,
    };
  }

  #readPart(key: Uint8Array, run: number | null, part: number): Uint8Array {
    const select = this.#sql("select body from parts where directory = ? and run = ? and part = ?");
    const body = select.get(key, run, part)?.body;
    if (!(body instanceof Uint8Array)) throw new MissingPartError("the cache lacks a part");
    return body;
  }

  #addUnchanged(key: Uint8Array): void {
    if (this.#unchanged.count >= maxUnchangedKeys) this.#startWritingRows();
    if (this.#writesRows) this.#copyRow(key);
    else this.#unchanged.add(key);
  }

  #startWritingRows(): void {
    if (this.#writesRows) return;
    this.#writesRows = true;
    for (const key of this.#unchanged) this.#copyRow(key);
    this.#unchanged.clear();
  }

  #copyRow(key: Uint8Array): void {
    this.#sql("insert or replace into new_directories select * from directories where directory = ?").run(key);
  }

  #read<Value>(work: () => Value, otherwise: Value): Value {
    try {
      return work();
    } catch (error) {
      if (!isFailureOfCache(error)) throw error;
      this.#failure ??= error;
      return otherwise;
    }
  }

  /** After a failure nothing is written: SQLite may have ended the transaction. */
  #write(work: () => void): void {
    if (this.#failure === null) this.#read(work, undefined);
  }

  /** Lets the next backup read everything, so that the damage does not come back every night. */
  #empty(): void {
    this.#read(() => this.#database.exec("delete from about; delete from directories; delete from parts"), undefined);
  }

  #about(name: string): string | null {
    const value = this.#sql("select value from about where name = ?").get(name)?.value;
    return typeof value === "string" ? value : null;
  }

  #sql(text: string): StatementSync {
    const known = this.#prepared.get(text) ?? this.#database.prepare(text);
    this.#prepared.set(text, known);
    return known;
  }
}

function isFailureOfCache(error: unknown): error is Error {
  return error instanceof MissingPartError || (error instanceof Error && "errcode" in error);
}

function isDamage(error: Error | null): boolean {
  return error instanceof MissingPartError || (error !== null && "errcode" in error && error.errcode === sqliteCorrupt);
}

/** The row that a directory had in the last backup. */
interface FoundRow {
  readonly old: DirectoryState;
  /** The number of the backup that wrote its parts. */
  readonly oldRun: number | null;
  /** Its key where it was at another path. */
  readonly movedFrom: Uint8Array | null;
  /** Whether the same directory was at the same path. */
  readonly isSame: boolean;
}

const noRow: FoundRow = {
  old: { parts: 0, nodes: noBytes, summary: noBytes },
  oldRun: null,
  movedFrom: null,
  isSame: false,
};

/**
 * Nodes and summary of an unchanged directory go into the next snapshot unread, and SQLite does not notice a flipped bit:
 * a row with a wrong checksum counts as one without nodes and summary.
 */
function foundRow(row: Record<string, unknown> | undefined, movedFrom: Uint8Array | null, isSame: boolean): FoundRow {
  const { run, parts, nodes, summary, checksum } = row ?? {};
  if (typeof run !== "number" || typeof parts !== "number") return noRow;
  const isIntact =
    nodes instanceof Uint8Array && summary instanceof Uint8Array && checksumOf(nodes, summary) === checksum;
  const old = isIntact ? { parts, nodes, summary } : { parts, nodes: noBytes, summary: noBytes };
  return { old, oldRun: run, movedFrom, isSame: isSame && isIntact };
}

function checksumOf(nodes: Uint8Array, summary: Uint8Array): number {
  return crc32(summary, crc32(nodes));
}
