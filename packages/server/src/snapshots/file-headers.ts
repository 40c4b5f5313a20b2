/** Headers that say something about one file, where the body of a request is a file. */

import { closed, type Static, Type } from "../kernel/http/schema.ts";
import { Problem } from "../kernel/problems.ts";

/** As in RFC 3339, in UTC, with up to nine digits of a second's fraction. */
const isoTime = "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?Z$";

/** Mode of a file whose client says none. */
const defaultFileMode = 0o644;

const millisecondNanos = 1_000_000;
const nanoDigits = 9;

/** Of `2026-11-16`. */
const dayLength = 10;

/** The headers' schemas. `when` begins the descriptions, where they are not always taken. */
export function fileHeadersOf(digests: string, when = "") {
  return closed({
    "Content-Digest": Type.Optional(
      Type.String({
        ...{ maxLength: 500, pattern: "^[ -~]*$" },
        description: `RFC 9530. ${digests} compared with the body; \`content_mismatch\` if it differs.`,
      }),
    ),
    // No `format`: openapi-python-client makes no client for a header with a time.
    "X-Emanet-Mtime": Type.Optional(
      Type.String({
        ...{ maxLength: 30, pattern: isoTime, examples: ["2026-11-16T09:30:00Z"] },
        description: `${when}When the file was changed last, as ISO 8601 with \`Z\`; \`invalid_header\` for a day that does not exist.`,
      }),
    ),
    "X-Emanet-Mode": Type.Optional(
      Type.String({ maxLength: 5, pattern: "^0?[0-7]{3,4}$", description: `${when}Its permissions, octal.` }),
    ),
  });
}

export const fileHeaders = fileHeadersOf("`sha-256` and `sha-512` digests are");

export interface FileStat {
  readonly mode: number;
  /** Null: the client said none. */
  readonly mtime: { readonly seconds: number; readonly nanos: number } | null;
}

type FileHeaders = Static<typeof fileHeaders>;

/** Throws `invalid_header` for a day that does not exist. */
export function fileStatOf({ "X-Emanet-Mtime": mtime, "X-Emanet-Mode": mode }: FileHeaders): FileStat {
  return {
    mode: mode === undefined ? defaultFileMode : Number.parseInt(mode, 8),
    mtime: mtime === undefined ? null : { seconds: secondsOf(mtime), nanos: nanosOf(mtime) },
  };
}

function secondsOf(time: string): number {
  const ms = Date.parse(time);
  // `Date` takes 30 February for 2 March. There is no year 0000.
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, dayLength) === time.slice(0, dayLength);
  if (!isDay || time.startsWith("0000")) throw new Problem("invalid_header");
  return Math.floor(ms / 1000);
}

function nanosOf(time: string): number {
  return Number((/\.(\d+)Z$/.exec(time)?.[1] ?? "").padEnd(nanoDigits, "0"));
}

/** The same time in milliseconds. */
export function mtimeMsOf({ mtime }: FileStat): number | null {
  return mtime === null ? null : mtime.seconds * 1000 + Math.floor(mtime.nanos / millisecondNanos);
}
