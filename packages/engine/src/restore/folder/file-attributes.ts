/** Modes, owners and times of restored files, links and directories. */

import {
  closeSync,
  constants,
  fchmodSync,
  futimesSync,
  lchownSync,
  lutimesSync,
  openSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { asBuffer } from "../../format/bytes.ts";
import type { EntryStat, FileEntry } from "../../format/tree-entry.ts";
import type { FinalAttributes } from "../../workers/restore-job.ts";
import { nodeTime, restoredMtime } from "../../workers/restore-job.ts";
import { setFinalAttributes } from "../../workers/restore-worker.ts";
import type { RestoreFolder } from "./restore-folder.ts";
import { errorMessage } from "./restore-outcome.ts";

/** The bits setuid and setgid: the program runs with the rights of the file's owner or group. */
const setIdBits = 0o6000;

/**
 * The mode that a restored file gets. Without the owner, setuid and setgid are left out: otherwise a user's program would
 * run with the rights of root, which restores it.
 */
export function restoredMode({ mode }: Pick<EntryStat, "mode">, owners: boolean): number {
  return owners ? mode : mode & ~setIdBits;
}

export function restoredAttributes(entry: FileEntry, owners: boolean): Pick<FinalAttributes, "mode" | "mtime"> {
  return { mode: restoredMode(entry, owners), mtime: restoredMtime(entry) };
}

/** A link or a directory that is completed at the end. There may be a million: no field is a view into a larger buffer. */
export interface DeferredEntry {
  readonly path: Buffer;
  readonly stat: Pick<EntryStat, "mode" | "uid" | "gid" | "mtimeSeconds" | "mtimeNanos">;
  /** What a link points to; null for a directory. */
  readonly linkTarget: Uint8Array | null;
}

export function deferredEntry(path: Buffer, entry: EntryStat, linkTarget?: Uint8Array): DeferredEntry {
  const { mode, uid, gid, mtimeSeconds, mtimeNanos } = entry;
  return {
    path,
    stat: { mode, uid, gid, mtimeSeconds, mtimeNanos },
    linkTarget: linkTarget === undefined ? null : Buffer.from(linkTarget),
  };
}

/** Makes a link, or sets owner, mode and time of a directory. */
export function completeDeferredEntry(
  folder: RestoreFolder,
  { path, stat, linkTarget }: DeferredEntry,
  owners: boolean,
): void {
  const mtime = nodeTime(restoredMtime(stat));
  if (linkTarget !== null) {
    const isThere = folder.keepOrRemoveLink(path, linkTarget);
    if (!isThere) symlinkSync(asBuffer(linkTarget), path);
    // What was there before this restore stays as it is.
    else if (!folder.isNew) return;
    lutimesSync(path, mtime, mtime);
  }
  if (owners) lchownSync(path, stat.uid, stat.gid);
  if (linkTarget !== null) return;
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    fchmodSync(fd, restoredMode(stat, owners));
    futimesSync(fd, mtime, mtime);
  } finally {
    closeSync(fd);
  }
}

/** Sets mode, time and owner of a file that stays. */
export function setAttributes(path: Buffer, entry: FileEntry, owners: boolean): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    setFinalAttributes(fd, { ...restoredAttributes(entry, owners), size: null });
  } finally {
    closeSync(fd);
  }
  if (owners) restoreOwner(path, entry);
}

/** Sets the owner of a file, then its mode again: a change of owner removes setuid and setgid. */
export function restoreOwner(path: Buffer, { uid, gid, mode }: FileEntry): void {
  lchownSync(path, uid, gid);
  if ((mode & setIdBits) === 0) return;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

/** Makes a file that has no stored block: an empty one, or one of zeros only. */
export function makeFileWithoutBlocks(path: Buffer, attributes: FinalAttributes): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    setFinalAttributes(fd, attributes);
  } finally {
    closeSync(fd);
  }
}

/** Removes what was written of a file that failed. If that fails too, returns the reason as the end of a message. */
export function removePartialFile(path: Buffer): string {
  try {
    rmSync(path, { force: true });
    return "";
  } catch (error) {
    return `; the partial file was not removed: ${errorMessage(error)}`;
  }
}
