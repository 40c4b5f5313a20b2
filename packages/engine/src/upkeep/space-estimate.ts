/** What a prune would free if some snapshots were deleted. Nothing is changed. */

import { allSnapshotRows } from "../catalog/all-snapshots.ts";
import { Bitmap } from "../format/bitmap.ts";
import type { Vault } from "../vault.ts";
import { computeLiveSet, type LiveSet } from "./live-set.ts";

export interface FreedSpace {
  /** Bytes of packs that a prune would delete, beside those that it would delete in any case. */
  readonly freedBytes: number;
  /** Dead bytes in packs that are still needed in part: a repack frees them. An estimate. */
  readonly repackBytes: number;
}

/** Compares the live set with and without the snapshots. Exact while no upload runs. */
export async function spaceFreedBy(vault: Pick<Vault, "catalog">, snapshots: ReadonlySet<string>): Promise<FreedSpace> {
  if (snapshots.size === 0) return { freedBytes: 0, repackBytes: 0 };
  const kept = new Bitmap();
  const all = new Bitmap();
  for await (const { id, reach } of allSnapshotRows(vault.catalog)) {
    const bits = Bitmap.decode(reach);
    all.or(bits);
    if (!snapshots.has(id)) kept.or(bits);
  }
  const before = await computeLiveSet(vault.catalog, all);
  const after = await computeLiveSet(vault.catalog, kept);
  return {
    freedBytes: deadBytes(after) - deadBytes(before),
    repackBytes: Math.round(wastedBytes(after) - wastedBytes(before)),
  };
}

function deadBytes({ packs }: LiveSet): number {
  let bytes = 0;
  for (const { neededFrameBytes, size } of packs.values()) if (neededFrameBytes === 0) bytes += size;
  return bytes;
}

function wastedBytes({ packs }: LiveSet): number {
  let bytes = 0;
  for (const { neededFrameBytes, deadSlotBytes, size } of packs.values())
    if (neededFrameBytes > 0) bytes += size - neededFrameBytes + deadSlotBytes;
  return bytes;
}
