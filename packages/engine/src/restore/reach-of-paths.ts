/**
 * The items that a part of a snapshot needs: everything below some paths, and the nodes between the root and each path. Who reads only
 * these paths needs no other item.
 */

import { Bitmap } from "../format/bitmap.ts";
import type { FileContent, Reference, TreeEntry } from "../format/tree-entry.ts";
import { entriesOf, findEntry, type NodeFaults, type NodeSource, segmentsOf } from "../format/tree-reader.ts";

export interface PathReach {
  /** Of the snapshot's tree. */
  readonly root: Reference;
  /** Each as its names from the root on. */
  readonly paths: readonly (readonly Uint8Array[])[];
  /** Nodes below the paths that cannot be read; the walk goes on behind them, unless this throws. */
  readonly onUnreadable: NodeFaults["onUnreadable"];
  readonly signal?: AbortSignal;
}

/** Null if a path is not in the snapshot. Rejects when a node above a path cannot be read. */
export async function reachOfPaths(source: NodeSource, { root, paths, ...walk }: PathReach): Promise<Bitmap | null> {
  const reach = new Bitmap();
  // A node that cannot be read belongs to it too: its reader must find that out.
  const recorded: NodeSource = {
    node(reference) {
      walk.signal?.throwIfAborted();
      reach.add(reference.ordinal);
      return source.node(reference);
    },
    prefetch: async (references) => source.prefetch?.(references),
  };
  const faults = { isLeftOut: () => false, onUnreadable: walk.onUnreadable };
  for (const names of paths) {
    let entry = await firstEntry(recorded, root);
    for (const name of names) entry = entry?.type === "directory" ? await findEntry(recorded, entry.root, name) : null;
    if (entry === null) return null;
    await addBelow(recorded, entry, reach, faults);
  }
  return reach;
}

/** The root directory of a snapshot, which is the only entry of its root node. */
async function firstEntry(source: NodeSource, root: Reference): Promise<TreeEntry | null> {
  for await (const entry of entriesOf(source, root)) return entry;
  return null;
}

/** Directories that wait are on a list and not on the stack: a tree can be deep. */
async function addBelow(source: NodeSource, top: TreeEntry, reach: Bitmap, faults: NodeFaults): Promise<void> {
  const waiting: TreeEntry[] = [top];
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (entry.type === "file") await addContent(source, entry.content, reach, faults);
    else if (entry.type === "directory")
      for await (const below of entriesOf(source, entry.root, undefined, faults)) {
        if (below.type === "directory") waiting.push(below);
        else if (below.type === "file") await addContent(source, below.content, reach, faults);
      }
  }
}

async function addContent(
  source: NodeSource,
  content: FileContent,
  reach: Bitmap,
  { onUnreadable }: NodeFaults,
): Promise<void> {
  if (content.kind === "part") reach.add(content.segment.ordinal);
  try {
    for await (const { ordinal } of segmentsOf(source, content)) reach.add(ordinal);
  } catch (error) {
    onUnreadable(content.kind === "list" ? content.root.ordinal : 0, error);
  }
}
