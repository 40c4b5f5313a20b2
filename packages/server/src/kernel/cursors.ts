/**
 * Keyset pages. A *cursor* is the sort key of the last row of a page and its id, which breaks ties, so that rows with
 * equal timestamps are neither lost nor repeated. It is opaque and authenticated, and bound to the operation, the
 * account, the filters and the sort it was made for: with any other it is `invalid_cursor`.
 */

import { timingSafeEqual } from "node:crypto";
import canonicalize from "canonicalize";
import { type SelectQueryBuilder, sql } from "kysely";
import { closed, nullable, oneOf, type TSchema, Type } from "./http/schema.ts";
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
    Type.Integer({
      minimum: 1,
      maximum: maxPageSize,
      format: "int32",
      description: "Number of items per page (default 25).",
    }),
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

/** The orders of a list: columns of its rows, with `-` in front for "greatest first". */
export interface Sorting<Order extends string = string> {
  /** The first is the list's own order, without the parameter. */
  readonly orders: readonly [Order, ...Order[]];
  /** To be spread into the endpoint's query schema, beside {@link pageQuery}. */
  readonly query: { readonly sort: ReturnType<typeof sortParameter<Order>> };
  /** Orders, without their sign, whose key is a text in a column of another name. The others are columns of moments. */
  readonly textKeys: Readonly<Record<string, string>>;
}

/**
 * Declares the orders that a list has. Each needs an index on its column and `id`.
 *
 * @example
 * const sorting = sortable("-created_at", "created_at");
 * query: closed({ ...pageQuery, ...sorting.query })
 */
export function sortable<const Order extends string>(first: Order, ...others: Order[]): Sorting<Order> {
  const orders = [first, ...others] as const;
  return { orders, query: { sort: sortParameter(orders) }, textKeys: {} };
}

function sortParameter<Order extends string>(orders: readonly [Order, ...Order[]]) {
  const own = `\`${orders[0]}\``;
  return Type.Optional(oneOf<readonly Order[]>(orders, `Order, \`-\` for the greatest first (${own}).`));
}

/** Lists by when their rows were made. */
export const newestFirst = sortable("-created_at", "created_at");
export const oldestFirst = sortable("created_at", "-created_at");

/** The body of a list. */
export function pageOf<T extends TSchema>(item: T, title: string, maxItems = maxPageSize) {
  return closed(pageFields(item, maxItems), { title });
}

/** What every page has; to be spread into the body of a list that says more. */
export function pageFields<T extends TSchema>(item: T, maxItems = maxPageSize) {
  return {
    data: Type.Array(item, { maxItems }),
    has_more: Type.Boolean(),
    next_cursor: nullable(Type.String({ minLength: 1, maxLength: maxCursorLength, pattern: "^[A-Za-z0-9_-]+$" })),
  };
}

/** Where a page begins: after the row with this sort key and id. */
export interface Position {
  readonly key: string;
  readonly id: string;
}

export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
  readonly sort?: string;
}

/**
 * The request that a cursor is valid for. `filters` holds the account and every query parameter except those of paging. The
 * requested order is added automatically.
 */
export interface CursorBinding {
  readonly operation: string;
  readonly filters: unknown;
  readonly sorting: Sorting;
}

/** What a store reads for a page: {@link pageRows} makes the query of it. */
export interface PageStart {
  readonly after: Position | null;
  /** One more than the page, to know whether there is a next one. */
  readonly take: number;
  readonly column: string;
  /** What the key in the column is; `timestamptz` when absent. */
  readonly type?: "timestamptz" | "text";
  readonly descending: boolean;
}

export interface Cursors {
  start(request: PageRequest, binding: CursorBinding): PageStart;
  /** A cursor for the page that begins after this row, for lists that find out themselves where a page ends. */
  after(position: Position, request: PageRequest, binding: CursorBinding): string;
  /** Cuts the rows that were read to a page. */
  page<Row extends { readonly id: string }, Item>(
    rows: readonly Row[],
    request: PageRequest,
    binding: CursorBinding,
    item: (row: Row) => Item,
  ): { data: Item[]; has_more: boolean; next_cursor: string | null };
}

/** Reads the rows of a page, in its order, ties by id. The column is named in the spec. */
export async function pageRows<DB, TB extends keyof DB, Row>(
  select: SelectQueryBuilder<DB, TB, Row>,
  { after, take, column, type = "timestamptz", descending }: PageStart,
  /** The table's name, where the query has several. */
  table?: string,
): Promise<Row[]> {
  const prefix = table === undefined ? "" : `${table}.`;
  const key = sql.ref(`${prefix}${column}`);
  const id = sql.ref(`${prefix}id`);
  const direction = descending ? "desc" : "asc";
  const begun =
    after === null
      ? select
      : select.where(
          sql<boolean>`(${key}, ${id}) ${sql.raw(descending ? "<" : ">")} (${after.key}::${sql.raw(type)}, ${after.id}::uuid)`,
        );
  return begun.orderBy(key, direction).orderBy(id, direction).limit(take).execute();
}

/** The order that a request asks for, or the list's own. */
function orderOf({ sort }: PageRequest, { sorting }: CursorBinding): Pick<PageStart, "column" | "type" | "descending"> {
  const order = sort ?? sorting.orders[0];
  const name = order.replace(/^-/, "");
  const textColumn = sorting.textKeys[name];
  const key = textColumn === undefined ? { column: name } : { column: textColumn, type: "text" as const };
  return { ...key, descending: order.startsWith("-") };
}

function positionOf(row: { readonly id: string }, column: string): Position {
  const value = (row as Readonly<Record<string, unknown>>)[column];
  return { key: value instanceof Date ? value.toISOString() : String(value), id: row.id };
}

export function createCursors(secrets: Secrets): Cursors {
  const tag = (request: PageRequest, binding: CursorBinding, position: string) => {
    const { operation, filters } = binding;
    const bound = [operation, filters, { ...orderOf(request, binding) }, position];
    return secrets.digest("cursor", canonicalize(bound) ?? "").subarray(0, tagBytes);
  };
  const after = ({ key, id }: Position, request: PageRequest, binding: CursorBinding) => {
    const position = JSON.stringify([key, id]);
    return Buffer.concat([tag(request, binding, position), Buffer.from(position)]).toString("base64url");
  };
  return {
    after,
    start(request, binding) {
      const read = { take: (request.limit ?? defaultPageSize) + 1, ...orderOf(request, binding) };
      if (request.cursor === undefined) return { after: null, ...read };
      const bytes = Buffer.from(request.cursor, "base64url");
      const position = bytes.subarray(tagBytes).toString();
      const genuine =
        bytes.length > tagBytes && timingSafeEqual(bytes.subarray(0, tagBytes), tag(request, binding, position));
      if (!genuine) throw new Problem("invalid_cursor");
      const [key, id] = JSON.parse(position) as [string, string];
      return { after: { key, id }, ...read };
    },
    page(rows, request, binding, item) {
      const shown = rows.slice(0, request.limit ?? defaultPageSize);
      const last = shown.at(-1);
      const hasMore = rows.length > shown.length;
      const next =
        hasMore && last !== undefined
          ? after(positionOf(last, orderOf(request, binding).column), request, binding)
          : null;
      return { data: shown.map(item), has_more: hasMore, next_cursor: next };
    },
  };
}
