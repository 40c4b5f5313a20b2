/** The content of a small catalog as arrays, for tests. */

import { allSnapshotRows } from "../catalog/all-snapshots.ts";
import type { Catalog, FrameRow, SnapshotRow } from "../catalog/catalog.ts";

/** All snapshots with their bitmaps, the oldest first. */
export function listSnapshots(catalog: Pick<Catalog, "snapshotPage" | "snapshot">): Promise<SnapshotRow[]> {
  return Array.fromAsync(allSnapshotRows(catalog));
}

/** All frames with their block lists. */
export async function* allFrameRows(catalog: Pick<Catalog, "allFrames" | "frames">): AsyncGenerator<FrameRow> {
  for await (const { frame } of catalog.allFrames()) {
    const [row] = await catalog.frames([frame]);
    if (row !== null && row !== undefined) yield row;
  }
}
