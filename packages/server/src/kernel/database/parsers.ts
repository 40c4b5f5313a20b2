/**
 * How PostgreSQL's values become JavaScript's, where `pg`'s own choice would lose something or differ between
 * machines. `rows.generated.ts` states the same choices as types; the two must agree.
 *
 * | PostgreSQL | JavaScript |
 * |---|---|
 * | bigint | number; a value beyond 2^53 throws rather than being rounded |
 * | numeric | string, exact |
 * | timestamptz | Date, to the millisecond; `infinity` throws |
 * | date | string `YYYY-MM-DD`: a Date would be a moment in the machine's own zone |
 * | bytea | Buffer |
 * | json, jsonb | the parsed value |
 */

import pg from "pg";

const { builtins } = pg.types;

/** Widened: the declared parameter lists the scalar types only. */
const getTypeParser: (oid: number, format?: "text" | "binary") => (text: string) => unknown = pg.types.getTypeParser;

/** bigint[] and text[]; `pg` names only the scalar types. */
const int8ArrayOid = 1016;
const textArrayOid = 1009;

const parseTextArray = getTypeParser(textArrayOid);
const parseTimestamp = getTypeParser(builtins.TIMESTAMPTZ);

const overrides: Readonly<Record<number, (text: string) => unknown>> = {
  [builtins.INT8]: safeInteger,
  [int8ArrayOid]: (text) => (parseTextArray(text) as (string | null)[]).map((item) => item && safeInteger(item)),
  [builtins.DATE]: (text) => text,
  [builtins.TIMESTAMPTZ]: moment,
};

/** For the `types` setting of a `pg` pool or client. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    (format === "binary" ? undefined : overrides[oid]) ?? getTypeParser(oid, format),
};

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError("a bigint from the database does not fit a number exactly");
  return value;
}

function moment(text: string): Date {
  const value = parseTimestamp(text);
  if (!(value instanceof Date)) throw new RangeError("a timestamptz from the database is not a moment");
  return value;
}
