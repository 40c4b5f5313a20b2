/**
 * The names of one directory in byte order, in lists. A name is text with one character for each byte (latin1): names on
 * Linux are bytes, and text of this form sorts in byte order.
 *
 * A directory that can have a digest is one list. A larger one is sorted in compressed memory (`sorted-names.ts`) and
 * becomes many short lists, so that memory does not grow with the number of its files.
 */

import { lstatSync, opendirSync, readdirSync } from "node:fs";
import { maxDigestFiles } from "./directory-digest.ts";
import { SortedNames } from "./sorted-names.ts";

/** Names per list of a directory without a digest: a walk holds one list for every directory of its path. */
const listNames = 512;

/** Entries that the system returns per call while a large directory is read. */
const readAhead = 512;

/**
 * A directory of at most this size is read with one call, which takes a third of the time: about 2000 names. Some file
 * systems give the number of entries as the size; there, 128 Ki names of about 60 bytes each are read at once.
 */
const maxBytesAtOnce = 128 * 1024;

export class DirectoryNames {
  readonly #lists: Iterator<readonly string[]>;
  /** The list that the walk is in, and the position of the next name in it. */
  list: readonly string[] = [];
  next = 0;
  /** Whether `list` has all names of the directory. */
  readonly isOnlyList: boolean;

  constructor(lists: Iterator<readonly string[]>, isOnlyList: boolean) {
    this.#lists = lists;
    this.isOnlyList = isOnlyList;
  }

  /** Goes to the next list where this one is used up. Returns false after the last name. */
  hasMore(): boolean {
    while (this.isListUsedUp) {
      const { value, done } = this.#lists.next();
      if (done === true) return false;
      this.list = value;
      this.next = 0;
    }
    return true;
  }

  get isListUsedUp(): boolean {
    return this.next >= this.list.length;
  }

  take(): string {
    return this.list[this.next++] ?? "";
  }
}

export function noNames(): DirectoryNames {
  return new DirectoryNames([].values(), true);
}

/** Whether a name is taken. */
export type KeepsName = (name: string, isDirectory: boolean) => boolean;

/** Reads all names of a directory, or those that `keeps` takes. Throws what the system says where it cannot be read. */
export function readNames(directory: Buffer, keeps: KeepsName | null): DirectoryNames {
  const { size } = lstatSync(directory);
  // Some file systems give 0 as the size of every directory.
  if (size > 0 && size <= maxBytesAtOnce) {
    const names = (keeps === null ? readdirSync(directory, { encoding: "latin1" }) : readKept(directory, keeps)).sort();
    return new DirectoryNames([names].values(), names.length <= maxDigestFiles);
  }
  const names = readLarge(directory, keeps);
  const canHaveDigest = names.total <= maxDigestFiles;
  return new DirectoryNames(listsOf(names, canHaveDigest ? maxDigestFiles : listNames), canHaveDigest);
}

function* listsOf(names: SortedNames, maxLength: number): Generator<readonly string[]> {
  let list: string[] = [];
  for (const name of names.inOrder()) {
    list.push(name.toString("latin1"));
    if (list.length < maxLength) continue;
    yield list;
    list = [];
  }
  if (list.length > 0) yield list;
}

function readKept(directory: Buffer, keeps: KeepsName): string[] {
  const entries = readdirSync(directory, { encoding: "latin1", withFileTypes: true });
  return entries.filter((entry) => keeps(entry.name, entry.isDirectory())).map(({ name }) => name);
}

function readLarge(path: Buffer, keeps: KeepsName | null): SortedNames {
  // The types say string; with this encoding paths and names are buffers.
  const directory = opendirSync(path as unknown as string, {
    encoding: "buffer" as BufferEncoding,
    bufferSize: readAhead,
  });
  const names = new SortedNames();
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const name = entry.name as unknown as Buffer;
      if (keeps === null || keeps(name.toString("latin1"), entry.isDirectory())) names.add(name);
    }
  } finally {
    directory.closeSync();
  }
  return names;
}
