/**
 * Pages of a database: a header, rows of fixed length, and (SQL Server) an array of row offsets at the end. Pages belong
 * to tables in *groups* of 64; each table has its own row length and texts.
 *
 * - A *change* touches a few rows and the header's sequence number and checksum, as an update does.
 * - A *rebuild* moves every row of a group by some rows, across page ends. The bytes of every page change, although nearly
 *   all rows are the old ones.
 */

import type { SeededRandom } from "../seeded-random.ts";
import { firmName, operationName } from "../words.ts";

export interface PageFormat {
  readonly pageBytes: number;
  readonly headerBytes: number;
  /** Bytes at the page's end that rows do not use. */
  readonly tailBytes: number;
  /** Writes what a page of this format starts with. */
  header(page: Buffer, number: number, table: number): void;
  /** Where the header keeps the number of the last change and the checksum. */
  readonly sequenceAt: number;
  readonly checksumAt: number;
}

/** Pages of one table that are next to each other: an index is rebuilt group by group. */
export const groupPages = 64;

const tables = 8;
/** What a row holds before its text: id, date, amounts, firm and account. */
const textAt = 52;
/** A table's phrases: enough that a page seldom repeats one, few enough to look like one firm's books. */
const phrasesPerTable = 192;
/** Rows that an update touches in one page, at most. */
const maxChangedRows = 5;

interface Table {
  readonly rowBytes: number;
  readonly rows: number;
  readonly phrases: readonly Buffer[];
  /** A page with everything that rows have in common. */
  readonly template: Buffer;
}

/** SQL Server: version 1, the page type, the page's number at 32, its log sequence number at 40, a checksum at 60. */
export const sqlServer: PageFormat = {
  pageBytes: 8192,
  headerBytes: 96,
  tailBytes: 128,
  sequenceAt: 40,
  checksumAt: 60,
  header(page, number, table) {
    page[0] = 1;
    page[1] = table === 0 ? 2 : 1;
    page.writeUInt16LE(0x0200, 4);
    page.writeUInt32LE(100 + table, 24);
    page.writeUInt32LE(number, 32);
    page[36] = 1;
  },
};

/** Firebird: type 5 (data), its checksum at 2, the generation at 4, sequence number and relation behind them. */
export function firebird(pageBytes: number): PageFormat {
  return {
    pageBytes,
    headerBytes: 64,
    tailBytes: 32,
    sequenceAt: 4,
    checksumAt: 2,
    header(page, number, table) {
      page[0] = 5;
      page.writeUInt32LE(number, 16);
      page.writeUInt16LE(128 + table, 20);
    },
  };
}

/** Makes and changes the pages of one database. The rows depend only on the random numbers of the database. */
export class PageGenerator {
  readonly #format: PageFormat;
  readonly #tables: readonly Table[];

  constructor(format: PageFormat, random: SeededRandom) {
    this.#format = format;
    this.#tables = Array.from({ length: tables }, () => tableOf(format, random));
  }

  /** Writes page `number` into `page`. */
  fill(page: Buffer, number: number, random: SeededRandom): void {
    const { headerBytes } = this.#format;
    const index = tableIndex(number);
    const table = this.#table(number);
    page.set(table.template);
    this.#format.header(page, number, index);
    this.#touch(page, number, random);
    for (let row = 0; row < table.rows; row++) {
      const at = headerBytes + row * table.rowBytes;
      page.writeUInt32LE((number * table.rows + row) >>> 0, at + 4);
      page.writeUInt16LE(8000 + (number >>> 9) + random.below(2), at + 8);
      setRow(page, at, table, random);
    }
  }

  /** Updates a few rows. */
  change(page: Buffer, number: number, random: SeededRandom): void {
    const table = this.#table(number);
    for (let left = random.between(1, maxChangedRows); left > 0; left--)
      setRow(page, this.#format.headerBytes + random.below(table.rows) * table.rowBytes, table, random);
    this.#touch(page, number, random);
  }

  /** Moves all rows of a group by the same number of rows; rows at the end move to the start. */
  rebuild(group: Buffer, first: number, random: SeededRandom): void {
    const { pageBytes, headerBytes } = this.#format;
    const { rows, rowBytes } = this.#table(first);
    const used = rows * rowBytes;
    const pages = group.length / pageBytes;
    const packed = Buffer.allocUnsafe(pages * used);
    for (let i = 0; i < pages; i++)
      group.copy(packed, i * used, i * pageBytes + headerBytes, i * pageBytes + headerBytes + used);
    const shift = random.between(1, rows - 1) * rowBytes;
    const turned = Buffer.concat([packed.subarray(packed.length - shift), packed.subarray(0, packed.length - shift)]);
    for (let i = 0; i < pages; i++) {
      turned.copy(group, i * pageBytes + headerBytes, i * used, (i + 1) * used);
      this.#touch(group.subarray(i * pageBytes, (i + 1) * pageBytes), first + i, random);
    }
  }

  #touch(page: Buffer, number: number, random: SeededRandom): void {
    const { sequenceAt, checksumAt } = this.#format;
    page.writeUInt32LE((number ^ random.next()) >>> 0, sequenceAt);
    page.writeUInt16LE(random.below(0x1_0000), checksumAt);
  }

  #table(number: number): Table {
    const table = this.#tables[tableIndex(number)];
    if (table === undefined) throw new RangeError("no such table");
    return table;
  }
}

/** The table of a group. A multiplication spreads the tables over the groups and uses all of them. */
function tableIndex(number: number): number {
  return (Math.imul(Math.trunc(number / groupPages), 0x9e3779b1) >>> 29) % tables;
}

function tableOf(format: PageFormat, random: SeededRandom): Table {
  const rowBytes = random.between(36, 62) * 4;
  const rows = Math.trunc((format.pageBytes - format.headerBytes - format.tailBytes) / rowBytes);
  const phrases = Array.from({ length: phrasesPerTable }, () => phrase(random, rowBytes - textAt));
  const template = Buffer.alloc(format.pageBytes);
  const account = Buffer.from(`120.01.${random.digits(3)}`, "utf16le");
  for (let row = 0; row < rows; row++) {
    const at = format.headerBytes + row * rowBytes;
    template.writeUInt16LE(0x30, at);
    template.writeUInt16LE(rowBytes, at + 2);
    account.copy(template, at + 28);
    if (format.tailBytes >= rows * 2) template.writeUInt16LE(at, format.pageBytes - 2 - row * 2);
  }
  return { rowBytes, rows, phrases, template };
}

/** A row's text as the database keeps it: two bytes a letter, filled up with blanks. */
function phrase(random: SeededRandom, bytes: number): Buffer {
  const text = `${operationName(random)} ${random.digits(5)} ${firmName(random)}`;
  return Buffer.alloc(bytes, Buffer.from(text.slice(0, bytes >> 1).padEnd(bytes >> 1), "utf16le"));
}

/** What an update changes of a row: date, amounts, account and text. */
function setRow(page: Buffer, at: number, table: Table, random: SeededRandom): void {
  const bits = random.next();
  page.writeUInt16LE(bits & 0x3ff, at + 10);
  const amount = random.below(bits >>> 31 === 1 ? 1 << 23 : 1 << 15);
  page.writeUInt32LE(amount, at + 12);
  page.writeUInt32LE(Math.trunc(amount / 5), at + 20);
  page[at + 42] = 0x30 + ((bits >>> 10) % 10);
  page[at + 44] = 0x30 + ((bits >>> 14) % 10);
  table.phrases[(bits >>> 18) % phrasesPerTable]?.copy(page, at + textAt);
}
