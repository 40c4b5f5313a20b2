/**
 * A folder, or several paths, as a source. Names are bytes, walked in byte order; a small directory's names are held as
 * they are, a large one's compressed (`sorted-names.ts`), and nothing is held per file else but the marks of one roll.
 *
 * Several paths appear under a root made of their absolute paths; one path is the root itself.
 *
 * The walk is synchronous: asking the system for a file's facts takes two microseconds, waiting for an answer ten. It
 * keeps the path that it is at in one buffer, a level's part behind its parent's.
 */

import type { BigIntStats } from "node:fs";
import { lstatSync, opendirSync, readdirSync, readlinkSync } from "node:fs";
import path from "node:path";
import { marksPerFile, maxRolledFiles, nameSeparator, rollDigest } from "../cache/directory-digest.ts";
import type { EntryFacts } from "../format/tree-entry.ts";
import { SortedNames } from "./sorted-names.ts";
import type { BackupSource, CalledRoll, GlimpsedFile, SourceEvent } from "./source.ts";
import { fileStatOf, identityOf } from "./source.ts";

/** Entries read from the system at a time. */
const readAhead = 512;

/** Files looked at before other work gets a turn. */
const yieldEvery = 256;

/**
 * A directory of at most so many bytes is read at once, which takes a third of the time: some 2000 names. File systems
 * that count a directory's entries instead of its bytes may have so many names there, some 60 bytes each.
 */
const maxBytesAtOnce = 128 * 1024;

const slash = 0x2f;
const empty = Buffer.alloc(0);
const quietly = { throwIfNoEntry: false } as const;

type WalkEvent = SourceEvent | GlimpsedFile | CalledRoll;

/** One folder as a source: the snapshot's root is the folder. A single file becomes a root with one entry. */
export function folderSource(root: string | Uint8Array): BackupSource {
  const at = typeof root === "string" ? Buffer.from(path.resolve(root)) : Buffer.from(root);
  return sourceOf((glimpses) => walkRoot(at, glimpses));
}

/** Several paths as one source: the snapshot's root holds their absolute paths. */
export function pathsSource(paths: readonly string[]): BackupSource {
  const [only] = paths;
  if (paths.length === 1 && only !== undefined && lstatSync(only).isDirectory()) return folderSource(only);
  const resolved = paths.map((each) => path.resolve(each));
  return sourceOf((glimpses) => walkPaths(resolved, glimpses));
}

function sourceOf(walk: (glimpses: boolean) => Generator<WalkEvent>): BackupSource {
  return {
    walk: async function* () {
      let count = 0;
      for (const event of walk(false)) {
        if (++count % yieldEvery === 0) await new Promise((resolve) => setImmediate(resolve));
        // Who looks closely is shown neither glimpses nor rolls.
        if (event.type !== "glimpse" && event.type !== "roll") yield event;
      }
    },
    glimpses: () => walk(true),
  };
}

function walkRoot(at: Buffer, glimpses: boolean): Generator<WalkEvent> {
  const stat = lstatSync(at, { bigint: true });
  if (!stat.isDirectory()) throw new Error("not a directory");
  const place = new Place(at);
  return walkDirectories(place, place.length, glimpses, entering(empty, empty, stat));
}

interface Branch {
  readonly below: Map<string, Branch>;
  whole: boolean;
}

function* walkPaths(paths: readonly string[], glimpses: boolean): Generator<WalkEvent> {
  const root: Branch = { below: new Map(), whole: false };
  for (const each of paths) {
    let branch = root;
    for (const part of each.split(path.sep).filter((name) => name !== "")) {
      const next = branch.below.get(part) ?? { below: new Map(), whole: false };
      branch.below.set(part, next);
      branch = next;
    }
    branch.whole = true;
  }
  yield entering(empty, empty, lstatSync("/", { bigint: true }));
  yield* walkBranch(root, new Place(empty), glimpses);
  yield { type: "leave" };
}

function* walkBranch(branch: Branch, place: Place, glimpses: boolean): Generator<WalkEvent> {
  const names = [...branch.below.keys()].map((name) => Buffer.from(name)).sort(Buffer.compare);
  const above = place.length;
  for (const name of names) {
    const next = branch.below.get(name.toString());
    if (next === undefined) continue;
    place.go(above, name);
    const event = place.look();
    if (event.type === "enter" && next.whole) {
      yield* walkDirectories(place, place.length, glimpses, event);
      continue;
    }
    yield event;
    if (event.type !== "enter") continue;
    yield* walkBranch(next, place, glimpses);
    yield { type: "leave" };
  }
}

/** A directory that the walk is in. */
class Level {
  /** How much of the path is this directory's. */
  readonly length: number;
  readonly #names: readonly string[];
  readonly #more: Iterator<Buffer> | null;
  #next = 0;

  constructor(names: readonly string[] | Iterator<Buffer>, length: number) {
    this.length = length;
    this.#more = "next" in names ? names : null;
    this.#names = "next" in names ? [] : names;
  }

  /** The next name; undefined after the last. */
  next(): string | Buffer | undefined {
    if (this.#more === null) return this.#names[this.#next++];
    const { value, done } = this.#more.next();
    return done === true ? undefined : value;
  }

  /** Looks at the first names together, as far as they are files; the next name is the one after them. */
  callRoll(place: Place): CalledRoll | null {
    if (this.#names.length > maxRolledFiles) return null;
    const roll = place.callRoll(this.#names, this.length);
    this.#next = roll.count;
    return roll.count === 0 ? null : roll;
  }
}

/** Files of one directory that were glimpsed together. */
class DirectoryRoll implements CalledRoll {
  readonly type = "roll";
  readonly count: number;
  readonly isWhole: boolean;
  readonly #place: Place;
  readonly #names: readonly string[];
  readonly #above: number;
  readonly #marks: Float64Array;

  constructor(place: Place, names: readonly string[], above: number, marks: Float64Array) {
    this.#place = place;
    this.#names = names;
    this.#above = above;
    this.#marks = marks;
    this.count = marks.length / marksPerFile;
    this.isWhole = this.count === names.length;
  }

  digest(): Uint8Array {
    return rollDigest(Buffer.from(this.#names.join(String.fromCharCode(nameSeparator)), "latin1"), this.#marks);
  }

  *files(): Generator<GlimpsedFile> {
    for (let i = 0; i < this.count; i++) {
      this.#place.go(this.#above, this.#names[i] ?? "");
      this.#place.show(this.#marks, i * marksPerFile);
      yield this.#place;
    }
  }
}

/**
 * The directory at the place and everything below it, depth first; `enter` is the event that says so. One loop for all
 * levels: nested generators cost each event.
 */
function* walkDirectories(place: Place, length: number, glimpses: boolean, enter: SourceEvent): Generator<WalkEvent> {
  yield enter;
  const levels: Level[] = [];
  const top = place.open(length);
  if (!(top instanceof Level)) {
    yield top;
    yield { type: "leave" };
    return;
  }
  const topRoll = glimpses ? top.callRoll(place) : null;
  if (topRoll !== null) yield topRoll;
  for (let level: Level | undefined = top; level !== undefined; ) {
    const name = level.next();
    if (name === undefined) {
      level = levels.pop();
      yield { type: "leave" };
      continue;
    }
    place.go(level.length, name);
    if (glimpses && place.glimpse()) {
      yield place;
      continue;
    }
    const event = place.look();
    yield event;
    if (event.type !== "enter") continue;
    const below = place.open(place.length);
    if (!(below instanceof Level)) {
      yield below;
      yield { type: "leave" };
      continue;
    }
    levels.push(level);
    level = below;
    const roll = glimpses ? level.callRoll(place) : null;
    if (roll !== null) yield roll;
  }
}

/** Where the walk is, and what it glimpses there. */
class Place implements GlimpsedFile {
  readonly type = "glimpse";
  bytes: Buffer = Buffer.alloc(4096);
  /** Bytes of the root's own path, which names in a snapshot do not have. */
  readonly #root: number;
  /** Of the roll that was called last. */
  #marks = new Float64Array(0);
  length: number;
  nameStart = 0;
  inode = 0;
  size = 0;
  mtimeMs = 0;
  ctimeMs = 0;
  mode = 0;
  uid = 0;
  gid = 0;

  constructor(root: Buffer) {
    // Only "/" itself ends with one, and it stands between a directory and a name already.
    const at = root.at(-1) === slash ? root.subarray(0, -1) : root;
    this.#root = at.length;
    this.length = at.length;
    this.#room(at.length);
    this.bytes.set(at);
  }

  get nameEnd(): number {
    return this.length;
  }

  /** Goes to a name in the directory that is the first `above` bytes of the path. */
  go(above: number, name: string | Buffer): void {
    this.nameStart = above + 1;
    this.length = this.nameStart + name.length;
    this.#room(this.length);
    this.bytes[above] = slash;
    if (typeof name === "string") this.bytes.write(name, this.nameStart, "latin1");
    else this.bytes.set(name, this.nameStart);
  }

  /** Takes a quick look. False: it is no file, or it cannot be looked at. */
  glimpse(): boolean {
    try {
      const stat = lstatSync(this.bytes.subarray(0, this.length), quietly);
      if (stat === undefined || !stat.isFile()) return false;
      this.inode = stat.ino;
      this.size = stat.size;
      this.mtimeMs = stat.mtimeMs;
      this.ctimeMs = stat.ctimeMs;
      this.mode = stat.mode & 0o7777;
      this.uid = stat.uid;
      this.gid = stat.gid;
      return true;
    } catch {
      // Looking closely meets the same error and reports it.
      return false;
    }
  }

  /** Looks at files of the directory that is the first `above` bytes of the path, until something is none. */
  callRoll(names: readonly string[], above: number): DirectoryRoll {
    if (this.#marks.length < names.length * marksPerFile)
      this.#marks = new Float64Array(2 * names.length * marksPerFile);
    const marks = this.#marks;
    let at = 0;
    for (const name of names) {
      this.go(above, name);
      if (!this.glimpse()) break;
      marks[at++] = this.inode;
      marks[at++] = this.size;
      marks[at++] = this.mtimeMs;
      marks[at++] = this.ctimeMs;
      marks[at++] = this.mode;
      marks[at++] = this.uid;
      marks[at++] = this.gid;
    }
    return new DirectoryRoll(this, names, above, marks.subarray(0, at));
  }

  /** Shows a file's marks as they were glimpsed. */
  show(marks: Float64Array, at: number): void {
    this.inode = marks[at] ?? 0;
    this.size = marks[at + 1] ?? 0;
    this.mtimeMs = marks[at + 2] ?? 0;
    this.ctimeMs = marks[at + 3] ?? 0;
    this.mode = marks[at + 4] ?? 0;
    this.uid = marks[at + 5] ?? 0;
    this.gid = marks[at + 6] ?? 0;
  }

  look(): SourceEvent {
    const full = Buffer.from(this.bytes.subarray(0, this.length));
    return look(full, Buffer.from(full.subarray(this.#root + 1)), Buffer.from(full.subarray(this.nameStart)));
  }

  /** The names of the directory that is the first `length` bytes of the path, or why they cannot be read. */
  open(length: number): Level | SourceEvent {
    // An empty path is the system's root.
    const full = length === 0 ? Buffer.from("/") : this.bytes.subarray(0, length);
    try {
      return new Level(readNames(full), length);
    } catch (error) {
      return { type: "warning", path: Buffer.from(this.bytes.subarray(this.#root + 1, length)), code: codeOf(error) };
    }
  }

  #room(length: number): void {
    if (length <= this.bytes.length) return;
    const longer = Buffer.alloc(length * 2);
    longer.set(this.bytes);
    this.bytes = longer;
  }
}

/** What is at a path: looked at once, so that what vanishes later is a warning wherever it happens. */
function look(full: Buffer, relative: Buffer, name: Buffer): SourceEvent {
  const again = () => {
    const event = look(full, relative, name);
    return event.type === "file" ? event : null;
  };
  try {
    const stat = lstatSync(full, { bigint: true });
    if (stat.isDirectory()) return entering(relative, name, stat);
    const facts = factsOf(name, stat);
    if (stat.isSymbolicLink()) return { type: "link", path: relative, facts, target: readlinkSync(full, "buffer") };
    if (!stat.isFile()) return { type: "warning", path: relative, code: "special_file" };
    const marks = { inode: stat.ino, ctimeNs: stat.ctimeNs };
    const content = { path: full, offset: 0, seen: fileStatOf(stat) };
    return { type: "file", path: relative, facts, size: Number(stat.size), marks, content, again };
  } catch (error) {
    return { type: "warning", path: relative, code: codeOf(error) };
  }
}

function entering(path: Uint8Array, name: Uint8Array, stat: BigIntStats): SourceEvent {
  return { type: "enter", path, facts: factsOf(name, stat), identity: identityOf(stat) };
}

function factsOf(name: Uint8Array, stat: BigIntStats): EntryFacts {
  const seconds = Number(stat.mtimeNs / 1_000_000_000n);
  const nanos = Number(stat.mtimeNs % 1_000_000_000n);
  const before = nanos < 0;
  return {
    name,
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mtimeSeconds: before ? seconds - 1 : seconds,
    mtimeNanos: before ? nanos + 1_000_000_000 : nanos,
    attributes: [],
  };
}

/** All names of a directory in byte order: as text with a character for each byte, or as bytes where they are many. */
function readNames(at: Buffer): readonly string[] | Iterator<Buffer> {
  const { size } = lstatSync(at);
  // Text is sorted by its characters, which are bytes here. Some systems say 0 of every directory.
  if (size > 0 && size <= maxBytesAtOnce) return readdirSync(at, { encoding: "latin1" }).sort();
  // The types say string; with this encoding names are buffers.
  const directory = opendirSync(at as unknown as string, {
    encoding: "buffer" as BufferEncoding,
    bufferSize: readAhead,
  });
  const names = new SortedNames();
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync())
      names.add(entry.name as unknown as Buffer);
  } finally {
    directory.closeSync();
  }
  return names.inOrder();
}

function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.message : String(error);
}
