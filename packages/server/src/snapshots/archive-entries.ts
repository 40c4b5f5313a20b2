/** What archives of all kinds are made of: the entries of a tree in its order, their content read ahead, and chunks of a good size. */

import {
  entriesOf,
  type FileEntry,
  type FileReader,
  findEntry,
  type NodeFaults,
  type Reference,
  type TreeEntry,
} from "@emanet/engine";

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

/** An entry of the tree: its path in the snapshot (`source`) and in the archive. */
export interface WalkedEntry extends ArchiveRoot {
  readonly source: Buffer;
}

/** Whether the directory has an entry of this name that can be read. */
export type HasName = (name: Uint8Array) => Promise<boolean>;

/** The name of an entry in the archive. `isTaken` looks beside it in its directory. */
export type WriteName = (name: Uint8Array, isTaken: HasName) => Uint8Array | Promise<Uint8Array>;

export interface WalkOptions {
  readonly writeName?: WriteName;
  /** A path of the snapshot that the same walk has yielded before. The walk begins behind it, and does not yield the root. */
  readonly after?: Buffer;
  /** What to do about nodes of a directory that cannot be read; else the walk fails. */
  readonly unreadable?: (directory: WalkedEntry) => NodeFaults;
}

const slash = Buffer.from("/");

/**
 * The entries below the root of an archive, itself included. The open directories are a list and not a recursion of generators: a path
 * of 4096 bytes has up to 2048 levels, and every chunk would pass through all of them.
 */
export async function* entriesBelow(
  reader: FileReader,
  { entry, path, source = path }: ArchiveRoot & { readonly source?: Buffer },
  options: WalkOptions = {},
): AsyncGenerator<WalkedEntry> {
  const root = { entry, path, source };
  const walk = new TreeWalk(reader, options);
  if (options.after === undefined) {
    yield root;
    walk.open(root);
  } else await walk.openBehind(root, options.after);
  for (let next = await walk.next(); next !== null; next = await walk.next()) {
    yield next;
    walk.open(next);
  }
}

interface WalkedDirectory extends WalkedEntry {
  readonly root: Reference;
  readonly entries: AsyncIterator<TreeEntry>;
}

class TreeWalk {
  readonly #reader: FileReader;
  readonly #writeName: WriteName;
  readonly #unreadable: WalkOptions["unreadable"];
  readonly #open: WalkedDirectory[] = [];

  constructor(reader: FileReader, { writeName = (name) => name, unreadable }: WalkOptions) {
    this.#reader = reader;
    this.#writeName = writeName;
    this.#unreadable = unreadable;
  }

  /** The next entry of the innermost open directory; null at the end. */
  async next(): Promise<WalkedEntry | null> {
    for (let directory = this.#open.at(-1); directory !== undefined; directory = this.#open.at(-1)) {
      const next = await directory.entries.next();
      if (next.done !== true) return this.#child(directory, next.value);
      this.#open.pop();
    }
    return null;
  }

  /** Opens a directory, at the front or behind a name; nothing for other entries. */
  open(at: WalkedEntry, after?: Uint8Array): WalkedDirectory | null {
    if (at.entry.type !== "directory") return null;
    const { root } = at.entry;
    const entries = entriesOf(this.#reader.frames, root, after, this.#unreadable?.(at));
    const opened = { ...at, root, entries: entries[Symbol.asyncIterator]() };
    this.#open.push(opened);
    return opened;
  }

  /** Opens the directories above a path, each behind it, and what is at the path. */
  async openBehind(root: WalkedEntry, path: Buffer): Promise<void> {
    let at = root;
    const below = path.subarray(root.source.length === 0 ? 0 : root.source.length + 1);
    for (const name of partsOf(below)) {
      const directory = this.open(at, name);
      const entry = directory && (await findEntry(this.#reader.frames, directory.root, name));
      if (directory === null || entry === null) throw new Error("a walk goes on behind a path that is not there");
      at = await this.#child(directory, entry);
    }
    this.open(at);
  }

  async #child(directory: WalkedDirectory, entry: TreeEntry): Promise<WalkedEntry> {
    const { frames } = this.#reader;
    const isTaken: HasName = async (other) =>
      (await findEntry(frames, directory.root, other, this.#unreadable?.(directory))) !== null;
    const name = await this.#writeName(entry.name, isTaken);
    return { entry, path: joined(directory.path, name), source: joined(directory.source, entry.name) };
  }
}

function joined(path: Buffer, name: Uint8Array): Buffer {
  return path.length === 0 ? Buffer.from(name) : Buffer.concat([path, slash, name]);
}

/** The names in a path; none in an empty one. */
export function* partsOf(path: Buffer): Generator<Buffer> {
  if (path.length === 0) return;
  let start = 0;
  for (let end = path.indexOf(slash); end >= 0; end = path.indexOf(slash, start)) {
    yield path.subarray(start, end);
    start = end + 1;
  }
  yield path.subarray(start);
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
