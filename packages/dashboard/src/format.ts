/** Numbers, sizes and times as people read them: by `Intl`, in the language of the page, in Istanbul. */

import { now } from "./platform.ts";

const language = document.documentElement.lang === "en" ? "en-GB" : "tr-TR";
const timeZone = "Europe/Istanbul";

const dayMs = 86_400_000;

const decimal = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
const withTime = { timeZone, hour: "2-digit", minute: "2-digit" } as const;
const time = new Intl.DateTimeFormat(language, withTime);
const timeWithSeconds = new Intl.DateTimeFormat(language, { ...withTime, second: "2-digit" });
const date = new Intl.DateTimeFormat(language, { timeZone, day: "2-digit", month: "2-digit", year: "numeric" });
const longDate = new Intl.DateTimeFormat(language, { timeZone, day: "numeric", month: "long", year: "numeric" });
const dateWithWeekday = new Intl.DateTimeFormat(language, {
  ...{ timeZone, day: "numeric", month: "long", year: "numeric", weekday: "long" },
});
const dayAndMonth = new Intl.DateTimeFormat(language, { timeZone, day: "numeric", month: "short" });
const dayAndLongMonth = new Intl.DateTimeFormat(language, { timeZone, day: "numeric", month: "long" });
const weekday = new Intl.DateTimeFormat(language, { timeZone, weekday: "short" });
/** `2026-11-16`, whatever the language. */
const isoDay = new Intl.DateTimeFormat("sv-SE", { timeZone, day: "2-digit", month: "2-digit", year: "numeric" });

type When = string | number | Date;
const at = (when: When): Date => new Date(when);

export const count = (value: number): string => whole.format(value);
export const number = (value: number): string => decimal.format(value);
export const percent = (value: number): string => share.format(value);
export const clock = (when: When): string => time.format(at(when));
export const clockWithSeconds = (when: When): string => timeWithSeconds.format(at(when));
export const day = (when: When): string => date.format(at(when));
export const longDay = (when: When): string => longDate.format(at(when));
export const fullDay = (when: When): string => dateWithWeekday.format(at(when));
export const shortDay = (when: When): string => dayAndMonth.format(at(when)).replace(".", "");
export const dayOfMonth = (when: When): string => dayAndLongMonth.format(at(when));
export const shortWeekday = (when: When): string => weekday.format(at(when)).replace(".", "");
export const dayAndTime = (when: When): string => `${day(when)} ${clock(when)}`;

/** The day in Istanbul, as the API writes days. */
export const dayKey = (when: When): string => isoDay.format(at(when));
export const today = (): string => dayKey(now());

/** The day that is so many days after one. */
export function addDays(dayText: string, days: number): string {
  return dayKey(Date.parse(`${dayText}T09:00:00Z`) + days * dayMs);
}

const units = ["B", "KB", "MB", "GB", "TB", "PB"] as const;
/** Made once: making one takes longer than drawing the row that shows it. */
const withDigits = [0, 1, 2].map((digits) => new Intl.NumberFormat(language, { maximumFractionDigits: digits }));

/** Decimal units, as disks are sold. */
const unitSize = 1000;

export interface Size {
  readonly value: string;
  readonly unit: string;
}

export function sizeParts(bytes: number): Size {
  const magnitude = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / unitSize ** magnitude;
  // Three figures, as a person reads them: 1,42 TB, 18,4 MB, 384 KB.
  const digits = magnitude === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return { value: (withDigits[digits] ?? whole).format(value), unit: units[magnitude] ?? "B" };
}

export function size(bytes: number): string {
  const { value, unit } = sizeParts(bytes);
  return `${value} ${unit}`;
}

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

/** "Bugün 02:14", "Dün 02:08", "2 gün önce", "3 Kas 2026". */
export function recently(when: When): string {
  const days = Math.round((Date.parse(dayKey(when)) - Date.parse(today())) / dayMs);
  if (days === 0 || days === -1) return `${capital(relative.format(days, "day"))} ${clock(when)}`;
  return days > -7 && days < 0 ? relative.format(days, "day") : day(when);
}

const secondMs = 1000;
const minuteSeconds = 60;
const hourSeconds = 3600;

const unit = (name: "second" | "minute" | "hour") =>
  new Intl.NumberFormat(language, { style: "unit", unit: name, unitDisplay: "short", maximumFractionDigits: 0 });
const inSeconds = unit("second");
const inMinutes = unit("minute");
const inHours = unit("hour");

/** "38 sn", "4 dk", "2 sa". */
export function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / secondMs));
  if (seconds < 2 * minuteSeconds) return inSeconds.format(seconds);
  return seconds < 2 * hourSeconds
    ? inMinutes.format(Math.round(seconds / minuteSeconds))
    : inHours.format(Math.round(seconds / hourSeconds));
}

export function capital(text: string): string {
  const [first = "", ...rest] = text;
  return first.toLocaleUpperCase(language) + rest.join("");
}

/** By the rules of the page's language: Turkish has two letters for i. */
export const lower = (text: string): string => text.toLocaleLowerCase(language);

/** As people compare names: dotted and dotless i apart, accents after letters. */
export const collator = new Intl.Collator(language, { sensitivity: "base", numeric: true });

/** For finding: `ISPARTA`, `Isparta` and `ısparta` are one. */
export const folded = (text: string): string =>
  isPlain.test(text)
    ? text.toLowerCase()
    : text.toLocaleLowerCase("tr").normalize("NFD").replaceAll(/\p{M}/gu, "").replaceAll("ı", "i");

/** Most names of files are: nothing to take apart, and ten times as quick. */
const isPlain = /^[ -~]*$/;

/** First letters of the first and the last word. */
export function initials(name: string): string {
  const words = name
    .trim()
    .split(/\s+/)
    .filter((word) => /\p{L}/u.test(word));
  const ends = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return ends.map((word = "") => ([...word][0] ?? "").toLocaleUpperCase(language)).join("");
}
