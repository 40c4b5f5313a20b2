/**
 * How many files a tree has. The proportions are in bench/README.md. A scale changes the number of files and the size of
 * databases, not the content of a file. Only XS, which is for tests, has short ledgers.
 */

export type ScaleName = "XS" | "S" | "M" | "L";

/** A part of the tree that can be backed up by itself: a folder in the top folder. */
export const parts = {
  dumps: "Yedekler",
  firebird: "Wolvox",
  "invoices-1": "e-Fatura/giden",
  "invoices-60": "e-Fatura/gelen-60",
  "invoices-600": "e-Fatura/gelen-600",
  ledgers: "e-Defter",
  scans: "Taramalar",
  workbooks: "Excel",
  tables: "Aktarım",
  archives: "Arşiv",
  mail: "Posta",
  oddities: "Çeşitli",
} as const;

export type PartName = keyof typeof parts;

export const partNames = Object.keys(parts) as PartName[];

export interface Scale {
  readonly name: ScaleName;
  /** SQL Server databases and their megabytes. */
  readonly dumps: readonly (readonly [id: string, megabytes: number])[];
  /** Firebird databases, their page size and megabytes. */
  readonly firebird: readonly (readonly [id: string, pageBytes: number, megabytes: number])[];
  /** Invoices by the number of issuers that they come from. */
  readonly invoices: Readonly<Record<1 | 60 | 600, number>>;
  /** e-Defter packages (a taxpayer's month): two ledgers and four berats each. */
  readonly ledgers: number;
  readonly ledgerBytes: readonly [least: number, most: number];
  readonly scanMegabytes: number;
  readonly workbooks: number;
  readonly tables: number;
  readonly mailMegabytes: number;
  readonly archiveMegabytes: number;
}

/** 4–10 MB, as ledgers of a month are. */
const ledgerBytes = [4_000_000, 10_000_000] as const;

export const scales: Readonly<Record<ScaleName, Scale>> = {
  XS: {
    name: "XS",
    dumps: [
      ["LOGODB", 4],
      ["ETA", 2],
    ],
    firebird: [["WOLVOX_2026", 16_384, 1]],
    invoices: { 1: 8, 60: 20, 600: 20 },
    ledgers: 2,
    ledgerBytes: [200_000, 300_000],
    scanMegabytes: 2,
    workbooks: 6,
    tables: 2,
    mailMegabytes: 1,
    archiveMegabytes: 1,
  },
  S: {
    name: "S",
    dumps: [
      ["LOGODB", 100],
      ["MIKRO", 50],
      ["ETA", 30],
    ],
    firebird: [
      ["WOLVOX_2025", 4096, 8],
      ["WOLVOX_2026", 16_384, 16],
    ],
    invoices: { 1: 80, 60: 240, 600: 480 },
    ledgers: 2,
    ledgerBytes,
    scanMegabytes: 38,
    workbooks: 48,
    tables: 10,
    mailMegabytes: 16,
    archiveMegabytes: 10,
  },
  M: {
    name: "M",
    dumps: [
      ["LOGODB", 1200],
      ["MIKRO", 600],
      ["ETA", 400],
    ],
    firebird: [
      ["WOLVOX_2025", 4096, 100],
      ["WOLVOX_2026", 16_384, 200],
    ],
    invoices: { 1: 1000, 60: 3000, 600: 7000 },
    ledgers: 28,
    ledgerBytes,
    scanMegabytes: 440,
    workbooks: 500,
    tables: 100,
    mailMegabytes: 200,
    archiveMegabytes: 110,
  },
  L: {
    name: "L",
    dumps: [
      ["LOGODB", 9000],
      ["MIKRO", 5000],
      ...Array.from({ length: 8 }, (_, i) => [`NETSIS${i + 1}`, 1000] as const),
    ],
    firebird: [
      ["WOLVOX_2025", 4096, 1000],
      ["WOLVOX_2026", 16_384, 2000],
    ],
    invoices: { 1: 10_000, 60: 30_000, 600: 70_000 },
    ledgers: 280,
    ledgerBytes,
    scanMegabytes: 4400,
    workbooks: 5000,
    tables: 1000,
    mailMegabytes: 2000,
    archiveMegabytes: 1100,
  },
};
