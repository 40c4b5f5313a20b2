/**
 * Extended headers (pax): records `length key=value\n` that replace fields of the next entry, or of all entries after
 * them. Values are bytes, because names may be in any encoding.
 */

import { InvalidArchiveError } from "./invalid-archive.ts";

const space = 0x20;
const equals = 0x3d;
const newline = 0x0a;
const digitZero = 0x30;
const digitNine = 0x39;

/** A record's length has at most this many digits: extended headers are far below ten megabytes. */
const maxLengthDigits = 7;

const nanosPerSecond = 1_000_000_000;
const nanosDigits = 9;

/** Only these are kept. An empty value takes back what a global header said. */
const keptKeys: ReadonlySet<string> = new Set(["path", "linkpath", "size", "mtime", "uid", "gid"]);
const sparsePrefix = "GNU.sparse.";

export interface Moment {
  readonly seconds: number;
  readonly nanos: number;
}

/** The records of a header that concern us, in order. GNU's sparse map of version 0.0 repeats its keys. */
export type ExtendedRecords = readonly (readonly [key: string, value: Buffer])[];

export function readExtendedHeader(body: Buffer): ExtendedRecords {
  const records: [string, Buffer][] = [];
  for (let at = 0; at < body.length; ) {
    const { end, key, value } = readRecord(body, at);
    if (keptKeys.has(key) || key.startsWith(sparsePrefix)) records.push([key, Buffer.from(value)]);
    at = end;
  }
  return records;
}

function readRecord(body: Buffer, start: number): { end: number; key: string; value: Buffer } {
  let length = 0;
  let at = start;
  for (; body[at] !== space; at++) {
    const digit = body[at] ?? 0;
    if (digit < digitZero || digit > digitNine || at - start >= maxLengthDigits) throw malformed();
    length = length * 10 + (digit - digitZero);
  }
  const end = start + length;
  const keyEnd = body.indexOf(equals, at + 1);
  // Beyond the end of the body there is no newline.
  if (at === start || body[end - 1] !== newline || keyEnd < 0 || keyEnd >= end) throw malformed();
  return { end, key: body.toString("latin1", at + 1, keyEnd), value: body.subarray(keyEnd + 1, end - 1) };
}

/** A whole number that is not negative. */
export function readDecimal(value: Buffer): number {
  const text = value.toString("latin1");
  const number = Number(text);
  if (!/^\d{1,19}$/.test(text)) throw malformed();
  if (!Number.isSafeInteger(number)) throw new InvalidArchiveError("number_out_of_range");
  return number;
}

/** Seconds with a fraction, also before 1970: `-1.5` is a second and a half before. */
export function readMoment(value: Buffer): Moment {
  const found = /^(-?)(\d{1,19})(?:\.(\d*))?$/.exec(value.toString("latin1"));
  if (found === null) throw malformed();
  const [, sign = "", whole = "", fraction = ""] = found;
  const nanos = Number(fraction.slice(0, nanosDigits).padEnd(nanosDigits, "0"));
  const seconds = Number(whole);
  if (!Number.isSafeInteger(seconds)) throw new InvalidArchiveError("number_out_of_range");
  if (sign === "") return { seconds, nanos };
  // Nanoseconds always count forward from the second before.
  return nanos === 0
    ? { seconds: seconds === 0 ? 0 : -seconds, nanos }
    : { seconds: -seconds - 1, nanos: nanosPerSecond - nanos };
}

function malformed(): InvalidArchiveError {
  return new InvalidArchiveError("malformed_extended_header");
}
