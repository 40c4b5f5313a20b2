/**
 * Where the files of a backup come from. A source is walked depth first, every directory's names in byte order, and
 * says what it sees as events. The pipeline needs nothing else, so a folder, a received archive or a test can be one.
 */

import type { BigIntStats } from "node:fs";
import { constants } from "node:fs";
import { sameBytes } from "../format/bytes.ts";
import type { EntryFacts } from "../format/tree-entry.ts";

/** Facts that tell whether a file changed, beyond what a tree keeps. */
export interface ChangeMarks {
  readonly inode: bigint;
  readonly ctimeNs: bigint;
}

/** A file as it was when it was seen. Reading compares: a file that is another one by then must not pass for it. */
export interface FileStat {
  readonly device: bigint;
  readonly inode: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Where a file's bytes are: mostly its own path from 0 on, or a part of a spooled archive (which has no sight). */
export interface ContentPlace {
  readonly path: Uint8Array;
  readonly offset: number;
  readonly seen?: FileStat | undefined;
}

export type SourceEvent =
  | {
      readonly type: "enter";
      readonly path: Uint8Array;
      readonly facts: EntryFacts;
      /** From `identityOf`: the same wherever the directory is moved to. Left out where nobody can tell. */
      readonly identity?: Uint8Array | undefined;
    }
  | { readonly type: "leave" }
  | {
      readonly type: "file";
      readonly path: Uint8Array;
      readonly facts: EntryFacts;
      readonly size: number;
      readonly marks: ChangeMarks;
      readonly content: ContentPlace;
      /** Looks at the same path anew, for a file that was replaced while it was read. Null: it is no file any more. */
      readonly again?: (() => FileEvent | null) | undefined;
    }
  | { readonly type: "link"; readonly path: Uint8Array; readonly facts: EntryFacts; readonly target: Uint8Array }
  | { readonly type: "warning"; readonly path: Uint8Array; readonly code: string };

export type FileEvent = SourceEvent & { readonly type: "file" };

/**
 * A file of which as much was looked at as tells whether it is the one that is remembered. One object is used for all:
 * it is valid until the walk goes on.
 */
export interface GlimpsedFile {
  readonly type: "glimpse";
  /** The name is at these places of `bytes`. */
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
  /** Looks at it closely, with everything that a backup must know. By then it may be something else, or gone. */
  look(): SourceEvent;
}

/**
 * All files of a directory, or those before the first entry that is something else, glimpsed one after the other. Valid
 * until the walk goes on.
 */
export interface CalledRoll {
  readonly type: "roll";
  readonly count: number;
  /** Whether the directory has nothing else. */
  readonly isWhole: boolean;
  /** Of a whole one. */
  digest(): Uint8Array;
  files(): Iterable<GlimpsedFile>;
}

export interface BackupSource {
  /** The first event enters the root, the last one leaves it. */
  walk(): AsyncIterable<SourceEvent>;
  /** The same walk for whoever remembers what was there: quicker, since files are only glimpsed. */
  glimpses?(): Iterable<SourceEvent | GlimpsedFile | CalledRoll>;
}

/** A file as it is now. */
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
 * What a directory is known by when it moves: its device, its number there, and when it was made, since numbers are used
 * again. File systems that do not say when have numbers that mean little.
 */
export function identityOf({ dev, ino, birthtimeNs }: BigIntStats): Uint8Array | undefined {
  if (birthtimeNs === 0n) return undefined;
  const identity = Buffer.allocUnsafe(deviceBytes + 16);
  identity.writeBigUInt64LE(BigInt.asUintN(64, dev), 0);
  identity.writeBigUInt64LE(BigInt.asUintN(64, ino), deviceBytes);
  identity.writeBigUInt64LE(BigInt.asUintN(64, birthtimeNs), deviceBytes + 8);
  return identity;
}

/** Whether two identities are of one device. */
export function sameDevice(a: Uint8Array, b: Uint8Array): boolean {
  return sameBytes(a.subarray(0, deviceBytes), b.subarray(0, deviceBytes));
}

/** Opens for reading, not through a link and never waiting: a path may be swapped for a link or a pipe after it was seen. */
export const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
