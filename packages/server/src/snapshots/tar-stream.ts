/**
 * A snapshot, or a part of it, as a tar archive that is made while it is sent. Entries come in the order of the tree and have
 * their whole path, so that several parts can be unpacked into one folder.
 */

import type { DirectoryEntry, FileReader, TreeEntry } from "@emanet/engine";
import { type TarMember, tarEnd, tarHeaderOf, tarPaddingOf } from "../archives/index.ts";
import { type ArchiveRoot, entriesBelow, inLargeChunks, type PlannedMember, readAhead } from "./archive-entries.ts";

/**
 * Names of files with several names, by group: later names become hard links. Beyond this many groups a later name is a file
 * of its own.
 */
const maxLinkGroups = 100_000;

export function tarOf(reader: FileReader, root: ArchiveRoot, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  return inLargeChunks(blocks(reader, root, signal));
}

async function* blocks(reader: FileReader, root: ArchiveRoot, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const { member, bytes } of readAhead(reader, members(reader, root), signal)) {
    yield tarHeaderOf(member);
    yield* bytes;
    if (member.size > 0) yield tarPaddingOf(member.size);
  }
  yield tarEnd;
}

async function* members(reader: FileReader, root: ArchiveRoot): AsyncGenerator<PlannedMember<TarMember>> {
  const groups = new LinkGroups();
  for await (const found of entriesBelow(reader, root)) {
    const planned = tarMemberOf(found, groups.firstName(found));
    if (planned !== null) yield planned;
  }
}

const dot = Buffer.from(".");

/** A root that the archive of the client did not name. Unpacking must not change the folder that it is unpacked into. */
function isImplied({ mtimeSeconds, mtimeNanos }: DirectoryEntry): boolean {
  return mtimeSeconds === 0 && mtimeNanos === 0;
}

/** The member of an entry; null for a root that needs none. `firstName`: an earlier name of the same file. */
export function tarMemberOf({ entry, path }: ArchiveRoot, firstName: Buffer | null): PlannedMember<TarMember> | null {
  const { mode, uid, gid, mtimeSeconds, mtimeNanos } = entry;
  const common = { path, mode, uid, gid, mtimeSeconds, mtimeNanos, size: 0, target: null };
  if (entry.type === "directory") {
    if (path.length === 0 && isImplied(entry)) return null;
    return { member: { ...common, type: "directory", path: path.length === 0 ? dot : path }, content: null };
  }
  if (entry.type === "link")
    return { member: { ...common, type: "symbolic-link", target: entry.target }, content: null };
  if (firstName !== null) return { member: { ...common, type: "hard-link", target: firstName }, content: null };
  return { member: { ...common, type: "file", size: entry.size }, content: entry.size === 0 ? null : entry };
}

/** Files with several names. */
export class LinkGroups {
  readonly #first = new Map<string, Buffer>();

  /** The first name of the same file; null for the first, and for files with one name. */
  firstName({ entry, path }: ArchiveRoot): Buffer | null {
    const key = keyOf(entry);
    if (key === null) return null;
    const first = this.#first.get(key);
    if (first === undefined && this.#first.size < maxLinkGroups) this.#first.set(key, path);
    return first ?? null;
  }
}

function keyOf(entry: TreeEntry): string | null {
  if (entry.type !== "file" || entry.linkGroup === undefined) return null;
  return Buffer.concat([entry.linkGroup, entry.hash]).toString("latin1");
}
