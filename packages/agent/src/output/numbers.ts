/** Numbers as people read them: bytes, durations, times. */

import type { Language } from "../config.ts";

const units = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

/** 1 234 567 as `1.2 MB`, in Turkish `1,2 MB`. */
export function bytesText(bytes: number, language: Language): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${numberText(value, language, digits)} ${units[unit]}`;
}

export function numberText(value: number, language: Language, digits = 0): string {
  const [group, point] = language === "tr" ? [".", ","] : [",", "."];
  // Not by `toLocaleString`: loading its data takes as long as a call to the service.
  const [whole = "", fraction] = value.toFixed(digits).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return fraction === undefined ? grouped : `${grouped}${point}${fraction}`;
}

/** `4 s`, `3 min 5 s`, `2 h 10 min`; in Turkish `4 sn`, `3 dk 5 sn`, `2 sa 10 dk`. */
export function durationText(ms: number, language: Language): string {
  const [hour, minute, second] = language === "tr" ? ["sa", "dk", "sn"] : ["h", "min", "s"];
  if (ms < 10_000) return `${numberText(ms / 1000, language, 1)} ${second}`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} ${second}`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} ${minute} ${seconds % 60} ${second}`;
  return `${Math.floor(minutes / 60)} ${hour} ${minutes % 60} ${minute}`;
}

/** A time on this machine's clock and in its zone: `2026-11-17 02:00:05`, in Turkish `17.11.2026 02:00:05`. */
export function timeText(ms: number, language: Language): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const [year, month, day] = [String(at.getFullYear()), two(at.getMonth() + 1), two(at.getDate())];
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return language === "tr" ? `${day}.${month}.${year} ${clock}` : `${year}-${month}-${day} ${clock}`;
}
