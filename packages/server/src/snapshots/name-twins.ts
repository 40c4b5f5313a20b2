/**
 * Warns of name twins in what the service itself backs up: archives, and snapshots file by file. Names of one directory are twins
 * if Windows and macOS take them for one: they differ only in case or in their Unicode normal form. All of them are kept; who
 * restores there must know that one would replace the other. An agent does not warn: its file system has the twins.
 */

import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { BackupSource, SourceEvent } from "@emanet/engine";

/**
 * Names that are remembered at once, in all open directories together: some 40 MiB. Later ones are compared with these alone, so twins
 * in the rest of a larger directory are not found.
 */
const maxRememberedNames = 2 ** 20;

/** Hexadecimal digits that a number holds exactly: 52 bits. Of a million names, one in 9000 such directories has a false twin. */
const hashDigits = 13;

/** The same source; every entry whose name is a twin of an earlier one in its directory has a warning behind it. */
export function withTwinWarnings(source: BackupSource, maxNames = maxRememberedNames): BackupSource {
  return { walk: () => walk(source, maxNames) };
}

async function* walk(source: BackupSource, maxNames: number): AsyncGenerator<SourceEvent> {
  const names = new OpenNames(maxNames);
  for await (const event of source.walk()) {
    yield event;
    if (event.type === "leave") names.leave();
    if (event.type === "leave" || event.type === "warning") continue;
    if (names.isTwin(event.stat.name)) yield { type: "warning", path: event.path, code: "name_twin" };
    if (event.type === "enter") names.enter();
  }
}

/** Hashes of the names in the directories that the walk is in. */
class OpenNames {
  readonly #directories: Set<number>[] = [];
  #left: number;

  constructor(maxNames: number) {
    this.#left = maxNames;
  }

  enter(): void {
    this.#directories.push(new Set());
  }

  leave(): void {
    this.#left += this.#directories.pop()?.size ?? 0;
  }

  /** Whether the directory has a twin of the name already; if not, the name is remembered. */
  isTwin(name: Uint8Array): boolean {
    const directory = this.#directories.at(-1);
    // The root has no siblings. A file system that knows letters refuses a name that is not UTF-8, so it replaces nothing.
    if (directory === undefined || !isUtf8(name)) return false;
    const key = keyOf(name);
    if (directory.has(key)) return true;
    if (this.#left === 0) return false;
    this.#left--;
    directory.add(key);
    return false;
  }
}

/**
 * The same number for twins. Capital letters, because file systems compare those: `ı` is then a twin of `I` and `i`, and `İ` is none. They
 * can leave the normal form, so it is made twice.
 */
function keyOf(name: Uint8Array): number {
  const folded = Buffer.from(name.buffer, name.byteOffset, name.length)
    .toString()
    .normalize("NFC")
    .toUpperCase()
    .normalize("NFC");
  return Number.parseInt(hash("sha256", folded, "hex").slice(0, hashDigits), 16);
}
