/**
 * What a backup remembers of a source between runs: for every file its change marks and its tree entry, and for every
 * directory the nodes of its tree, so that an unchanged tree costs one walk. It holds names and ids, and opens nothing.
 *
 * Valid for one base snapshot and one generation of the vault; anything else empties it. So every node and every
 * ordinal that is found here is reachable from the base.
 *
 * Files are kept by directory in parts of about 64 KiB, in name order: a walk and the cache are merged like two sorted
 * lists, one part in memory. A directory whose files are all as they were is not written, and where the digest of its roll
 * says so (`roll.ts`) its parts are not even read.
 *
 * A run is one transaction: committed together with the snapshot, or not at all.
 */

import type { StatementSync } from "node:sqlite";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { sha256 } from "../hash.ts";
import { CachedDirectory, noRoll, type RememberedRoll } from "./cached-directory.ts";

const schemaVersion = 4;

/** SQLite's own memory. */
const cacheKib = 2 * 1024;

/** A part of a small directory is a page or two. */
const pageBytes = 16 * 1024;

const keyLength = 16;

/** Keys of directories that are as they were, held until one is not: 16 bytes each. */
const maxUntouched = 64 * 1024;

const schema = `
create table about (name text primary key, value text not null) without rowid;
create table directories (directory blob primary key, run integer not null, parts integer not null, nodes blob not null,
  plain integer not null, roll blob not null, totals blob not null, sum integer not null) without rowid;
create table seen (directory blob primary key, run integer not null, parts integer not null, nodes blob not null,
  plain integer not null, roll blob not null, totals blob not null, sum integer not null) without rowid;
create table parts (directory blob not null, run integer not null, part integer not null, body blob not null,
  primary key (directory, run, part)) without rowid;
pragma user_version = ${schemaVersion};`;

export class FileCache {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #untouched = new KeyList();
  #run = 0;
  #valid = false;
  /** Whether `seen` says what will be remembered; until then it is what was remembered, if all of it is met again. */
  #differs = false;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    // The page size counts for a new file only.
    this.#database.exec(
      `pragma page_size = ${pageBytes}; pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -${cacheKib}`,
    );
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
    this.#untouched.clear();
    this.#differs = !this.#valid;
    if (!this.#valid) {
      this.#sql("delete from directories").run();
      this.#sql("delete from parts").run();
    }
    return this.#valid;
  }

  /** Opens a directory: reads the remembered files and collects the new ones, both in name order. */
  directory(path: Uint8Array): CachedDirectory {
    const key = sha256(path).subarray(0, keyLength);
    const row = this.#valid
      ? this.#sql("select run, parts, nodes, plain, roll, totals, sum from directories where directory = ?").get(key)
      : undefined;
    const oldRun = typeof row?.run === "number" ? row.run : null;
    const run = this.#run;
    const read = (ofRun: number | null, part: number) => {
      const select = this.#sql("select body from parts where directory = ? and run = ? and part = ?");
      const body = select.get(key, ofRun, part)?.body;
      if (!(body instanceof Uint8Array)) throw new TypeError("the cache lacks a part");
      return body;
    };
    return new CachedDirectory({
      oldParts: typeof row?.parts === "number" ? row.parts : 0,
      ...nodesOf(row),
      old: (part) => read(oldRun, part),
      fresh: (part) => read(run, part),
      keep: (part, body) => this.#sql("insert or replace into parts values (?, ?, ?, ?)").run(key, run, part, body),
      copyBefore: (part) => {
        const copy =
          "insert or replace into parts select directory, ?, part, body from parts where directory = ? and run = ? and part < ?";
        this.#sql(copy).run(run, key, oldRun, part);
      },
      untouched: () => this.#untouch(key),
      done: (parts, filesDiffer, nodes, plain, roll) => {
        this.#diverge();
        const ofRun = filesDiffer ? run : (oldRun ?? run);
        const insert = this.#sql("insert or replace into seen values (?, ?, ?, ?, ?, ?, ?, ?)");
        insert.run(key, ofRun, parts, nodes, plain, roll.digest, roll.totals, checksumOf(nodes, plain, roll));
      },
    });
  }

  commit(base: string, generation: number): void {
    const { n } = this.#sql("select count(*) as n from directories").get() ?? {};
    if (n !== this.#untouched.count) this.#diverge();
    if (this.#differs) {
      this.#database.exec("delete from directories; insert into directories select * from seen; delete from seen");
      this.#sql(
        "delete from parts where not exists (select 1 from directories d where d.directory = parts.directory and d.run = parts.run)",
      ).run();
    }
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

  /** A directory that is as it was. While all are, their keys are enough. */
  #untouch(key: Uint8Array): void {
    if (!this.#differs && this.#untouched.count >= maxUntouched) this.#diverge();
    if (this.#differs) this.#seeAgain(key);
    else this.#untouched.add(key);
  }

  #diverge(): void {
    if (this.#differs) return;
    this.#differs = true;
    for (const key of this.#untouched) this.#seeAgain(key);
    this.#untouched.clear();
  }

  #seeAgain(key: Uint8Array): void {
    this.#sql("insert or replace into seen select * from directories where directory = ?").run(key);
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

interface KnownNodes {
  readonly oldNodes: Uint8Array | null;
  readonly oldPlain: number;
  readonly oldRoll: RememberedRoll;
}

const nothingKnown: KnownNodes = { oldNodes: null, oldPlain: 0, oldRoll: noRoll };

/**
 * A row's nodes and roll. A plain directory's become part of the next snapshot unread, and SQLite does not notice a flipped
 * bit: what does not fit its sum is not known.
 */
function nodesOf(row: Record<string, unknown> | undefined): KnownNodes {
  const { nodes, plain, roll, totals, sum } = row ?? {};
  if (!(nodes instanceof Uint8Array && roll instanceof Uint8Array && totals instanceof Uint8Array)) return nothingKnown;
  const oldRoll = { digest: roll, totals };
  if (typeof plain !== "number" || checksumOf(nodes, plain, oldRoll) !== sum) return nothingKnown;
  return { oldNodes: nodes, oldPlain: plain, oldRoll };
}

function checksumOf(nodes: Uint8Array, plain: number, { digest, totals }: RememberedRoll): number {
  return crc32(totals, crc32(digest, crc32(nodes, plain)));
}

/** Keys of one length, back to back. */
class KeyList {
  #bytes = Buffer.allocUnsafeSlow(64 * keyLength);
  count = 0;

  add(key: Uint8Array): void {
    if ((this.count + 1) * keyLength > this.#bytes.length) {
      const longer = Buffer.allocUnsafeSlow(this.#bytes.length * 2);
      longer.set(this.#bytes);
      this.#bytes = longer;
    }
    this.#bytes.set(key, this.count++ * keyLength);
  }

  clear(): void {
    this.count = 0;
  }

  *[Symbol.iterator](): Generator<Uint8Array> {
    for (let i = 0; i < this.count; i++) yield this.#bytes.subarray(i * keyLength, (i + 1) * keyLength);
  }
}
