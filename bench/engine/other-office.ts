/**
 * A second tree for the benchmark, made by other rules than Ofis: the engine was not tuned for it. Small XML files without
 * style sheets, two dumps with pages of no known format that get a new name every night, a mailbox, PDFs and workbooks. The same seed
 * makes the same bytes.
 */

import { closeSync, mkdirSync, openSync, renameSync, statSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import { SeededRandom } from "../ofis/seeded-random.ts";

export interface OtherOffice {
  readonly seed: number;
  /** Files of about 10 KB. */
  readonly xmlFiles: number;
  readonly dumpBytes: number;
  readonly mailboxBytes: number;
  /** Incompressible files of about 200 KB. */
  readonly pdfs: number;
  /** Incompressible files of about 40 KB; a twentieth of them is saved every night. */
  readonly workbooks: number;
}

/** 1.3 GB, most of it in the two dumps, divided by `divisor`. */
export function otherOffice(seed: number, divisor: number): OtherOffice {
  const part = (whole: number) => Math.ceil(whole / divisor);
  return {
    ...{ seed, xmlFiles: part(15_000), dumpBytes: Math.ceil(part(512 * 1024 ** 2) / pageBytes) * pageBytes },
    ...{ mailboxBytes: part(64 * 1024 ** 2), pdfs: part(200), workbooks: part(400) },
  };
}

/** The page size of most databases. */
const pageBytes = 8192;
const dumps = 2;
const changedPages = 0.017;
const mailboxGrowth = 0.005;
const savedWorkbooks = 0.05;

/** Text from which rows are taken. Longer than any compression window, so that rows repeat only in their shape. */
const poolBytes = 16 * 1024 ** 2;

/** Makes the tree of day 0. */
export function makeOtherOffice(folder: string, office: OtherOffice): void {
  for (const name of ["belgeler", "yedek", "posta", "pdf", "tablolar"])
    mkdirSync(path.join(folder, name), { recursive: true });
  for (let i = 0; i < office.xmlFiles; i++) writeXml(folder, office, i);
  const pool = textPool(office.seed);
  for (let dump = 0; dump < dumps; dump++) writeDump(folder, office, dump, pool);
  writeFileSync(path.join(folder, "posta", "kutu.mbox"), mail(office, 0, office.mailboxBytes));
  const { pdfs, workbooks } = office;
  for (let i = 0; i < pdfs; i++) writeNoise(path.join(folder, "pdf", `${i}.pdf`), office, `pdf ${i}`, 200_000);
  for (let i = 0; i < workbooks; i++) saveWorkbook(folder, office, i, 0);
}

/** Changes the tree as a workday does. */
export function changeOtherOffice(folder: string, office: OtherOffice, night: number): void {
  for (let dump = 0; dump < dumps; dump++) changeDump(folder, office, dump, night);
  const added = Math.ceil(office.mailboxBytes * mailboxGrowth);
  writeFileSync(path.join(folder, "posta", "kutu.mbox"), mail(office, night, added), { flag: "a" });
  const random = new SeededRandom(office.seed, "other office, workbooks", night);
  for (let i = 0; i < Math.ceil(office.workbooks * savedWorkbooks); i++)
    saveWorkbook(folder, office, random.below(office.workbooks), night);
}

function writeXml(folder: string, { seed }: OtherOffice, index: number): void {
  const random = new SeededRandom(seed, "other office, xml", index);
  const parts = [`<?xml version="1.0"?>\n<irsaliye no="${random.digits(16)}">\n`];
  for (let i = 0; i < 90; i++)
    parts.push(
      `  <kalem kod="${random.digits(8)}" miktar="${random.below(500)}"><ad>${word(random)} ${word(random)}</ad></kalem>\n`,
    );
  parts.push("</irsaliye>\n");
  const below = path.join(folder, "belgeler", String(index % 40));
  mkdirSync(below, { recursive: true });
  writeFileSync(path.join(below, `${random.uuid()}.xml`), parts.join(""));
}

function textPool(seed: number): Buffer {
  const random = new SeededRandom(seed, "other office, rows");
  const pool = Buffer.alloc(poolBytes);
  for (let at = 0; at < poolBytes; )
    at += pool.write(
      `${random.below(1e9)}|${word(random)} ${word(random)}|${random.below(1e6)}.${random.below(100)}|`,
      at,
      "latin1",
    );
  return pool;
}

function writeDump(folder: string, office: OtherOffice, dump: number, pool: Buffer): void {
  const random = new SeededRandom(office.seed, "other office, dump", dump);
  const fd = openSync(dumpFile(folder, dump, 0), "w");
  const group = Buffer.alloc(128 * pageBytes);
  for (let written = 0; written < office.dumpBytes; ) {
    const bytes = Math.min(group.length, office.dumpBytes - written);
    for (let at = 0; at < bytes; at += pageBytes)
      writePage(group.subarray(at, at + pageBytes), (written + at) / pageBytes, random, pool);
    written += writeSync(fd, group, 0, bytes);
  }
  closeSync(fd);
}

/** Checksum, page number, type, free bytes, sequence number; then rows, and what older rows have left behind. */
function writePage(page: Buffer, number: number, random: SeededRandom, pool: Buffer): void {
  page.writeUInt32LE(random.next(), 0);
  page.writeUInt32LE(number, 4);
  page.writeUInt16LE(random.chance(0.9) ? 0x21 : 0x22, 8);
  page.writeUInt16LE(random.below(2000), 10);
  page.writeUInt32LE(random.below(1 << 30), 12);
  for (let at = 24; at < pageBytes; ) {
    const from = random.below(poolBytes - 400);
    at += pool.copy(page, at, from, from + 60 + random.below(300));
  }
}

function changeDump(folder: string, { seed, dumpBytes }: OtherOffice, dump: number, night: number): void {
  const random = new SeededRandom(seed, "other office, changed pages", dump, night);
  const file = dumpFile(folder, dump, night);
  renameSync(dumpFile(folder, dump, night - 1), file);
  const fd = openSync(file, "r+");
  const pages = statSync(file).size / pageBytes;
  for (let i = 0; i < (dumpBytes / pageBytes) * changedPages; i++) {
    const page = random.below(pages) * pageBytes;
    writeSync(fd, random.bytes(4), 0, 4, page);
    writeSync(
      fd,
      Buffer.from(`${random.below(1e9)}|${word(random)}|${random.below(1e6)}|`),
      0,
      null,
      page + 24 + random.below(8000),
    );
  }
  closeSync(fd);
}

function dumpFile(folder: string, dump: number, night: number): string {
  return path.join(folder, "yedek", `VERI${dump}_gun${String(night).padStart(3, "0")}.dmp`);
}

function mail({ seed }: OtherOffice, night: number, bytes: number): Buffer {
  const random = new SeededRandom(seed, "other office, mail", night);
  const parts: string[] = [];
  for (let length = 0; length < bytes; length += parts.at(-1)?.length ?? 0)
    parts.push(
      `From ${word(random)}@${word(random)}.example\nSubject: ${word(random)}\n\n${word(random)} ${word(random)}\n${random.bytes(random.below(20_000)).toString("base64")}\n\n`,
    );
  return Buffer.from(parts.join("").slice(0, bytes));
}

function saveWorkbook(folder: string, office: OtherOffice, index: number, night: number): void {
  writeNoise(path.join(folder, "tablolar", `${index}.xlsx`), office, `workbook ${index} ${night}`, 40_000);
}

function writeNoise(file: string, { seed }: OtherOffice, label: string, bytes: number): void {
  const random = new SeededRandom(seed, "other office", label);
  writeFileSync(file, random.bytes(bytes + random.below(bytes / 4)));
}

const words =
  "mizan cari kasa banka stok fatura iade tahsilat ödeme virman bordro kdv tevkifat avans depo sevk rapor".split(" ");

function word(random: SeededRandom): string {
  return random.pickSkewed(words);
}
