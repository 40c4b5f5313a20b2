/**
 * A snapshot, or a part of it, as a tar archive that is made while it is sent. Entries come in the order of the tree and have
 * their whole path, so that several parts can be unpacked into one folder.
 */

import { type DirectoryEntry, entriesOf, type FileEntry, type FileReader, type TreeEntry } from "@emanet/engine";
import { type TarMember, tarEnd, tarHeaderOf, tarPaddingOf } from "../archives/index.ts";

/**
 * Names of files with several names, by group: later names become hard links. Beyond this many groups a later name is a file
 * of its own.
 */
const maxLinkGroups = 100_000;

/** Small files are read ahead: each needs some round trips to database and store, and few bytes. */
const readAheadFiles = 16;
const readAheadBytes = 256 * 1024;

/** Headers, small contents and paddings are collected to this size: each chunk of an answer is a TLS record at least. */
const chunkBytes = 64 * 1024;

/** A member of the archive, and for a file with content the entry to read it from. */
interface PlannedMember {
  readonly member: TarMember;
  readonly file: FileEntry | null;
}

export async function* tarOf(
  reader: FileReader,
  { entry, path }: { readonly entry: TreeEntry; readonly path: Buffer },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const groups = new Map<string, Buffer>();
  const small = new SmallChunks();
  for await (const { member, bytes } of readAhead(reader, members(reader, entry, path, groups), signal)) {
    yield* small.add(tarHeaderOf(member));
    for await (const chunk of bytes) yield* small.add(chunk);
    if (member.size > 0) yield* small.add(tarPaddingOf(member.size));
  }
  yield* small.add(tarEnd);
  yield* small.end();
}

/** Joins chunks that are smaller than {@link chunkBytes}. */
class SmallChunks {
  #waiting: Uint8Array[] = [];
  #bytes = 0;

  /** What can be sent now. */
  *add(chunk: Uint8Array): Generator<Uint8Array> {
    if (this.#bytes + chunk.length < chunkBytes) {
      this.#waiting.push(chunk);
      this.#bytes += chunk.length;
      return;
    }
    yield* this.end();
    if (chunk.length < chunkBytes) yield* this.add(chunk);
    else yield chunk;
  }

  *end(): Generator<Uint8Array> {
    if (this.#bytes > 0) yield Buffer.concat(this.#waiting, this.#bytes);
    this.#waiting = [];
    this.#bytes = 0;
  }
}

/**
 * The members below an entry, itself included. The open directories are a list and not a recursion of generators: a path of
 * 4096 bytes has up to 2048 levels, and every chunk would pass through all of them.
 */
async function* members(
  reader: FileReader,
  entry: TreeEntry,
  path: Buffer,
  groups: Map<string, Buffer>,
): AsyncGenerator<PlannedMember> {
  if (entry.type !== "directory") {
    yield planned(entry, path, groups);
    return;
  }
  if (path.length > 0) yield planned(entry, path, groups);
  else if (!isImplied(entry)) yield planned(entry, dot, groups);
  const open = [{ path, entries: entriesOf(reader.frames, entry.root)[Symbol.asyncIterator]() }];
  for (let directory = open.at(-1); directory !== undefined; directory = open.at(-1)) {
    const next = await directory.entries.next();
    if (next.done === true) {
      open.pop();
      continue;
    }
    const child = next.value;
    const below =
      directory.path.length === 0 ? Buffer.from(child.name) : Buffer.concat([directory.path, slash, child.name]);
    yield planned(child, below, groups);
    if (child.type === "directory")
      open.push({ path: below, entries: entriesOf(reader.frames, child.root)[Symbol.asyncIterator]() });
  }
}

const slash = Buffer.from("/");
const dot = Buffer.from(".");

/** A root that the archive of the client did not name. Unpacking must not change the folder that it is unpacked into. */
function isImplied({ mtimeSeconds, mtimeNanos }: DirectoryEntry): boolean {
  return mtimeSeconds === 0 && mtimeNanos === 0;
}

function planned(entry: TreeEntry, path: Buffer, groups: Map<string, Buffer>): PlannedMember {
  const { mode, uid, gid, mtimeSeconds, mtimeNanos } = entry;
  const common = { path, mode, uid, gid, mtimeSeconds, mtimeNanos, size: 0, target: null };
  if (entry.type === "directory") return { member: { ...common, type: "directory" }, file: null };
  if (entry.type === "link") return { member: { ...common, type: "symbolic-link", target: entry.target }, file: null };
  const first = firstName(entry, path, groups);
  if (first !== null) return { member: { ...common, type: "hard-link", target: first }, file: null };
  return { member: { ...common, type: "file", size: entry.size }, file: entry.size === 0 ? null : entry };
}

/** The first name of the same file, or null for the first. */
function firstName({ linkGroup, hash }: FileEntry, path: Buffer, groups: Map<string, Buffer>): Buffer | null {
  if (linkGroup === undefined) return null;
  const key = Buffer.concat([linkGroup, hash]).toString("latin1");
  const first = groups.get(key);
  if (first === undefined && groups.size < maxLinkGroups) groups.set(key, path);
  return first ?? null;
}

interface ReadMember {
  readonly member: TarMember;
  readonly bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** Reads small files while the ones before them are sent. */
async function* readAhead(
  reader: FileReader,
  all: AsyncIterable<PlannedMember>,
  signal: AbortSignal,
): AsyncGenerator<ReadMember> {
  const waiting: Promise<ReadMember>[] = [];
  for await (const { member, file } of all) {
    const next = begin(reader, member, file, signal);
    // It is awaited later. Without this handler, Node would report an unhandled rejection until then.
    next.catch(() => undefined);
    waiting.push(next);
    const oldest = waiting.length > readAheadFiles ? waiting.shift() : undefined;
    if (oldest !== undefined) yield await oldest;
  }
  for (const one of waiting) yield await one;
}

async function begin(
  reader: FileReader,
  member: TarMember,
  file: FileEntry | null,
  signal: AbortSignal,
): Promise<ReadMember> {
  if (file === null) return { member, bytes: [] };
  if (file.size > readAheadBytes) return { member, bytes: reader.read(file, undefined, signal) };
  return { member, bytes: await Array.fromAsync(reader.read(file, undefined, signal)) };
}
