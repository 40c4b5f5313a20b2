/**
 * What a backup remembers of a source between runs: for every file its change marks and its tree entry, so that an
 * unchanged tree costs one walk. It holds names and ids, and opens nothing.
 *
 * Valid for one base snapshot and one generation of the vault; anything else empties it. Kept by directory in parts of
 * about 64 KiB, in name order: a walk and the cache are merged like two sorted lists, one part in memory.
 *
 * A run is one transaction: committed together with the snapshot, or not at all.
 */

import type { StatementSync } from "node:sqlite";
import { DatabaseSync } from "node:sqlite";
import { ByteReader, ByteWriter, sameBytes } from "../bytes.ts";
import { sha256 } from "../hash.ts";
import type { FileEntry } from "../trees/entry.ts";
import { readEntry, writeEntry } from "../trees/entry.ts";
import type { ChangeMarks } from "./source.ts";

const schemaVersion = 1;

/** A walk holds a part of every directory that it is in, so a part is small; most directories still fit into one. */
const partBytes = 64 * 1024;

/** SQLite's own memory. */
const cacheKib = 2 * 1024;

/** A remembered file. */
export interface CachedFile {
  readonly entry: FileEntry;
  readonly marks: ChangeMarks;
  /** Every ordinal that the content reaches, list nodes included. */
  readonly ordinals: readonly number[];
}

const schema = `
create table about (name text primary key, value text not null) without rowid;
create table directories (directory blob primary key, run integer not null) without rowid;
create table seen (directory blob primary key, run integer not null) without rowid;
create table parts (directory blob not null, run integer not null, part integer not null, body blob not null,
  primary key (directory, run, part)) without rowid;
pragma user_version = ${schemaVersion};`;

export class FileCache {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  #run = 0;
  #valid = false;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -${cacheKib}`);
    const version = this.#database.prepare("pragma user_version").get()?.user_version;
    if (version === schemaVersion) return;
    for (const table of ["about", "directories", "seen", "parts"]) this.#database.exec(`drop table if exists ${table}`);
    this.#database.exec(schema);
  }

  /** The snapshot that the cache stands for, or null when it is empty. */
  get base(): string | null {
    return this.#about("base");
  }

  /** Starts a run. Returns whether what is remembered may be used. */
  begin(base: string | null, generation: number): boolean {
    this.#database.exec("begin immediate");
    this.#valid = base !== null && this.base === base && this.#about("generation") === String(generation);
    this.#run = Number(this.#about("run") ?? "0") + 1;
    this.#sql("delete from seen").run();
    if (!this.#valid) {
      this.#sql("delete from directories").run();
      this.#sql("delete from parts").run();
    }
    return this.#valid;
  }

  /** Opens a directory: reads the remembered files and collects the new ones, both in name order. */
  directory(path: Uint8Array): CachedDirectory {
    const key = sha256(path).subarray(0, 16);
    const row = this.#sql("select run from directories where directory = ?").get(key);
    const oldRun = typeof row?.run === "number" ? row.run : null;
    const read = this.#sql("select body from parts where directory = ? and run = ? and part = ?");
    const write = this.#sql("insert or replace into parts values (?, ?, ?, ?)");
    const copy = this.#sql(
      "insert or replace into parts select directory, ?, part, body from parts where directory = ? and run = ? and part < ?",
    );
    const run = this.#run;
    return new CachedDirectory({
      old: (part) => {
        const body = oldRun === null ? undefined : read.get(key, oldRun, part)?.body;
        return body instanceof Uint8Array ? body : null;
      },
      keep: (part, body) => write.run(key, run, part, body),
      copyBefore: (part) => copy.run(run, key, oldRun, part),
      done: (changed) => {
        if (changed || oldRun !== null)
          this.#sql("insert or replace into seen values (?, ?)").run(key, changed ? run : oldRun);
      },
    });
  }

  commit(base: string, generation: number): void {
    this.#database.exec("delete from directories; insert into directories select * from seen; delete from seen");
    this.#sql(
      "delete from parts where not exists (select 1 from directories d where d.directory = parts.directory and d.run = parts.run)",
    ).run();
    const set = this.#sql("insert or replace into about values (?, ?)");
    set.run("base", base);
    set.run("generation", String(generation));
    set.run("run", String(this.#run));
    this.#database.exec("commit");
  }

  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec("rollback");
  }

  close(): void {
    this.#database.close();
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

interface Parts {
  old(part: number): Uint8Array | null;
  keep(part: number, body: Uint8Array): void;
  copyBefore(part: number): void;
  done(changed: boolean): void;
}

/** One directory of the cache during a run. */
export class CachedDirectory {
  readonly #parts: Parts;
  readonly #writer = new ByteWriter(4096);
  #reader: ByteReader | null = null;
  #oldPart = 0;
  #ahead: CachedFile | null = null;
  #newPart = 0;
  #changed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** What is remembered under this name. Names must be asked for in ascending order. */
  find(name: Uint8Array): CachedFile | null {
    for (;;) {
      this.#ahead ??= this.#next();
      if (this.#ahead === null) return null;
      const order = Buffer.compare(this.#ahead.entry.name, name);
      if (order > 0) return null;
      const found = this.#ahead;
      this.#ahead = null;
      if (order === 0) return found;
    }
  }

  put(file: CachedFile): void {
    writeEntry(this.#writer, file.entry);
    this.#writer.u64(Number(file.marks.inode & 0x1f_ffff_ffff_ffffn)).i64(file.marks.ctimeNs);
    this.#writer.varint(file.ordinals.length);
    for (const ordinal of file.ordinals) this.#writer.varint(ordinal);
    if (this.#writer.length >= partBytes) this.#endPart();
  }

  finish(): void {
    if (this.#writer.length > 0) this.#endPart();
    // Fewer parts than before is a change too.
    if (!this.#changed && this.#parts.old(this.#newPart) !== null) {
      this.#changed = true;
      this.#parts.copyBefore(this.#newPart);
    }
    this.#parts.done(this.#changed);
  }

  #endPart(): void {
    const body = this.#writer.view();
    if (!this.#changed) {
      const old = this.#parts.old(this.#newPart);
      if (old === null || !sameBytes(old, body)) {
        this.#changed = true;
        this.#parts.copyBefore(this.#newPart);
      }
    }
    if (this.#changed) this.#parts.keep(this.#newPart, body);
    this.#newPart++;
    this.#writer.reset();
  }

  #next(): CachedFile | null {
    while (this.#reader === null || this.#reader.left === 0) {
      const body = this.#parts.old(this.#oldPart++);
      if (body === null) return null;
      this.#reader = new ByteReader(body);
    }
    const reader = this.#reader;
    const entry = readEntry(reader);
    if (entry.type !== "file") throw new TypeError("the cache holds files only");
    const inode = BigInt(reader.u64());
    const ctimeNs = reader.raw(8).readBigInt64LE();
    const count = reader.varint();
    const ordinals = Array.from({ length: count }, () => reader.varint());
    return { entry, marks: { inode, ctimeNs }, ordinals };
  }
}

/** Whether a file is as it was when it was remembered. */
export function isUnchanged(
  cached: CachedFile,
  size: number,
  facts: Pick<FileEntry, "mtimeSeconds" | "mtimeNanos">,
  marks: ChangeMarks,
): boolean {
  return (
    cached.entry.size === size &&
    cached.entry.mtimeSeconds === facts.mtimeSeconds &&
    cached.entry.mtimeNanos === facts.mtimeNanos &&
    cached.marks.inode === (marks.inode & 0x1f_ffff_ffff_ffffn) &&
    cached.marks.ctimeNs === marks.ctimeNs
  );
}
