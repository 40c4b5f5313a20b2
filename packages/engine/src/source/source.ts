/**
 * A *source* is where the files of a backup come from: a folder, a received archive, or a test. A walk goes through it
 * depth first, the names of every directory in byte order, and yields one *event* per entry.
 *
 * A *file stat* is what identifies a file in one state: device, inode, size, mtime and ctime.
 * A *change stat* is the inode and the ctime of a file. A tree does not store them; the file cache does.
 * A *quick stat* is a stat in doubles: enough to see that a file changed, not enough to store it.
 * A *directory digest* is a hash over the names and quick stats of all files of a directory.
 */

import type { BigIntStats } from "node:fs";
import { constants } from "node:fs";
import { sameBytes } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import type { EntryStat } from "../format/tree-entry.ts";
import { linkGroupLength } from "../format/tree-entry.ts";
import type { StoredFile } from "./stored-file.ts";

/** Stat fields that show whether a file changed and that a tree does not store. */
export interface ChangeStat {
  readonly inode: bigint;
  readonly ctimeNs: bigint;
}

/** The state in which the walk found a file. The reader compares it, because another file can be at the path by then. */
export interface FileStat {
  readonly device: bigint;
  readonly inode: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Where a file's bytes are: at its own path, or inside a spooled archive, which has no file stat. */
export interface ContentPlace {
  readonly path: Uint8Array;
  readonly offset: number;
  readonly statAtWalk?: FileStat | undefined;
}

export type SourceEvent =
  | {
      readonly type: "enter";
      readonly path: Uint8Array;
      readonly stat: EntryStat;
      /** From `identityOf`: it stays the same when the directory is moved. Left out where the file system has none. */
      readonly identity?: Uint8Array | undefined;
    }
  | { readonly type: "leave" }
  | {
      readonly type: "file";
      readonly path: Uint8Array;
      readonly stat: EntryStat;
      readonly size: number;
      readonly changeStat: ChangeStat;
      readonly content: ContentPlace;
      /** From `linkGroupOf`, for a file that has more than one name. */
      readonly linkGroup?: Uint8Array | undefined;
      /** The plain SHA-256 of the content, where the source knows it. It is stored with the entry. */
      readonly sha256?: Uint8Array | undefined;
      /** Where the content is stored already. It is not read then. */
      readonly stored?: StoredFile | undefined;
      /** Stats the same path again, after the file was replaced while it was read. Null: it is not a file any more. */
      readonly statAgain?: (() => FileEvent | null) | undefined;
    }
  | { readonly type: "link"; readonly path: Uint8Array; readonly stat: EntryStat; readonly target: Uint8Array }
  | { readonly type: "warning"; readonly path: Uint8Array; readonly code: string };

export type FileEvent = SourceEvent & { readonly type: "file" };

/**
 * A quick stat of a file: its name and the stat fields that show whether it changed. One object serves all files: it is
 * valid until the next one is asked for.
 */
export interface QuickStat {
  /** The name is `bytes` from `nameStart` to `nameEnd`. */
  readonly bytes: Uint8Array;
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly inode: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Stats the same path again, with everything that a backup stores. It can be something else by then, or gone. */
  fullStat(): SourceEvent;
}

/** Quick stats of files that follow each other in one directory. Valid until the walk goes on. */
export interface QuickStats {
  readonly type: "quick-stats";
  readonly count: number;
  /** Whether the directory holds these files and nothing else. */
  readonly isWholeDirectory: boolean;
  /** The directory's digest (`directory-digest.ts`), where `isWholeDirectory`. */
  digest(): Uint8Array;
  file(index: number): QuickStat;
}

export interface BackupSource {
  /** The first event enters the root, the last one leaves it. */
  walk(): AsyncIterable<SourceEvent>;
  /** The same walk for a backup with a usable file cache. Files come as quick stats, without an event for each. */
  quickWalk?(): Iterable<SourceEvent | QuickStats>;
}

export function fileStatOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileStat {
  return { device: dev, inode: ino, size, mtimeNs, ctimeNs };
}

/** Whether both are the same file in the same state. */
export function sameFileStat(a: FileStat, b: FileStat): boolean {
  return (
    a.device === b.device &&
    a.inode === b.inode &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs
  );
}

/** Wide enough for the device numbers of every system. */
const deviceBytes = 8;

/**
 * What identifies a directory when it is moved: device, inode and birth time. The birth time is needed because inode
 * numbers are reused. A file system without birth times gives no identity.
 */
export function identityOf({ dev, ino, birthtimeNs }: BigIntStats): Uint8Array | undefined {
  if (birthtimeNs === 0n) return undefined;
  const identity = Buffer.allocUnsafe(deviceBytes + 16);
  identity.writeBigUInt64LE(BigInt.asUintN(64, dev), 0);
  identity.writeBigUInt64LE(BigInt.asUintN(64, ino), deviceBytes);
  identity.writeBigUInt64LE(BigInt.asUintN(64, birthtimeNs), deviceBytes + 8);
  return identity;
}

/** The hard-link group of a file: the same for all names of one file. Files with one name have none. */
export function linkGroupOf({ dev, ino, nlink }: BigIntStats): Uint8Array | undefined {
  if (nlink < 2n) return undefined;
  const names = Buffer.allocUnsafe(2 * deviceBytes);
  names.writeBigUInt64LE(BigInt.asUintN(64, dev), 0);
  names.writeBigUInt64LE(BigInt.asUintN(64, ino), deviceBytes);
  return sha256(names).subarray(0, linkGroupLength);
}

/** Whether two identities are of one device. */
export function sameDevice(a: Uint8Array, b: Uint8Array): boolean {
  return sameBytes(a.subarray(0, deviceBytes), b.subarray(0, deviceBytes));
}

/** Does not follow a link and does not wait: after the stat, a link or a pipe can take the place of the file. */
export const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
