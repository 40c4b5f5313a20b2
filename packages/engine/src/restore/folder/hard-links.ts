/**
 * Hard links of a restore. The first name of a hard-link group is restored like any file. Every other name with the same
 * content and attributes is linked to it at the end, when the first one is complete. If the first name was not restored,
 * the next name takes its place.
 *
 * A link that the file system refuses (another device, too many links, not supported) becomes a copy.
 */

import { closeSync, constants, copyFileSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { hex, sameBytes } from "../../format/bytes.ts";
import type { FileEntry } from "../../format/tree-entry.ts";
import { setFinalAttributes } from "../../workers/restore-worker.ts";
import { restoredAttributes, restoreOwner } from "./file-attributes.ts";

/** Errors of `link` after which a copy is made. */
const copyInstead: ReadonlySet<string> = new Set(["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Another name of a file that is restored under its first one. */
export interface HardLink {
  readonly path: Buffer;
  readonly first: Buffer;
  readonly entry: FileEntry;
  /** Where something is at the path: the link is made here, and then takes its place. */
  readonly draft?: Buffer | undefined;
}

export class HardLinks {
  readonly #first = new Map<string, { readonly path: Buffer; readonly entry: FileEntry }>();
  #links: HardLink[] = [];

  /** Adds a link and returns true if the file is another name of one that was added before. It is linked at the end. */
  addIfLaterName(entry: FileEntry, path: Buffer, draft?: Buffer): boolean {
    if (entry.linkGroup === undefined) return false;
    const group = hex(entry.linkGroup);
    const known = this.#first.get(group);
    if (known === undefined) this.#first.set(group, { path, entry });
    if (known === undefined || !isSameFile(known.entry, entry)) return false;
    // The caller's paths overlap, so the same name comes twice. It is being restored already.
    if (known.path.equals(path)) return true;
    this.#links.push({ path, first: known.path, entry, draft });
    return true;
  }

  /** Returns the links that were added since the last call. */
  takeLinks(): readonly HardLink[] {
    const links = this.#links;
    this.#links = [];
    return links;
  }

  /** The first name of this group was not restored. The next name that is added becomes the first. */
  removeFirst({ first, entry }: HardLink): void {
    const group = hex(entry.linkGroup ?? Buffer.alloc(0));
    if (this.#first.get(group)?.path.equals(first) === true) this.#first.delete(group);
  }
}

/** Makes the link, or a copy. The first name is complete. */
export function makeHardLink({ path, first, entry, draft }: HardLink, owners: boolean): void {
  makeAt(draft ?? path, first, entry, owners);
  if (draft === undefined) return;
  renameSync(draft, path);
  // Of two names of one file nothing is renamed.
  rmSync(draft, { force: true });
}

function makeAt(path: Buffer, first: Buffer, entry: FileEntry, owners: boolean): void {
  rmSync(path, { force: true });
  try {
    linkSync(first, path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!copyInstead.has(code)) throw error;
    copyFileSync(first, path, constants.COPYFILE_EXCL);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW);
    try {
      setFinalAttributes(fd, { ...restoredAttributes(entry, owners), size: null });
    } finally {
      closeSync(fd);
    }
    if (owners) restoreOwner(path, entry);
  }
}

/** Names of one file have the same content and attributes. Two files that share a group by chance have not. */
function isSameFile(a: FileEntry, b: FileEntry): boolean {
  const numbers = (entry: FileEntry) => [
    entry.size,
    entry.mode,
    entry.uid,
    entry.gid,
    entry.mtimeSeconds,
    entry.mtimeNanos,
  ];
  const other = numbers(b);
  return sameBytes(a.hash, b.hash) && numbers(a).every((value, i) => value === other[i]);
}
