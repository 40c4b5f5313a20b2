/**
 * Days of the office. Day 0 is a Sunday, the day of the first backup; night N is the backup of day N.
 *
 *   workday   Monday to Friday: databases change, documents arrive, workbooks are edited
 *   rebuild   Saturday: the databases' indexes are rebuilt, nothing else happens
 *   rename    every other Sunday: the top folder gets another name, and no byte changes
 *   quiet     the other Sundays: nothing changes at all
 */

export type DayKind = "start" | "workday" | "rebuild" | "rename" | "quiet";

const firstDay = Date.UTC(2026, 8, 6);
const dayMs = 24 * 3600 * 1000;
const weekdays = 7;
const friday = 5;
const saturday = 6;
const tuesday = 2;

/** The two names that the top folder gets in turn. */
const offices = ["Örnek Müşavirlik", "Örnek Müşavirlik (2026)"] as const;

export function kindOf(day: number): DayKind {
  if (day === 0) return "start";
  const weekday = day % weekdays;
  if (weekday === saturday) return "rebuild";
  if (weekday !== 0) return "workday";
  return (day / weekdays) % 2 === 1 ? "rename" : "quiet";
}

/** `2026-09-06` for day 0. */
export function dateOf(day: number): string {
  return new Date(firstDay + day * dayMs).toISOString().slice(0, 10);
}

/** `20260906` for day 0, as in file names. */
export function stampOf(day: number): string {
  return dateOf(day).replaceAll("-", "");
}

/** Seconds since 1970 of a moment of a day. */
export function secondsOf(day: number, secondOfDay: number): number {
  return (firstDay + day * dayMs) / 1000 + secondOfDay;
}

/** The day of the newest dump on a day: there is none on Sundays. */
export function dumpDay(day: number): number {
  let found = day;
  while (found > 0 && kindOf(found) !== "workday" && kindOf(found) !== "rebuild") found--;
  return found;
}

/** On Fridays a dump is zipped by hand; on Tuesdays ledgers are closed. */
export function hasZippedDump(day: number): boolean {
  return day % weekdays === friday;
}

export function hasLedgers(day: number): boolean {
  return day % weekdays === tuesday;
}

/** The name of the top folder on a day. */
export function officeOf(day: number): string {
  let renames = 0;
  for (let sunday = weekdays; sunday <= day; sunday += weekdays) if (kindOf(sunday) === "rename") renames++;
  return offices[renames % 2] ?? offices[0];
}
