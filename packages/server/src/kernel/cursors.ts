/**
 * Keyset pages. A *cursor* is the sort key of the last row of a page and its id, which breaks ties, so that rows with
 * equal timestamps are neither lost nor repeated. It is opaque and authenticated, and bound to the operation, the
 * account, the filters and the sort it was made for: with any other it is `invalid_cursor`.
 */

import { timingSafeEqual } from "node:crypto";
import canonicalize from "canonicalize";
import { closed, nullable, type TSchema, Type } from "./http/schema.ts";
import { Problem } from "./problems.ts";
import type { Secrets } from "./secrets.ts";

/** The contract's page sizes. */
export const maxPageSize = 100;
export const defaultPageSize = 25;

/** A sort key, an id and a 128-bit tag in base64url stay well below this. */
export const maxCursorLength = 512;

/** 128 bits: a cursor cannot be guessed in any number of requests that the limits let through. */
const tagBytes = 16;

/** Query parameters of every list; spread them into the endpoint's query schema. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: maxPageSize, format: "int32", description: "How many items a page has (25)." }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxCursorLength,
      pattern: "^[A-Za-z0-9_-]+$",
      description: "`next_cursor` of the previous page, unchanged.",
    }),
  ),
};

/** The body of a list. */
export function pageOf<T extends TSchema>(item: T, title: string) {
  return closed(
    {
      data: Type.Array(item, { maxItems: maxPageSize }),
      has_more: Type.Boolean(),
      next_cursor: nullable(Type.String({ minLength: 1, maxLength: maxCursorLength, pattern: "^[A-Za-z0-9_-]+$" })),
    },
    { title },
  );
}

/** Where a page begins: after the row with this sort key and id. */
export interface Position {
  readonly key: string;
  readonly id: string;
}

export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

/** What a cursor is good for; `filters` holds every query parameter but `limit` and `cursor`, and the account. */
export interface CursorBinding {
  readonly operation: string;
  readonly filters: unknown;
}

export interface Cursors {
  /** Where to begin and how many rows to read: one more than the page, to know whether there is a next one. */
  start(request: PageRequest, binding: CursorBinding): { after: Position | null; take: number };
  /** Cuts the rows that were read to a page. */
  page<Row, Item>(
    rows: readonly Row[],
    request: PageRequest,
    binding: CursorBinding,
    shape: { position: (row: Row) => Position; item: (row: Row) => Item },
  ): { data: Item[]; has_more: boolean; next_cursor: string | null };
}

export function createCursors(secrets: Secrets): Cursors {
  const tag = (binding: CursorBinding, position: string) =>
    secrets.digest("cursor", canonicalize([binding, position]) ?? "").subarray(0, tagBytes);
  return {
    start(request, binding) {
      const take = (request.limit ?? defaultPageSize) + 1;
      if (request.cursor === undefined) return { after: null, take };
      const bytes = Buffer.from(request.cursor, "base64url");
      const position = bytes.subarray(tagBytes).toString();
      const genuine = bytes.length > tagBytes && timingSafeEqual(bytes.subarray(0, tagBytes), tag(binding, position));
      if (!genuine) throw new Problem("invalid_cursor");
      const [key, id] = JSON.parse(position) as [string, string];
      return { after: { key, id }, take };
    },
    page(rows, request, binding, shape) {
      const shown = rows.slice(0, request.limit ?? defaultPageSize);
      const last = shown.at(-1);
      const hasMore = rows.length > shown.length;
      let next: string | null = null;
      if (hasMore && last !== undefined) {
        const { key, id } = shape.position(last);
        const position = JSON.stringify([key, id]);
        next = Buffer.concat([tag(binding, position), Buffer.from(position)]).toString("base64url");
      }
      return { data: shown.map(shape.item), has_more: hasMore, next_cursor: next };
    },
  };
}
