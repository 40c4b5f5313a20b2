/**
 * Databases as files: SQL Server dumps (a preamble in Microsoft Tape Format, then pages) and Firebird files (pages from
 * the first byte). A night changes a file in place, page by page, in one pass that also hashes it.
 *
 * 60 % of the changed pages are in the newest 5 % of the file, the others anywhere. A file also grows.
 */

import { createHash } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, futimesSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import type { FileWriter } from "../file-writer.ts";
import { SeededRandom } from "../seeded-random.ts";
import { firebird, groupPages, type PageFormat, PageGenerator, sqlServer } from "./pages.ts";

export interface Database {
  /** Label for the random numbers. The name of the file changes, this does not. */
  readonly id: string;
  /** Page size of a Firebird file; 0 for a SQL Server dump. */
  readonly firebirdPageBytes: number;
  readonly pages: number;
  /** `20260914`, in a dump's preamble. */
  readonly stamp: string;
}

export interface Night {
  readonly day: number;
  /** Share of the pages that an ordinary night changes. */
  readonly changed: number;
  /** Share of the pages whose index is rebuilt; 0 on most nights. */
  readonly rebuilt: number;
  /** Pages that the file grows by. */
  readonly grown: number;
}

/** Of the changed pages, those in the newest part; and what share of the file that part is. */
const newestShareOfChanges = 0.6;
const newestShareOfPages = 0.05;

/** Seven sectors, so that pages do not start at multiples of their size, as in a real dump. */
const preambleBytes = 3584;

/** An update never changes the first page: it describes the file. */
const headerPages = 1;

/** Writes a database of `pages` pages. */
export function writeDatabase(out: FileWriter, seed: number, database: Database): void {
  const { format, generator } = open(seed, database);
  out.write(prologue(database));
  const random = new SeededRandom(seed, database.id, "pages");
  const group = Buffer.alloc(groupPages * format.pageBytes);
  for (let first = 0; first < database.pages; first += groupPages) {
    const count = Math.min(groupPages, database.pages - first);
    for (let i = 0; i < count; i++) generator.fill(pageOf(group, format, i), first + i, random);
    out.write(group.subarray(0, count * format.pageBytes));
  }
}

export interface Changed {
  readonly size: number;
  readonly sha256: string;
  /** Bytes of changed, moved and new pages, and of a new preamble. */
  readonly changed: number;
}

/** Applies the changes of one night to the database in `from`, and renames it to `to`. */
export function changeDatabase(
  from: string,
  to: string,
  seed: number,
  database: Database,
  night: Night,
  mtime: number,
): Changed {
  if (from !== to) renameSync(from, to);
  const fd = openSync(to, "r+");
  try {
    const before = fstatSync(fd).size;
    const hash = createHash("sha256");
    const head = prologue(database);
    const dump = database.firebirdPageBytes === 0;
    if (dump) writeSync(fd, head, 0, head.length, 0);
    hash.update(head);
    const pass = { fd, hash, start: head.length, before: (before - head.length) / pageBytesOf(database) };
    const changed = changePages(pass, seed, database, night);
    futimesSync(fd, mtime, mtime);
    return { size: fstatSync(fd).size, sha256: hash.digest("hex"), changed: changed + (dump ? head.length : 0) };
  } finally {
    closeSync(fd);
  }
}

interface Pass {
  readonly fd: number;
  readonly hash: ReturnType<typeof createHash>;
  /** Offset of the first page. */
  readonly start: number;
  /** Pages before the night. */
  readonly before: number;
}

function changePages(pass: Pass, seed: number, database: Database, night: Night): number {
  const { format, generator } = open(seed, database);
  const random = new SeededRandom(seed, database.id, "night", night.day);
  const decide = decision(pass.before, night, random);
  const after = pass.before + night.grown;
  ftruncateSync(pass.fd, pass.start + after * format.pageBytes);
  const group = Buffer.alloc(groupPages * format.pageBytes);
  let touched = 0;
  for (let first = 0; first < after; first += groupPages) {
    const bytes = group.subarray(0, Math.min(groupPages, after - first) * format.pageBytes);
    const at = pass.start + first * format.pageBytes;
    readFully(pass.fd, bytes, at);
    const whole = first + groupPages <= pass.before;
    const changed = whole && decide.moves(first) ? rebuildGroup(generator, bytes, first, random) : 0;
    touched +=
      changed > 0 ? changed : changeGroup({ generator, format, bytes, first, before: pass.before }, decide, random);
    if (bytes.length > 0) writeSync(pass.fd, bytes, 0, bytes.length, at);
    pass.hash.update(bytes);
  }
  return touched;
}

function rebuildGroup(generator: PageGenerator, bytes: Buffer, first: number, random: SeededRandom): number {
  generator.rebuild(bytes, first, random);
  return bytes.length;
}

interface Group {
  readonly generator: PageGenerator;
  readonly format: PageFormat;
  readonly bytes: Buffer;
  readonly first: number;
  readonly before: number;
}

function changeGroup(
  { generator, format, bytes, first, before }: Group,
  decide: Decision,
  random: SeededRandom,
): number {
  let touched = 0;
  for (let i = 0; i * format.pageBytes < bytes.length; i++) {
    const number = first + i;
    const isNew = number >= before;
    if (isNew) generator.fill(pageOf(bytes, format, i), number, random);
    else if (decide.changes(number)) generator.change(pageOf(bytes, format, i), number, random);
    else continue;
    touched += format.pageBytes;
  }
  return touched;
}

interface Decision {
  changes(page: number): boolean;
  moves(firstOfGroup: number): boolean;
}

function decision(pages: number, night: Night, random: SeededRandom): Decision {
  const newestFrom = pages * (1 - newestShareOfPages);
  const inNewest = (night.changed * newestShareOfChanges) / newestShareOfPages;
  const elsewhere = (night.changed * (1 - newestShareOfChanges)) / (1 - newestShareOfPages);
  return {
    changes: (page) => page >= headerPages && random.chance(page >= newestFrom ? inNewest : elsewhere),
    moves: () => night.rebuilt > 0 && random.chance(night.rebuilt),
  };
}

function open(seed: number, database: Database): { format: PageFormat; generator: PageGenerator } {
  const format = database.firebirdPageBytes === 0 ? sqlServer : firebird(database.firebirdPageBytes);
  return { format, generator: new PageGenerator(format, new SeededRandom(seed, database.id, "tables")) };
}

function pageBytesOf({ firebirdPageBytes }: Database): number {
  return firebirdPageBytes === 0 ? sqlServer.pageBytes : firebirdPageBytes;
}

/** What a file has before its pages: a dump's preamble; a Firebird file's first page, which names its page size. */
function prologue({ id, firebirdPageBytes, stamp }: Database): Buffer {
  if (firebirdPageBytes === 0) {
    const preamble = Buffer.alloc(preambleBytes);
    preamble.write("TAPE", 0, "latin1");
    preamble.write(`Microsoft SQL Server  ${id}  ${stamp}`, 64, "utf16le");
    preamble.write("MQDA", 1024, "latin1");
    return preamble;
  }
  const header = Buffer.alloc(firebirdPageBytes);
  header[0] = 1;
  header.writeUInt16LE(firebirdPageBytes, 16);
  header.writeUInt16LE(0x800d, 18);
  return header;
}

function pageOf(group: Buffer, { pageBytes }: PageFormat, index: number): Buffer {
  return group.subarray(index * pageBytes, (index + 1) * pageBytes);
}

function readFully(fd: number, into: Buffer, at: number): void {
  for (let done = 0; done < into.length; ) {
    const count = readSync(fd, into, done, into.length - done, at + done);
    if (count === 0) throw new Error("the database file is shorter than it was");
    done += count;
  }
}
