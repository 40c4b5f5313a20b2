/** Snapshots in the SQLite catalog: pages, and the bitmaps that marking starts from. */

import type { SnapshotInfo, SnapshotQuery } from "../catalog.ts";
import { maxSnapshotsPerPage } from "../catalog.ts";
import type { Sql } from "./rows.ts";
import { blob, snapshotInfoOf, text } from "./rows.ts";

/** Bitmaps read at a time: each has up to some hundred kilobytes. */
const bitmapsPerPage = 16;

export function snapshotPage(sql: Sql, query: SnapshotQuery): SnapshotInfo[] {
  const { source, after, newestFirst = false, limit = maxSnapshotsPerPage } = query;
  const [order, compare] = newestFirst ? ["desc", "<"] : ["asc", ">"];
  const conditions = [
    ...(source === undefined ? [] : ["source = ?"]),
    ...(after === undefined ? [] : [`(completed, id) ${compare} (?, ?)`]),
  ];
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  return sql(`select * from snapshots ${where} order by completed ${order}, id ${order} limit ?`)
    .all(
      ...(source === undefined ? [] : [source]),
      ...(after === undefined ? [] : [after.completedAt, after.id]),
      Math.min(limit, maxSnapshotsPerPage),
    )
    .map(snapshotInfoOf);
}

/** All bitmaps, page by page. */
export function* bitmapPages(sql: Sql): Generator<Uint8Array> {
  for (const [table, key] of [
    ["reach", "id"],
    ["uploads", "upload"],
  ]) {
    const page = sql(
      `select ${key} as key, reach from ${table} where ${key} > ? order by ${key} limit ${bitmapsPerPage}`,
    );
    for (let after = ""; ; ) {
      const rows = page.all(after);
      for (const row of rows) yield blob(row, "reach");
      const last = rows.at(-1);
      if (last === undefined) break;
      after = text(last, "key");
    }
  }
}
