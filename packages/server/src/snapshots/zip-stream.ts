/**
 * A snapshot, or a part of it, as a zip archive that is made while it is sent. Entries come in the order of the tree and have their
 * whole path. Names that Windows or Java cannot read are escaped, and the comment of the archive says how many.
 */

import type { FileReader } from "@emanet/engine";
import { escapedName, needsEscape, zipOf as written, type ZipMember, type ZipSource } from "../archives/index.ts";
import {
  type ArchiveRoot,
  entriesBelow,
  type HasName,
  inLargeChunks,
  type PlannedMember,
  readAhead,
  type WriteName,
} from "./archive-entries.ts";

const slash = 0x2f;

export function zipOf(reader: FileReader, root: ArchiveRoot, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  return inLargeChunks(written(new TreeZip(reader, root, signal)));
}

class TreeZip implements ZipSource {
  readonly #reader: FileReader;
  readonly #names = new ZipNames();
  readonly #root: ArchiveRoot;
  readonly #signal: AbortSignal;

  constructor(reader: FileReader, { entry, path }: ArchiveRoot, signal: AbortSignal) {
    this.#reader = reader;
    this.#root = { entry, path: this.#names.pathOf(path) };
    this.#signal = signal;
  }

  contents() {
    return readAhead(this.#reader, this.#planned(), this.#signal);
  }

  async *members(): AsyncGenerator<ZipMember> {
    const before = this.#names.escaped;
    for await (const { member } of this.#planned()) {
      this.#signal.throwIfAborted();
      yield member;
    }
    // The same names were escaped in the first pass.
    this.#names.escaped = before;
  }

  comment(): string {
    return zipCommentOf(this.#names.escaped);
  }

  async *#planned(): AsyncGenerator<PlannedMember<ZipMember>> {
    const { writeName } = this.#names;
    for await (const found of entriesBelow(this.#reader, this.#root, { writeName })) {
      const planned = zipMemberOf(found);
      if (planned !== null) yield planned;
    }
  }
}

/** What the comment of an archive says, by the number of names that were escaped. */
export function zipCommentOf(escaped: number): string {
  if (escaped === 0) return "";
  return `${escaped} name(s) in this archive have characters that Windows or zip programs cannot read. They are written as % and two hexadecimal digits. A tar archive of the same snapshot has the names as they are.`;
}

/** The names of a zip archive. Counts those that were escaped. */
export class ZipNames {
  escaped = 0;

  readonly writeName: WriteName = (name, isTaken) => (needsEscape(name) ? this.#freeName(name, isTaken) : name);

  /** An escaped name that no other entry of the directory has. */
  async #freeName(name: Uint8Array, isTaken: HasName): Promise<Uint8Array> {
    this.escaped++;
    for (let attempt = 0; ; attempt++) {
      const escaped = escapedName(name, attempt);
      if (!(await isTaken(escaped))) return escaped;
    }
  }

  /** The path of a root. No entry beside it is in the archive. */
  pathOf(path: Buffer): Buffer {
    const parts: Buffer[] = [];
    for (let start = 0; start < path.length; ) {
      const end = path.indexOf(slash, start);
      const part = path.subarray(start, end < 0 ? path.length : end);
      if (needsEscape(part)) this.escaped++;
      parts.push(needsEscape(part) ? escapedName(part, 0) : part, Buffer.of(slash));
      start += part.length + 1;
    }
    return Buffer.concat(parts.slice(0, -1));
  }
}

/** The member of an entry. Zip archives do not name their root: null. */
export function zipMemberOf({ entry, path }: ArchiveRoot): PlannedMember<ZipMember> | null {
  if (path.length === 0) return null;
  const { mode, uid, gid, mtimeSeconds, mtimeNanos } = entry;
  const common = { path, mode, uid, gid, mtimeSeconds, mtimeNanos, size: 0 };
  if (entry.type === "directory") return { member: { ...common, type: "directory" }, content: null };
  if (entry.type === "link")
    return { member: { ...common, type: "symbolic-link", size: entry.target.length }, content: entry.target };
  return { member: { ...common, type: "file", size: entry.size }, content: entry.size === 0 ? null : entry };
}
