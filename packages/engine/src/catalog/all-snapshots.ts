/** Goes through the snapshots of a catalog page by page. */

import type { ReaderCatalog, SnapshotInfo, SnapshotKey, SnapshotQuery, SnapshotRow } from "./catalog.ts";

/** All snapshots without their bitmaps, in the order of the pages. One page is in memory at a time. */
export async function* allSnapshots(
  catalog: Pick<ReaderCatalog, "snapshotPage">,
  query: Omit<SnapshotQuery, "after"> = {},
): AsyncGenerator<SnapshotInfo> {
  for (let after: SnapshotKey | undefined; ; ) {
    const page = await catalog.snapshotPage({ ...query, after });
    yield* page;
    after = page.at(-1);
    if (after === undefined) return;
  }
}

/** All snapshots with their bitmaps, one at a time. One that is deleted meanwhile is left out. */
export async function* allSnapshotRows(
  catalog: Pick<ReaderCatalog, "snapshotPage" | "snapshot">,
): AsyncGenerator<SnapshotRow> {
  for await (const { id } of allSnapshots(catalog)) {
    const row = await catalog.snapshot(id);
    if (row !== null) yield row;
  }
}
