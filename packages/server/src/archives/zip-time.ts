/**
 * Times of zip entries. A *DOS time* has two-second steps from 1980 on and no zone: programs write the time of their own wall clock.
 * Here it is the time of Istanbul, where the customers are. Extra fields have the time in UTC: seconds (Info-ZIP's "UT"), or units of
 * 100 nanoseconds since 1601 (NTFS).
 */

import type { Moment } from "./extended-header.ts";
import { type ExtraFields, extraIds } from "./zip-format.ts";

const zone = "Europe/Istanbul";

/** Since this second (27 March 2016) the zone is three hours ahead of UTC, all year. */
const sameOffsetSince = 1_459_040_400;
const offsetSince2016 = 3 * 3600;

const firstYear = 1980;
const lastYear = 2107;

const ticksPerSecond = 10_000_000n;
const nanosPerTick = 100;
const secondsFrom1601To1970 = 11_644_473_600n;

/** In the NTFS field: reserved bytes, then attributes; the first one has three times. */
const ntfsReservedBytes = 4;
const ntfsTimesTag = 1;
const ntfsTimesBytes = 24;
const attributeHeaderBytes = 4;

const hasModificationTime = 0x01;

/** In Info-ZIP's field: a byte of flags, and the modification as seconds. */
const smallTimeBytes = 5;

const zoneFormat = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });

/** Offsets that were asked for, by hour: asking takes ten microseconds. */
const knownOffsets = new Map<number, number>();
const maxKnownOffsets = 10_000;

/** Seconds that the zone is ahead of UTC. */
function offsetAt(seconds: number): number {
  if (seconds >= sameOffsetSince) return offsetSince2016;
  const hour = Math.floor(seconds / 3600);
  const known = knownOffsets.get(hour);
  if (known !== undefined) return known;
  const name = zoneFormat.formatToParts(seconds * 1000).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, hours = "2", minutes = "0"] = /^GMT\+(\d+):(\d+)/.exec(name) ?? [];
  const offset = Number(hours) * 3600 + Number(minutes) * 60;
  if (knownOffsets.size >= maxKnownOffsets) knownOffsets.clear();
  knownOffsets.set(hour, offset);
  return offset;
}

/** Of an entry: the exact time of its extra fields if it has any, else its DOS time. */
export function readTime(extras: ExtraFields, dosDate: number, dosTime: number): Moment {
  const small = smallTime(extras.get(extraIds.time));
  const ntfs = ntfsTime(extras.get(extraIds.ntfs));
  // The two agree, or the one with seconds counts: most programs read that one.
  if (ntfs !== null && (small === null || small === ntfs.seconds)) return ntfs;
  return { seconds: small ?? fromDosTime(dosDate, dosTime), nanos: 0 };
}

function smallTime(field: Buffer | undefined): number | null {
  if (field === undefined || field.length < smallTimeBytes) return null;
  return ((field[0] ?? 0) & hasModificationTime) === 0 ? null : field.readInt32LE(1);
}

function ntfsTime(field: Buffer | undefined): Moment | null {
  if (field === undefined) return null;
  for (let at = ntfsReservedBytes; at + attributeHeaderBytes <= field.length; ) {
    const length = field.readUInt16LE(at + 2);
    const start = at + attributeHeaderBytes;
    if (field.readUInt16LE(at) === ntfsTimesTag && length >= ntfsTimesBytes && start + length <= field.length) {
      const ticks = field.readBigUInt64LE(start);
      const seconds = Number(ticks / ticksPerSecond - secondsFrom1601To1970);
      return ticks === 0n ? null : { seconds, nanos: Number(ticks % ticksPerSecond) * nanosPerTick };
    }
    at = start + length;
  }
  return null;
}

/** Fields that no calendar has (a month 0, as some programs write) are moved to the nearest that it has. */
function fromDosTime(date: number, time: number): number {
  const year = firstYear + (date >> 9);
  const month = Math.min(Math.max((date >> 5) & 0x0f, 1), 12);
  const day = Math.max(date & 0x1f, 1);
  const clock = Math.min(time >> 11, 23) * 3600 + Math.min((time >> 5) & 0x3f, 59) * 60 + (time & 0x1f) * 2;
  const local = Date.UTC(year, month - 1, day) / 1000 + clock;
  // The offset of a time that is near enough, and then of the time itself.
  const guess = local - offsetAt(local - offsetSince2016);
  return local - offsetAt(guess);
}

/** The nearest DOS time. */
export function toDosTime(seconds: number): { readonly date: number; readonly time: number } {
  const first = Date.UTC(firstYear, 0) / 1000;
  const last = Date.UTC(lastYear + 1, 0) / 1000 - 1;
  const shifted = seconds < first - offsetSince2016 || seconds > last ? seconds : seconds + offsetAt(seconds);
  const local = new Date(Math.min(Math.max(shifted, first), last) * 1000);
  return {
    date: dosDate(local.getUTCFullYear(), local.getUTCMonth() + 1, local.getUTCDate()),
    time: dosClock(local.getUTCHours(), local.getUTCMinutes(), local.getUTCSeconds()),
  };
}

function dosDate(year: number, month: number, day: number): number {
  return ((year - firstYear) << 9) | (month << 5) | day;
}

function dosClock(hours: number, minutes: number, seconds: number): number {
  return (hours << 11) | (minutes << 5) | (seconds >> 1);
}

/** The extra fields of a time: seconds where they fit, and the NTFS field where seconds are not exact. */
export function timeFields(seconds: number, nanos: number): readonly (readonly [id: number, value: Buffer])[] {
  const fields: [number, Buffer][] = [];
  const isSmall = seconds >= -(2 ** 31) && seconds < 2 ** 31;
  if (isSmall) {
    const field = Buffer.alloc(smallTimeBytes);
    field[0] = hasModificationTime;
    field.writeInt32LE(seconds, 1);
    fields.push([extraIds.time, field]);
  }
  const ticks = (BigInt(seconds) + secondsFrom1601To1970) * ticksPerSecond + BigInt(Math.floor(nanos / nanosPerTick));
  if ((!isSmall || nanos !== 0) && ticks > 0n && ticks < 2n ** 63n) fields.push([extraIds.ntfs, ntfsField(ticks)]);
  return fields;
}

/** Of the three times only the first, the modification, is known; the others say the same. */
function ntfsField(ticks: bigint): Buffer {
  const field = Buffer.alloc(ntfsReservedBytes + attributeHeaderBytes + ntfsTimesBytes);
  field.writeUInt16LE(ntfsTimesTag, ntfsReservedBytes);
  field.writeUInt16LE(ntfsTimesBytes, ntfsReservedBytes + 2);
  for (let at = field.length - ntfsTimesBytes; at < field.length; at += 8) field.writeBigUInt64LE(ticks, at);
  return field;
}
