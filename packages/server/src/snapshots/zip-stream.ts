/**
 * A snapshot, or a part of it, as a zip archive that is made while it is sent. Entries come in the order of the tree and have their
 * whole path. Names that Windows or Java cannot read are escaped, and the comment of the archive says how many.
 */

import { type FileReader, findEntry, type Reference, type TreeEntry } from "@emanet/engine";
import { escapedName, needsEscape, zipOf as written, type ZipMember, type ZipSource } from "../archives/index.ts";
import { type ArchiveRoot, entriesBelow, inLargeChunks, type PlannedMember, readAhead } from "./archive-entries.ts";

const slash = 0x2f;

export function zipOf(reader: FileReader, root: ArchiveRoot, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  return inLargeChunks(written(new TreeZip(reader, root, signal)));
}

class TreeZip implements ZipSource {
  readonly #reader: FileReader;
  readonly #root: ArchiveRoot;
  readonly #signal: AbortSignal;
  #escaped = 0;

  constructor(reader: FileReader, { entry, path }: ArchiveRoot, signal: AbortSignal) {
    this.#reader = reader;
    this.#root = { entry, path: this.#escapedPath(path) };
    this.#signal = signal;
  }

  contents() {
    return readAhead(this.#reader, this.#planned(), this.#signal);
  }

  async *members(): AsyncGenerator<ZipMember> {
    const before = this.#escaped;
    for await (const { member } of this.#planned()) {
      this.#signal.throwIfAborted();
      yield member;
    }
    // The same names were escaped in the first pass.
    this.#escaped = before;
  }

  comment(): string {
    if (this.#escaped === 0) return "";
    return `${this.#escaped} name(s) in this archive have characters that Windows or zip programs cannot read. They are written as % and two hexadecimal digits. A tar archive of the same snapshot has the names as they are.`;
  }

  async *#planned(): AsyncGenerator<PlannedMember<ZipMember>> {
    const writeName = (name: Uint8Array, directory: Reference) => this.#writtenName(name, directory);
    // Zip archives do not name their root.
    for await (const { entry, path } of entriesBelow(this.#reader, this.#root, writeName))
      if (path.length > 0) yield planned(entry, path);
  }

  #writtenName(name: Uint8Array, directory: Reference): Uint8Array | Promise<Uint8Array> {
    return needsEscape(name) ? this.#freeName(name, directory) : name;
  }

  /** An escaped name that no other entry of the directory has. */
  async #freeName(name: Uint8Array, directory: Reference): Promise<Uint8Array> {
    this.#escaped++;
    for (let attempt = 0; ; attempt++) {
      const escaped = escapedName(name, attempt);
      if ((await findEntry(this.#reader.frames, directory, escaped)) === null) return escaped;
    }
  }

  /** The path of the root. No entry beside it is in the archive. */
  #escapedPath(path: Buffer): Buffer {
    const parts: Buffer[] = [];
    for (let start = 0; start < path.length; ) {
      const end = path.indexOf(slash, start);
      const part = path.subarray(start, end < 0 ? path.length : end);
      if (needsEscape(part)) this.#escaped++;
      parts.push(needsEscape(part) ? escapedName(part, 0) : part, Buffer.of(slash));
      start += part.length + 1;
    }
    return Buffer.concat(parts.slice(0, -1));
  }
}

function planned(entry: TreeEntry, path: Buffer): PlannedMember<ZipMember> {
  const { mode, uid, gid, mtimeSeconds, mtimeNanos } = entry;
  const common = { path, mode, uid, gid, mtimeSeconds, mtimeNanos, size: 0 };
  if (entry.type === "directory") return { member: { ...common, type: "directory" }, content: null };
  if (entry.type === "link")
    return { member: { ...common, type: "symbolic-link", size: entry.target.length }, content: entry.target };
  return { member: { ...common, type: "file", size: entry.size }, content: entry.size === 0 ? null : entry };
}
