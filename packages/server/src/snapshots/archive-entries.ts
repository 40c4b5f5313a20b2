/** What archives of all kinds are made of: the entries of a tree in its order, their content read ahead, and chunks of a good size. */

import { entriesOf, type FileEntry, type FileReader, type Reference, type TreeEntry } from "@emanet/engine";

/** Small files are read ahead: each needs some round trips to database and store, and few bytes. */
const readAheadFiles = 16;
const readAheadBytes = 256 * 1024;

/** Headers, small contents and paddings are collected to this size: each chunk of an answer is a TLS record at least. */
const chunkBytes = 64 * 1024;

/** What an archive is made of: a directory, a file or a link, and its path in the snapshot. */
export interface ArchiveRoot {
  readonly entry: TreeEntry;
  readonly path: Buffer;
}

/** The name of an entry in the archive, where it is not its own; and the directory that it is in. */
export type WriteName = (name: Uint8Array, directory: Reference) => Uint8Array | Promise<Uint8Array>;

const slash = Buffer.from("/");

/**
 * The entries below the root of an archive, itself included. The open directories are a list and not a recursion of generators: a path
 * of 4096 bytes has up to 2048 levels, and every chunk would pass through all of them.
 */
export async function* entriesBelow(
  reader: FileReader,
  root: ArchiveRoot,
  writeName: WriteName = (name) => name,
): AsyncGenerator<ArchiveRoot> {
  yield root;
  const open = [root].flatMap((directory) => opened(reader, directory));
  for (let directory = open.at(-1); directory !== undefined; directory = open.at(-1)) {
    const next = await directory.entries.next();
    if (next.done === true) {
      open.pop();
      continue;
    }
    const entry = next.value;
    const name = await writeName(entry.name, directory.root);
    const path = directory.path.length === 0 ? Buffer.from(name) : Buffer.concat([directory.path, slash, name]);
    yield { entry, path };
    open.push(...opened(reader, { entry, path }));
  }
}

/** A directory with its entries; nothing for other entries. */
function opened(reader: FileReader, { entry, path }: ArchiveRoot) {
  if (entry.type !== "directory") return [];
  return [{ path, root: entry.root, entries: entriesOf(reader.frames, entry.root)[Symbol.asyncIterator]() }];
}

/** A member of an archive, and its content: that of a file, bytes, or none. */
export interface PlannedMember<Member> {
  readonly member: Member;
  readonly content: FileEntry | Uint8Array | null;
}

export interface ReadMember<Member> {
  readonly member: Member;
  readonly bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** Reads small files while the ones before them are sent. */
export async function* readAhead<Member>(
  reader: FileReader,
  all: AsyncIterable<PlannedMember<Member>>,
  signal: AbortSignal,
): AsyncGenerator<ReadMember<Member>> {
  const waiting: Promise<ReadMember<Member>>[] = [];
  for await (const planned of all) {
    const next = begin(reader, planned, signal);
    // It is awaited later. Without this handler, Node would report an unhandled rejection until then.
    next.catch(() => undefined);
    waiting.push(next);
    const oldest = waiting.length > readAheadFiles ? waiting.shift() : undefined;
    if (oldest !== undefined) yield await oldest;
  }
  for (const one of waiting) yield await one;
}

async function begin<Member>(
  reader: FileReader,
  { member, content }: PlannedMember<Member>,
  signal: AbortSignal,
): Promise<ReadMember<Member>> {
  if (content === null) return { member, bytes: [] };
  if (content instanceof Uint8Array) return { member, bytes: [content] };
  if (content.size > readAheadBytes) return { member, bytes: reader.read(content, undefined, signal) };
  return { member, bytes: await Array.fromAsync(reader.read(content, undefined, signal)) };
}

/** The same bytes, with small chunks joined. */
export async function* inLargeChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    if (bytes > 0 && bytes + chunk.length >= chunkBytes) {
      yield Buffer.concat(waiting, bytes);
      waiting = [];
      bytes = 0;
    }
    if (chunk.length >= chunkBytes) {
      yield chunk;
    } else {
      waiting.push(chunk);
      bytes += chunk.length;
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}
