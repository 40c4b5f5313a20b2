/** Walks the tree of a snapshot, and finds entries by path. */

import type { DirectoryEntry, TreeEntry } from "@emanet/engine/read";
import { entriesOf, findEntry, rootEntry } from "@emanet/engine/read";
import { CommandFailure } from "../failure.ts";
import { safeText } from "../output/safe-text.ts";
import type { OpenSnapshot } from "../places/place.ts";

export interface PathEntry {
  readonly path: Buffer;
  readonly entry: TreeEntry;
}

const slash = Buffer.from("/");
const nothing = Buffer.alloc(0);

export async function rootOf({ reader, root }: OpenSnapshot): Promise<DirectoryEntry> {
  return rootEntry(reader, { rootOrdinal: root.ordinal, rootId: root.id });
}

/** The entry at a path, which may begin and end with a slash. Null if there is none. */
export async function entryAt(snapshot: OpenSnapshot, path: string | Uint8Array): Promise<PathEntry | null> {
  let entry: TreeEntry = await rootOf(snapshot);
  const names = splitPath(path);
  for (const name of names) {
    const found: TreeEntry | null =
      entry.type === "directory" ? await findEntry(snapshot.reader, entry.root, name) : null;
    if (found === null) return null;
    entry = found;
  }
  return { path: joinPath(names), entry };
}

export async function requireEntry(snapshot: OpenSnapshot, path: string): Promise<PathEntry> {
  const found = await entryAt(snapshot, path);
  if (found !== null) return found;
  throw new CommandFailure(`${safeText(path)} is not in the snapshot`);
}

/** The entries of a directory; with `deep`, everything below it too. */
export async function* walk(snapshot: OpenSnapshot, from: PathEntry, deep: boolean): AsyncGenerator<PathEntry> {
  if (from.entry.type !== "directory") {
    yield from;
    return;
  }
  for await (const entry of entriesOf(snapshot.reader, from.entry.root)) {
    const child = { path: joinPath([from.path, Buffer.from(entry.name)]), entry };
    yield child;
    if (deep && entry.type === "directory") yield* walk(snapshot, child, true);
  }
}

export function splitPath(path: string | Uint8Array): readonly Buffer[] {
  const parts: Buffer[] = [];
  const bytes = Buffer.from(path as string);
  for (let start = 0; start <= bytes.length; ) {
    const next = bytes.indexOf(slash, start);
    const end = next < 0 ? bytes.length : next;
    const part = bytes.subarray(start, end);
    if (part.length > 0 && !part.equals(Buffer.from("."))) parts.push(part);
    start = end + 1;
  }
  return parts;
}

export function joinPath(names: readonly Buffer[]): Buffer {
  const parts = names.filter((name) => name.length > 0);
  return parts.length === 0 ? nothing : Buffer.concat(parts.flatMap((name, i) => (i === 0 ? [name] : [slash, name])));
}
