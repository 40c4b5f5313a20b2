/** The entries of a restore, in the order of its archive: those of each of its roots, from any place on. */

import {
  DamageError,
  type DirectoryEntry,
  type FileReader,
  FormatError,
  findEntry,
  type NodeFaults,
  type TreeEntry,
} from "@emanet/engine";
import { type ArchiveFormat, entriesBelow, partsOf, type WalkedEntry } from "../snapshots/index.ts";
import { type ArchiveNames, namesOf } from "./layouts.ts";

const slash = Buffer.from("/");

/** The content that a restore reads: the root of its snapshot, and a reader of its vault. */
export interface RestoreContent {
  readonly reader: FileReader;
  readonly root: DirectoryEntry;
}

export interface RestoreTree extends RestoreContent {
  readonly format: ArchiveFormat;
  /** Null: everything. */
  readonly paths: readonly Buffer[] | null;
}

/** Where a walk goes on: in this root, behind this path, or with the root itself. */
export interface WalkPlace {
  readonly root: number;
  readonly after: Buffer | null;
}

/** Nodes of the tree that cannot be read. `at` is the directory that lacks entries, or a path of the restore that is not reached. */
export interface NodeDamage {
  readonly isLeftOut: (ordinal: number, at: Buffer) => boolean;
  /** A node cannot be read; its entries are left out. Throws to end the walk. */
  readonly onUnreadable: (ordinal: number, at: Buffer, error: DamageError | FormatError) => void;
}

export interface PlacedEntry extends WalkedEntry {
  readonly rootNumber: number;
}

/** Counts the names that were escaped, as far as the walk has come. */
export interface RestoreWalk {
  readonly names: ArchiveNames;
  readonly entries: AsyncGenerator<PlacedEntry>;
}

export function walkRestore(tree: RestoreTree, from: WalkPlace, damage: NodeDamage): RestoreWalk {
  const names = namesOf(tree.format);
  return { names, entries: entries(tree, from, damage, names) };
}

async function* entries(
  tree: RestoreTree,
  from: WalkPlace,
  damage: NodeDamage,
  { writeName }: ArchiveNames,
): AsyncGenerator<PlacedEntry> {
  const paths = tree.paths ?? [Buffer.alloc(0)];
  const unreadable = ({ source }: WalkedEntry) => faultsAt(damage, source);
  for (let rootNumber = from.root; rootNumber < paths.length; rootNumber++) {
    const root = await rootAt(tree, paths[rootNumber] ?? Buffer.alloc(0), writeName, damage);
    if (root === null) continue;
    const after = rootNumber === from.root ? from.after : null;
    const walk = { writeName, unreadable, ...(after !== null && { after }) };
    for await (const entry of entriesBelow(tree.reader, root, walk)) yield { ...entry, rootNumber };
  }
}

/** Reports the nodes that cannot be read as missing at this path. */
function faultsAt(damage: NodeDamage, at: Buffer): NodeFaults {
  return {
    isLeftOut: (ordinal) => damage.isLeftOut(ordinal, at),
    onUnreadable(ordinal, error) {
      if (!isDamage(error)) throw error;
      damage.onUnreadable(ordinal, at, error);
    },
  };
}

/** Content that is missing or wrong, and not a store that does not answer. */
export function isDamage(error: unknown): error is DamageError | FormatError {
  return error instanceof DamageError || error instanceof FormatError;
}

/** The entry at a path, with the path that it has in the archive. Null if a directory above it cannot be read as far as it. */
async function rootAt(
  { reader, root }: RestoreContent,
  path: Buffer,
  writeName: ArchiveNames["writeName"],
  damage: NodeDamage,
): Promise<WalkedEntry | null> {
  let isReached = true;
  const faults = faultsAt(
    {
      isLeftOut(ordinal, at) {
        if (damage.isLeftOut(ordinal, at)) isReached = false;
        return !isReached;
      },
      onUnreadable(ordinal, at, error) {
        isReached = false;
        damage.onUnreadable(ordinal, at, error);
      },
    },
    path,
  );
  let entry: TreeEntry = root;
  const written: Uint8Array[] = [];
  for (const name of partsOf(path)) {
    if (entry.type !== "directory") throw notThere();
    const { root: directory } = entry;
    const found: TreeEntry | null = await findEntry(reader.frames, directory, name, faults);
    if (!isReached) return null;
    if (found === null) throw notThere();
    if (written.length > 0) written.push(slash);
    const isTaken = async (other: Uint8Array) =>
      (await findEntry(reader.frames, directory, other, faultsAt(damage, path))) !== null;
    written.push(await writeName(name, isTaken));
    entry = found;
  }
  return { entry, source: path, path: Buffer.concat(written) };
}

function notThere(): Error {
  return new Error("a path of a restore is not in its snapshot");
}
