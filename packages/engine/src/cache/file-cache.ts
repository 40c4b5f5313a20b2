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
 * A directory is found by its path and, where none or another one was there, by its identity: one that was renamed, or
 * lies below one that was, is known with all that is in it, since none of that changed.
 *
 * A run is one transaction: committed together with the snapshot, or not at all.
 */

import type { StatementSync } from "node:sqlite";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { sameBytes } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import { sameDevice } from "../source/source.ts";
import type { Parts, RememberedRoll } from "./cached-directory.ts";
import { CachedDirectory, noBytes, noRoll } from "./cached-directory.ts";

const schemaVersion = 5;

/** SQLite's own memory. */
const cacheKib = 2 * 1024;

/** A part of a small directory is a page or two. */
const pageBytes = 16 * 1024;

const keyLength = 16;

/** Keys of directories that are as they were, held until one is not: 16 bytes each. */
const maxUntouched = 64 * 1024;

const directoryColumns = `directory blob primary key, run integer not null, parts integer not null, nodes blob not null,
  plain integer not null, roll blob not null, totals blob not null, sum integer not null, identity blob not null`;

const indexByIdentity = "create index by_identity on directories (identity)";

const schema = `
create table about (name text primary key, value text not null) without rowid;
create table directories (${directoryColumns}) without rowid;
${indexByIdentity};
create table seen (${directoryColumns}) without rowid;
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
  directory(path: Uint8Array, identity: Uint8Array = noBytes): CachedDirectory {
    const key = sha256(path).subarray(0, keyLength);
    const { row, movedFrom, isSame } = this.#find(key, identity);
    const oldKey = movedFrom ?? key;
    const oldRun = typeof row?.run === "number" ? row.run : null;
    const oldParts = typeof row?.parts === "number" ? row.parts : 0;
    const run = this.#run;
    const read = (ofKey: Uint8Array, ofRun: number | null, part: number) => {
      const select = this.#sql("select body from parts where directory = ? and run = ? and part = ?");
      const body = select.get(ofKey, ofRun, part)?.body;
      if (!(body instanceof Uint8Array)) throw new TypeError("the cache lacks a part");
      return body;
    };
    const copyBefore = (part: number) => {
      const copy =
        "insert or replace into parts select ?, ?, part, body from parts where directory = ? and run = ? and part < ?";
      this.#sql(copy).run(key, run, oldKey, oldRun, part);
    };
    const done: Parts["done"] = (parts, filesDiffer, nodes, plain, roll) => {
      this.#diverge();
      const ofRun = filesDiffer || movedFrom !== null ? run : (oldRun ?? run);
      if (!filesDiffer && movedFrom !== null) copyBefore(oldParts);
      const insert = this.#sql("insert or replace into seen values (?, ?, ?, ?, ?, ?, ?, ?, ?)");
      const sum = checksumOf(nodes, plain, roll);
      insert.run(key, ofRun, parts, nodes, plain, roll.digest, roll.totals, sum, identity);
    };
    const known = nodesOf(row);
    return new CachedDirectory({
      oldParts,
      ...known,
      old: (part) => read(oldKey, oldRun, part),
      fresh: (part) => read(key, run, part),
      keep: (part, body) => this.#sql("insert or replace into parts values (?, ?, ?, ?)").run(key, run, part, body),
      copyBefore,
      untouched: () => {
        if (isSame) this.#untouch(key);
        else done(oldParts, false, known.oldNodes ?? noBytes, known.oldPlain, known.oldRoll);
      },
      done,
    });
  }

  /**
   * What is remembered of a directory: what was at its path, unless that was another one and this one was elsewhere. Where
   * the path's device has another number than before, so has everything else on it, and the path is what tells.
   */
  #find(key: Uint8Array, identity: Uint8Array): FoundRow {
    if (!this.#valid) return { row: undefined, movedFrom: null, isSame: false };
    const columns = "run, parts, nodes, plain, roll, totals, sum, identity";
    const row = this.#sql(`select ${columns} from directories where directory = ?`).get(key);
    const before = row?.identity instanceof Uint8Array ? row.identity : noBytes;
    const isSame = row !== undefined && sameBytes(before, identity);
    const mayHaveMoved = identity.length > 0 && (before.length === 0 || sameDevice(before, identity));
    if (isSame || !mayHaveMoved) return { row, movedFrom: null, isSame };
    const moved = this.#sql(`select directory, ${columns} from directories where identity = ? limit 1`).get(identity);
    if (moved?.directory instanceof Uint8Array) return { row: moved, movedFrom: moved.directory, isSame: false };
    return { row, movedFrom: null, isSame };
  }

  commit(base: string, generation: number): void {
    const { n } = this.#sql("select count(*) as n from directories").get() ?? {};
    if (n !== this.#untouched.count) this.#diverge();
    if (this.#differs) {
      // The catalog anew: row by row it would be written all over.
      this.#database.exec(
        `drop index by_identity; delete from directories; insert into directories select * from seen; delete from seen;
        ${indexByIdentity}`,
      );
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

/** A directory's row, whose key it has if it was elsewhere, and whether it is the same directory in the same place. */
interface FoundRow {
  readonly row: Record<string, unknown> | undefined;
  readonly movedFrom: Uint8Array | null;
  readonly isSame: boolean;
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
