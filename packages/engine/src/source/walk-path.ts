/**
 * The path that a walk is at. It is kept in one buffer: the name of an entry is written behind the path of its directory,
 * so a step of the walk allocates nothing.
 */

import type { BigIntStats } from "node:fs";
import { lstatSync, readlinkSync } from "node:fs";
import type { EntryStat } from "../format/tree-entry.ts";
import { type DirectoryNames, noNames, readNames } from "./directory-names.ts";
import type { SourceEvent } from "./source.ts";
import { fileStatOf, identityOf, linkGroupOf } from "./source.ts";
import type { WalkFilter } from "./walk-filter.ts";
import { cacheTagName, isCacheDirectory } from "./walk-filter.ts";

const slash = 0x2f;

export class WalkPath {
  bytes: Buffer = Buffer.alloc(4096);
  length: number;
  nameStart = 0;
  /** Bytes of the source's own path. Paths in a snapshot are relative to it. */
  readonly #rootLength: number;
  readonly #filter: WalkFilter | null;
  /** Where the walk began, with `oneFileSystem`. */
  #device: number | null = null;

  constructor(root: Buffer, filter: WalkFilter | null) {
    this.#filter = filter;
    // Only the path "/" ends with a slash. `set` writes the slash between a directory and a name.
    const path = root.at(-1) === slash ? root.subarray(0, -1) : root;
    this.#rootLength = path.length;
    this.length = path.length;
    this.#reserve(path.length);
    this.bytes.set(path);
  }

  /** Goes to a name (one character for each byte) in the directory that is the first `directoryLength` bytes. */
  set(directoryLength: number, name: string): void {
    this.nameStart = directoryLength + 1;
    this.length = this.nameStart + name.length;
    this.#reserve(this.length);
    this.bytes[directoryLength] = slash;
    this.bytes.write(name, this.nameStart, "latin1");
  }

  /** The next directory is one that the caller named: it may be of another file system than the one before. */
  beginTree(): void {
    this.#device = null;
  }

  /** What is at the path, with exact times. */
  stat(): SourceEvent {
    const full = Buffer.from(this.bytes.subarray(0, this.length));
    return statEvent(
      full,
      Buffer.from(full.subarray(this.#rootLength + 1)),
      Buffer.from(full.subarray(this.nameStart)),
    );
  }

  /** The names of the directory at the path, or a warning where they cannot be read. */
  readNames(): DirectoryNames | SourceEvent {
    // An empty path is the root of the file system.
    const full = this.length === 0 ? Buffer.from("/") : this.bytes.subarray(0, this.length);
    try {
      return this.#filter === null ? readNames(full, null) : this.#readKept(full, this.#filter);
    } catch (error) {
      const path = Buffer.from(this.bytes.subarray(this.#rootLength + 1, this.length));
      return { type: "warning", path, code: codeOf(error) };
    }
  }

  /** A directory of another file system, and one with a cache tag, are taken without their content. */
  #readKept(full: Buffer, { keeps, excludesCaches, oneFileSystem }: WalkFilter): DirectoryNames {
    if (oneFileSystem === true) {
      const { dev } = lstatSync(full);
      this.#device ??= dev;
      if (dev !== this.#device) return noNames();
    }
    const isCache = excludesCaches === true && isCacheDirectory(full);
    if (keeps === undefined && !isCache) return readNames(full, null);
    const folder = Buffer.from(this.bytes.subarray(this.#rootLength + 1, this.length)).toString("utf8");
    const prefix = folder === "" ? "" : `${folder}/`;
    return readNames(full, (name, isDirectory) => {
      if (isCache && name !== cacheTagName) return false;
      return keeps === undefined || keeps(`${prefix}${Buffer.from(name, "latin1").toString("utf8")}`, isDirectory);
    });
  }

  #reserve(length: number): void {
    if (length <= this.bytes.length) return;
    const longer = Buffer.alloc(length * 2);
    longer.set(this.bytes);
    this.bytes = longer;
  }
}

/** The event for what is at a path. An entry that is gone or cannot be read is a warning. */
function statEvent(full: Buffer, relative: Buffer, name: Buffer): SourceEvent {
  const statAgain = () => {
    const event = statEvent(full, relative, name);
    return event.type === "file" ? event : null;
  };
  try {
    const stat = lstatSync(full, { bigint: true });
    if (stat.isDirectory()) return enterEvent(relative, name, stat);
    const entryStat = entryStatOf(name, stat);
    if (stat.isSymbolicLink())
      return { type: "link", path: relative, stat: entryStat, target: readlinkSync(full, "buffer") };
    if (!stat.isFile()) return { type: "warning", path: relative, code: "special_file" };
    const changeStat = { inode: stat.ino, ctimeNs: stat.ctimeNs };
    const content = { path: full, offset: 0, statAtWalk: fileStatOf(stat) };
    const linkGroup = linkGroupOf(stat);
    return {
      type: "file",
      path: relative,
      stat: entryStat,
      size: Number(stat.size),
      changeStat,
      content,
      statAgain,
      linkGroup,
    };
  } catch (error) {
    return { type: "warning", path: relative, code: codeOf(error) };
  }
}

export function enterEvent(path: Uint8Array, name: Uint8Array, stat: BigIntStats): SourceEvent {
  return { type: "enter", path, stat: entryStatOf(name, stat), identity: identityOf(stat) };
}

function entryStatOf(name: Uint8Array, stat: BigIntStats): EntryStat {
  const seconds = Number(stat.mtimeNs / 1_000_000_000n);
  const nanos = Number(stat.mtimeNs % 1_000_000_000n);
  const isBefore1970 = nanos < 0;
  return {
    name,
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mtimeSeconds: isBefore1970 ? seconds - 1 : seconds,
    mtimeNanos: isBefore1970 ? nanos + 1_000_000_000 : nanos,
    attributes: [],
  };
}

function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.message : String(error);
}
