/**
 * Quick stats: the walk stats the files of a directory one after the other and stops before the first entry that is not
 * a file. Per file it writes seven doubles into one array and makes no event, path or name. Doubles hold times to a quarter
 * of a microsecond: enough to see that a file changed, not enough to store.
 */

import { lstatSync } from "node:fs";
import { release } from "../format/bytes.ts";
import { directoryDigest, nameEnd, statFields } from "./directory-digest.ts";
import type { DirectoryNames } from "./directory-names.ts";
import type { QuickStat, QuickStats, SourceEvent } from "./source.ts";
import type { WalkPath } from "./walk-path.ts";

/** Files that there is memory for from the start. Most directories have fewer. */
const minFiles = 1024;

/** Names of which one copy is made at a time. */
const namesPerChunk = 1024;

const noThrow = { throwIfNoEntry: false } as const;

/** The quick stats of one walk. One object and one array serve all directories. */
export class WalkQuickStats implements QuickStats {
  readonly type = "quick-stats";
  readonly #path: WalkPath;
  readonly #file: FileQuickStat;
  #directoryLength = 0;
  #names: readonly string[] = [];
  #first = 0;
  #fields = new Float64Array(minFiles * statFields);
  count = 0;
  isWholeDirectory = false;

  constructor(path: WalkPath) {
    this.#path = path;
    this.#file = new FileQuickStat(path);
  }

  /** Stats the next names up to the end of their list or the first one that is not a file, and takes them. */
  take(names: DirectoryNames, directoryLength: number): void {
    const { list, next, isOnlyList } = names;
    this.#directoryLength = directoryLength;
    this.#names = list;
    this.#first = next;
    this.#reserve(list.length * statFields);
    let count = 0;
    for (let i = next; i < list.length; i++) {
      this.#path.set(directoryLength, list[i] ?? "");
      if (!this.#stat(count * statFields)) break;
      count++;
    }
    names.next += count;
    this.count = count;
    this.isWholeDirectory = isOnlyList && count === list.length;
  }

  digest(): Uint8Array {
    return directoryDigest(namesOf(this.#names), this.#fields.subarray(0, this.count * statFields));
  }

  file(index: number): QuickStat {
    this.#path.set(this.#directoryLength, this.#names[this.#first + index] ?? "");
    this.#file.load(this.#fields, index * statFields);
    return this.#file;
  }

  #reserve(length: number): void {
    if (this.#fields.length >= length) return;
    release(new Uint8Array(this.#fields.buffer));
    this.#fields = new Float64Array(length);
  }

  /** Writes the fields of the file at the path. Returns false if it is not a file or cannot be read. */
  #stat(at: number): boolean {
    const fields = this.#fields;
    try {
      const stat = lstatSync(this.#path.bytes.subarray(0, this.#path.length), noThrow);
      if (stat === undefined || !stat.isFile()) return false;
      fields[at] = stat.ino;
      fields[at + 1] = stat.size;
      fields[at + 2] = stat.mtimeMs;
      fields[at + 3] = stat.ctimeMs;
      fields[at + 4] = stat.mode & 0o7777;
      fields[at + 5] = stat.uid;
      fields[at + 6] = stat.gid;
      return true;
    } catch {
      // The full stat that follows gets the same error and reports it.
      return false;
    }
  }
}

/** The names as a digest hashes them, in chunks: a copy of all names of a large directory would take megabytes. */
function* namesOf(names: readonly string[]): Generator<Buffer> {
  const end = String.fromCharCode(nameEnd);
  for (let at = 0; at < names.length; at += namesPerChunk)
    yield Buffer.from(names.slice(at, at + namesPerChunk).join(end) + end, "latin1");
}

class FileQuickStat implements QuickStat {
  readonly #path: WalkPath;
  inode = 0;
  size = 0;
  mtimeMs = 0;
  ctimeMs = 0;
  mode = 0;
  uid = 0;
  gid = 0;

  constructor(path: WalkPath) {
    this.#path = path;
  }

  get bytes(): Buffer {
    return this.#path.bytes;
  }

  get nameStart(): number {
    return this.#path.nameStart;
  }

  get nameEnd(): number {
    return this.#path.length;
  }

  fullStat(): SourceEvent {
    return this.#path.stat();
  }

  load(fields: Float64Array, at: number): void {
    this.inode = fields[at] ?? 0;
    this.size = fields[at + 1] ?? 0;
    this.mtimeMs = fields[at + 2] ?? 0;
    this.ctimeMs = fields[at + 3] ?? 0;
    this.mode = fields[at + 4] ?? 0;
    this.uid = fields[at + 5] ?? 0;
    this.gid = fields[at + 6] ?? 0;
  }
}
