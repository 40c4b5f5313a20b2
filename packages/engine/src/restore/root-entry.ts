/** Finds the tree entry of a snapshot's root directory. Every reader of a snapshot starts here. */

import type { SnapshotRow } from "../catalog/catalog.ts";
import type { Reference, TreeEntry } from "../format/tree-entry.ts";
import { entriesOf } from "../format/tree-reader.ts";
import type { FrameReader } from "./frame-reader.ts";
import { DamageError } from "./frame-reader.ts";

/** The directory entry at the root of a snapshot. It holds the mode, owner and time of the root directory. */
export async function rootEntry(
  reader: FrameReader,
  snapshot: Pick<SnapshotRow, "rootOrdinal" | "rootId">,
): Promise<TreeEntry & { type: "directory" }> {
  const root: Reference = { ordinal: snapshot.rootOrdinal, id: snapshot.rootId };
  for await (const entry of entriesOf(reader, root)) if (entry.type === "directory") return entry;
  throw new DamageError(0, "the snapshot's root is not a directory");
}
