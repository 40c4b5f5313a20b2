/** The plan of a day: its jobs, and the files that it removes. It is pure: the same day has the same plan. */

import { dateOf, dumpDay, hasLedgers, hasZippedDump, kindOf, officeOf, stampOf } from "./calendar.ts";
import {
  dumpFile,
  invoices,
  jobFor,
  ledgerPackage,
  type Setting,
  scans,
  table,
  workbook,
  workbookName,
} from "./first-day.ts";
import type { Job } from "./job.ts";
import { parts } from "./scale.ts";
import { SeededRandom } from "./seeded-random.ts";

const megabyte = 1_000_000;

/** 1.69 % of a database's pages change on a workday. */
const changedPages = 0.0169;
/** A weekly rebuild moves between a quarter and three fifths of the pages. */
const rebuiltPercent = { least: 25, most: 60 };
/** A database grows by half a per mille on a workday, an eighth of its size in a year. */
const grownPages = 0.0005;
/** Invoices that arrive on a workday, as a share of those there are. */
const arrivingInvoices = 0.003;
/** A mailbox grows by half a per cent. */
const arrivingMail = 0.005;
/** Workbooks that are saved on a workday. */
const editedWorkbooks = 0.04;
/** New incompressible bytes of a workday as a share of yesterday's tree; bench/README.md says 1 %. */
const arrivingScans = 0.0105;
/** Size of a zipped dump as a share of the database. */
const zippedShare = 0.12;
/** Exports are kept for two weeks. */
const exportDays = 14;
/** Two ledger packages per 60 close on a Tuesday. */
const packagesPerClosing = 30;

export interface DayPlan {
  readonly jobs: readonly Job[];
  /** Paths that do not exist at the end of the day. */
  readonly removed: readonly string[];
  /** Files that a program holds open: only the administrator can read them. */
  readonly locked: readonly string[];
}

/** The plan of a day. `treeBytes` is the size of yesterday's tree. */
export function planDay(setting: Setting, treeBytes: number): DayPlan {
  const kind = kindOf(setting.day);
  if (kind === "workday") return workday(setting, treeBytes);
  return { jobs: kind === "rebuild" ? [...nights(setting)] : [], removed: [], locked: [] };
}

function workday(setting: Setting, treeBytes: number): DayPlan {
  const { scale, day } = setting;
  const edited = editedOn(setting);
  const locks = edited.slice(0, 1).map((index) => lockFile(setting, index));
  const jobs = [
    ...nights(setting),
    mail(setting),
    ...(hasZippedDump(day) ? [zippedDump(setting)] : []),
    ...(hasLedgers(day) ? closing(setting) : []),
    ...scans(setting, Math.ceil(treeBytes * arrivingScans)),
    ...([1, 60, 600] as const).flatMap((n) => [
      ...invoices(setting, n, Math.ceil(scale.invoices[n] * arrivingInvoices)),
    ]),
    ...edited.map((index) => workbook(setting, index, day)),
    table(setting, `Günlük ${stampOf(day)}.csv`),
    ...locks,
  ];
  return { jobs, removed: removals(setting), locked: locks.map((job) => job.path) };
}

/** Changes every database; dumps get their new names. */
function* nights(setting: Setting): Generator<Job> {
  const { scale, seed, day } = setting;
  const before = `${officeOf(day)}/${parts.dumps}/`;
  for (const [id, megabytes] of scale.dumps) {
    const database = { id, firebirdPageBytes: 0, pages: 0, stamp: stampOf(day) };
    const from = before + dumpFile(id, dumpDay(day - 1));
    const task = {
      kind: "night",
      from,
      database,
      night: nightOf(seed, id, day, (megabytes * megabyte) / 8192),
    } as const;
    yield jobFor(setting, "dumps", dumpFile(id, day), task, megabytes * megabyte);
  }
  for (const [id, pageBytes, megabytes] of scale.firebird) {
    const file = `${id}.FDB`;
    const night = nightOf(seed, id, day, (megabytes * megabyte) / pageBytes);
    const database = { id, firebirdPageBytes: pageBytes, pages: 0, stamp: "" };
    const from = `${officeOf(day)}/${parts.firebird}/${file}`;
    yield jobFor(setting, "firebird", file, { kind: "night", from, database, night }, megabytes * megabyte);
  }
}

function nightOf(seed: number, id: string, day: number, pages: number) {
  if (kindOf(day) === "workday")
    return { day, changed: changedPages, rebuilt: 0, grown: Math.ceil(pages * grownPages) };
  const rebuilt = new SeededRandom(seed, "rebuild", id, day).between(rebuiltPercent.least, rebuiltPercent.most) / 100;
  return { day, changed: 0, rebuilt, grown: 0 };
}

function mail(setting: Setting): Job {
  const bytes = Math.ceil(setting.scale.mailMegabytes * megabyte * arrivingMail);
  const task = { kind: "mail", id: `${setting.day}`, bytes, date: dateOf(setting.day) } as const;
  return jobFor(setting, "mail", "muhasebe.mbox", task, setting.scale.mailMegabytes * megabyte);
}

/** The smallest database, zipped by hand. Last Friday's is deleted. */
function zippedDump(setting: Setting): Job {
  const [id, megabytes] = setting.scale.dumps.at(-1) ?? ["", 0];
  const bytes = Math.ceil(megabytes * megabyte * zippedShare);
  const task = {
    kind: "archive",
    id: `zipped ${setting.day}`,
    bytes,
    date: dateOf(setting.day),
    oldNames: false,
    files: 1,
  } as const;
  return jobFor(setting, "archives", zippedName(id, setting.day), task, bytes);
}

function zippedName(id: string, day: number): string {
  return `${id}_${stampOf(day)}.zip`;
}

function closing(setting: Setting): Job[] {
  const { scale, day } = setting;
  const count = Math.ceil(scale.ledgers / packagesPerClosing);
  // Other numbers than on day 0: no package of day 0 is written again.
  return Array.from({ length: count }, (_, i) => [...ledgerPackage(setting, scale.ledgers + day * count + i)]).flat();
}

/** At least one is edited on every workday. */
function editedOn({ scale, seed, day }: Setting): number[] {
  const random = new SeededRandom(seed, "edited", day);
  const edited = Array.from({ length: scale.workbooks }, (_, i) => i).filter(() => random.chance(editedWorkbooks));
  return edited.length > 0 ? edited : [random.below(scale.workbooks)];
}

/** The lock file that Excel writes beside an open workbook. */
function lockFile(setting: Setting, index: number): Job {
  const inside = lockName(index);
  return {
    ...jobFor(setting, "workbooks", inside, { kind: "text", text: "Örnek Muhasebeci".padEnd(165) }, 165),
    mode: 0,
  };
}

function lockName(index: number): string {
  const [folder = "", file = ""] = workbookName(index).split("/");
  return `${folder}/~$${file}`;
}

/** Yesterday's lock, old exports, last week's zipped dump. */
function removals(setting: Setting): string[] {
  const { scale, day } = setting;
  const at = (part: keyof typeof parts, inside: string) => `${officeOf(day)}/${parts[part]}/${inside}`;
  const gone: string[] = [];
  const lastWorkday = previous(day, 1);
  if (lastWorkday !== null) {
    const [locked] = editedOn({ ...setting, day: lastWorkday });
    if (locked !== undefined) gone.push(at("workbooks", lockName(locked)));
  }
  const old = previous(day, exportDays);
  if (old !== null && day - old === exportDays) gone.push(at("tables", `Günlük ${stampOf(old)}.csv`));
  const zipped = day - 7;
  const [id] = scale.dumps.at(-1) ?? [""];
  if (hasZippedDump(day) && zipped > 0) gone.push(at("archives", zippedName(id, zipped)));
  return gone;
}

/** The newest workday that is at least `days` ago. */
function previous(day: number, days: number): number | null {
  for (let back = day - days; back > 0; back--) if (kindOf(back) === "workday") return back;
  return null;
}
