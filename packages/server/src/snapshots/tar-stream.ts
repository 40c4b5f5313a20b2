/**
 * A snapshot, or a part of it, as a tar archive that is made while it is sent. Entries come in the order of the tree and have
 * their whole path, so that several parts can be unpacked into one folder.
 */

import type { DirectoryEntry, FileEntry, FileReader } from "@emanet/engine";
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
  const groups = new Map<string, Buffer>();
  for await (const found of entriesBelow(reader, root)) {
    const { entry, path } = found;
    if (path.length > 0 || entry.type !== "directory") yield planned(found, groups);
    else if (!isImplied(entry)) yield planned({ entry, path: dot }, groups);
  }
}

const dot = Buffer.from(".");

/** A root that the archive of the client did not name. Unpacking must not change the folder that it is unpacked into. */
function isImplied({ mtimeSeconds, mtimeNanos }: DirectoryEntry): boolean {
  return mtimeSeconds === 0 && mtimeNanos === 0;
}

function planned({ entry, path }: ArchiveRoot, groups: Map<string, Buffer>): PlannedMember<TarMember> {
  const { mode, uid, gid, mtimeSeconds, mtimeNanos } = entry;
  const common = { path, mode, uid, gid, mtimeSeconds, mtimeNanos, size: 0, target: null };
  if (entry.type === "directory") return { member: { ...common, type: "directory" }, content: null };
  if (entry.type === "link")
    return { member: { ...common, type: "symbolic-link", target: entry.target }, content: null };
  const first = firstName(entry, path, groups);
  if (first !== null) return { member: { ...common, type: "hard-link", target: first }, content: null };
  return { member: { ...common, type: "file", size: entry.size }, content: entry.size === 0 ? null : entry };
}

/** The first name of the same file, or null for the first. */
function firstName({ linkGroup, hash }: FileEntry, path: Buffer, groups: Map<string, Buffer>): Buffer | null {
  if (linkGroup === undefined) return null;
  const key = Buffer.concat([linkGroup, hash]).toString("latin1");
  const first = groups.get(key);
  if (first === undefined && groups.size < maxLinkGroups) groups.set(key, path);
  return first ?? null;
}
