/** Headers that say something about one file, where the body of a request is a file. */

import { closed, type Static, Type } from "../kernel/http/schema.ts";

/** As in RFC 3339, in UTC, with up to nine digits of a second's fraction. */
const isoTime = "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?Z$";

/** Mode of a file whose client says none. */
const defaultFileMode = 0o644;

const millisecondNanos = 1_000_000;
const nanoDigits = 9;

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
        description: `${when}When the file was changed last, as ISO 8601 with \`Z\`.`,
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

export function fileStatOf({ "X-Emanet-Mtime": mtime, "X-Emanet-Mode": mode }: FileHeaders): FileStat {
  return {
    mode: mode === undefined ? defaultFileMode : Number.parseInt(mode, 8),
    mtime: mtime === undefined ? null : { seconds: Math.floor(Date.parse(mtime) / 1000), nanos: nanosOf(mtime) },
  };
}

function nanosOf(time: string): number {
  return Number((/\.(\d+)Z$/.exec(time)?.[1] ?? "").padEnd(nanoDigits, "0"));
}

/** The same time in milliseconds. */
export function mtimeMsOf({ mtime }: FileStat): number | null {
  return mtime === null ? null : mtime.seconds * 1000 + Math.floor(mtime.nanos / millisecondNanos);
}
