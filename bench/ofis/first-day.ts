/** The jobs that make the tree of day 0, largest files first. */

import { dateOf, officeOf, secondsOf, stampOf } from "./calendar.ts";
import type { Job, Task } from "./job.ts";
import { type PartName, parts, type Scale } from "./scale.ts";
import { SeededRandom } from "./seeded-random.ts";
import { months, taxNumber } from "./words.ts";

const megabyte = 1_000_000;
/** Page size of SQL Server. */
const sqlPageBytes = 8192;

/** Sizes of zip files, bank exports and workbooks. */
const archiveBytes = 5_000_000;
const tableBytes = { least: 100_000, most: 900_000 };
const workbookBytes = { least: 12_000, most: 230_000 };

/** Scans: most are a page at 200 dpi, some a whole contract. */
const scanBytes = { least: 60_000, most: 900_000 };
const contractBytes = { least: 1_000_000, most: 4_000_000 };

/** What every function that yields jobs needs. */
export interface Setting {
  readonly scale: Scale;
  readonly seed: number;
  readonly day: number;
}

export function* firstDayJobs(scale: Scale, seed: number): Generator<Job> {
  const setting = { scale, seed, day: 0 };
  yield* databases(setting);
  yield mailbox(setting);
  for (let i = 0; i * archiveBytes < scale.archiveMegabytes * megabyte; i++) yield archive(setting, i);
  for (let i = 0; i < scale.ledgers; i++) yield* ledgerPackage(setting, i);
  yield* scans(setting, scale.scanMegabytes * megabyte);
  yield* invoices(setting, 1, scale.invoices[1]);
  yield* invoices(setting, 60, scale.invoices[60]);
  yield* invoices(setting, 600, scale.invoices[600]);
  for (let i = 0; i < scale.workbooks; i++) yield workbook(setting, i, 0);
  for (let i = 0; i < scale.tables; i++) yield table(setting, `Banka ${i + 1} ${stampOf(0)}.csv`);
  yield* oddities(setting);
}

/** A job for the file `inside` in the folder of a part, with its own time on that day. */
export function jobFor({ day, seed }: Setting, part: PartName, inside: string, task: Task, weight: number): Job {
  const second = new SeededRandom(seed, "time", day, inside).between(8 * 3600, 18 * 3600);
  return {
    part,
    path: `${officeOf(day)}/${parts[part]}/${inside}`,
    task,
    weight,
    mtime: secondsOf(day, second),
    mode: 0o644,
  };
}

export function dumpFile(id: string, day: number): string {
  return `${id}_${stampOf(day)}_0200.bak`;
}

function* databases(setting: Setting): Generator<Job> {
  const { dumps, firebird } = setting.scale;
  for (const [id, megabytes] of dumps) {
    const pages = Math.trunc((megabytes * megabyte) / sqlPageBytes);
    const database = { id, firebirdPageBytes: 0, pages, stamp: stampOf(0) };
    yield jobFor(setting, "dumps", dumpFile(id, 0), { kind: "database", database }, megabytes * megabyte);
  }
  for (const [id, pageBytes, megabytes] of firebird) {
    const pages = Math.trunc((megabytes * megabyte) / pageBytes);
    const database = { id, firebirdPageBytes: pageBytes, pages, stamp: "" };
    yield jobFor(setting, "firebird", `${id}.FDB`, { kind: "database", database }, megabytes * megabyte);
  }
}

function mailbox(setting: Setting): Job {
  const bytes = setting.scale.mailMegabytes * megabyte;
  return jobFor(setting, "mail", "muhasebe.mbox", { kind: "mailbox", id: "first", bytes, date: dateOf(0) }, bytes);
}

/** Every fourth archive has its names in cp857. */
function archive(setting: Setting, index: number): Job {
  const bytes = Math.min(archiveBytes, setting.scale.archiveMegabytes * megabyte);
  const task = {
    kind: "archive",
    id: `${index}`,
    bytes,
    date: dateOf(0),
    oldNames: index % 4 === 0,
    files: 8,
  } as const;
  return jobFor(setting, "archives", `Beyanname arşivi ${index + 1}.zip`, task, bytes);
}

/** A month of a taxpayer, in the layout of Luca or of Zirve, with the extra folders that Zirve makes. */
export function* ledgerPackage(setting: Setting, index: number): Generator<Job> {
  const { scale, seed, day } = setting;
  const random = new SeededRandom(seed, "package", index);
  const tax = taxNumber(index >> 1);
  const month = 1 + ((index * 5) % 12);
  const stamp = `2025${String(month).padStart(2, "0")}`;
  const base = `${tax}-${stamp}`;
  const luca = index % 2 === 0;
  const folder = luca
    ? `Luca/${tax}/01.01.2025-31.12.2025/${String(month).padStart(2, "0")}`
    : `Zirve/${tax}/2025/${months[month - 1] ?? ""}`;
  for (const kind of ["Y", "K", "YB", "KB", "GIB-YB", "GIB-KB"] as const) {
    const bytes = random.between(...scale.ledgerBytes);
    const name = kind.startsWith("GIB-") ? `GIB-${base}-${kind.slice(4)}` : `${base}-${kind}`;
    const weight = kind.length === 1 ? bytes : 3000;
    yield jobFor(
      setting,
      "ledgers",
      `${folder}/${name}-000000.xml`,
      { kind: "ledger", ledger: { base, tax, month: stamp, kind, bytes } },
      weight,
    );
  }
  if (luca) return;
  const text = `${dateOf(day)} ${base} paketi oluşturuldu\r\n`;
  yield jobFor(setting, "ledgers", `${folder}/Log/${base}.log`, { kind: "text", text }, 100);
  yield jobFor(setting, "ledgers", `${folder}/Gecici/${base}.tmp`, { kind: "zeros", bytes: 4096 }, 4096);
}

/** Scans and PDFs until they are `bytes` together. */
export function* scans(setting: Setting, bytes: number): Generator<Job> {
  const { seed, day } = setting;
  const random = new SeededRandom(seed, "scans", day);
  const date = dateOf(day);
  for (let made = 0, i = 0; made < bytes; i++) {
    const range = random.chance(0.06) ? contractBytes : scanBytes;
    const size = Math.min(random.between(range.least, range.most), Math.max(bytes - made, scanBytes.least));
    const pdf = random.chance(0.6);
    const task = { kind: pdf ? "pdf" : "scan", id: `${day}-${i}`, bytes: size, date } as const;
    const name = `${date.slice(0, 7)}/${pdf ? "Sözleşme" : "Evrak"} ${stampOf(day)}-${String(i).padStart(4, "0")}.${pdf ? "pdf" : "jpg"}`;
    yield jobFor(setting, "scans", name, task, size);
    made += size;
  }
}

/** Invoices of one day. Few issuers send many of them, most send a few. */
export function* invoices(setting: Setting, issuers: 1 | 60 | 600, count: number): Generator<Job> {
  const { seed, day } = setting;
  const random = new SeededRandom(seed, "invoices", issuers, day);
  const part = `invoices-${issuers}` as const;
  for (let i = 0; i < count; i++) {
    const issuer = random.chance(0.5) ? Math.min(random.below(issuers), random.below(issuers)) : random.below(issuers);
    const ettn = random.uuid();
    const number = `ORN2026${String(day * 100_000 + i).padStart(9, "0")}`;
    const month = day === 0 ? 1 + Math.trunc((i * 8) / count) : Number(dateOf(day).slice(5, 7));
    const folder = `2026/${String(month).padStart(2, "0")}`;
    const date = day === 0 ? `2026-${folder.slice(5)}-${String(random.between(1, 28)).padStart(2, "0")}` : dateOf(day);
    yield jobFor(
      setting,
      part,
      `${folder}/${ettn}.xml`,
      { kind: "invoice", invoice: { set: issuers, issuer, ettn, date, number } },
      120_000,
    );
  }
}

/** Workbook `index` as it is after an edit on this day; `edit` 0 is the first version. */
export function workbook(setting: Setting, index: number, edit: number): Job {
  const random = new SeededRandom(setting.seed, "workbook size", index);
  const bytes = random.between(workbookBytes.least, workbookBytes.most);
  const task = { kind: "workbook", id: `${index}`, bytes, date: dateOf(setting.day), edit } as const;
  return jobFor(setting, "workbooks", workbookName(index), task, bytes);
}

export function workbookName(index: number): string {
  return `Mükellef ${String(index % 40).padStart(2, "0")}/Mizan çalışması ${index}.xlsx`;
}

export function table(setting: Setting, name: string): Job {
  const bytes = new SeededRandom(setting.seed, "table size", name).between(tableBytes.least, tableBytes.most);
  return jobFor(setting, "tables", name, { kind: "table", id: name, bytes, date: dateOf(setting.day) }, bytes);
}

/** Eight folders of 40 letters: longer than the 260 characters at which Windows programs stop. */
const longFolder = Array.from({ length: 8 }, (_, i) =>
  `${i + 1} ${"Uzun klasör adı ".repeat(3)}`.slice(0, 40).trim(),
).join("/");

/** Names and contents that backup programs have failed on. */
function* oddities(setting: Setting): Generator<Job> {
  const text = (inside: string, content: string) =>
    jobFor(setting, "oddities", inside, { kind: "text", text: content }, content.length);
  yield text(`${longFolder}/beyanname.txt`, "yol 260 karakterden uzun\n");
  yield text("caf\u00e9.txt", "birleşik\n");
  yield text("cafe\u0301.txt", "ayrışık\n");
  yield text("İIıi ŞşĞğ ÇçÖöÜü.txt", "dört harf\n");
  yield text("boş.txt", "");
  yield text("-rf", "tire ile başlar\n");
  yield text("nokta ile biter.", "Windows böyle bir adı kabul etmez\n");
  yield text("CON.txt", "Windows'ta ayrılmış ad\n");
  yield text("satır\nsonu.txt", "adında satır sonu var\n");
  yield jobFor(setting, "oddities", "sıfırlar.bin", { kind: "zeros", bytes: 1_048_577 }, 1_048_577);
  yield jobFor(setting, "oddities", "kısayol", { kind: "link", target: "boş.txt" }, 0);
}
