/** What a record of a zip's directory means: the path, type, mode, owner and time of an entry, and whether it can be read. */

import { crc32 } from "node:zlib";
import { maxPathBytes, snapshotPath } from "./archive-path.ts";
import type { Moment } from "./extended-header.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import { maxFileBytes } from "./received-archive.ts";
import type { DirectoryRecord } from "./zip-directory.ts";
import { dosAttributes, extraIds, fileTypes, flags, methods, permissionBits, systems } from "./zip-format.ts";
import { readTime } from "./zip-time.ts";

export interface ZipEntry {
  /** `special`: a device, a pipe or a socket, which a snapshot does not have. */
  readonly type: "file" | "directory" | "symbolic-link" | "special";
  /** As in a snapshot; empty for the root. */
  readonly path: Buffer;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtime: Moment;
}

/** Modes of entries that say none. */
const defaultModes = { file: 0o644, readOnlyFile: 0o444, directory: 0o755 } as const;

/** Deflate makes at most 258 bytes of two bits, so a part that says more than this is wrong without looking at it. */
const mostRatio = 1032;

/** The target of a symbolic link, also if deflate makes it longer. It is read at once. */
const maxTargetBytes = maxPathBytes + 64;

const slash = 0x2f;
const backslash = 0x5c;

const dosSystems: ReadonlySet<number> = new Set([systems.fat, systems.hpfs, systems.ntfs, systems.vfat]);
const unixSystems: ReadonlySet<number> = new Set([systems.unix, systems.darwin]);

const encryptionFlags = flags.encrypted | flags.strongEncryption | flags.maskedHeaders;

/** Refuses what cannot be read. */
export function readEntry(record: DirectoryRecord): ZipEntry {
  const { extras, dosDate, dosTime } = record;
  const name = nameOf(record);
  if (name.length === 0) throw new InvalidArchiveError("empty_path");
  const path = snapshotPath(name);
  refuseUnreadable(record, path);
  const unixMode = unixModeOf(record);
  const type = typeOf(record, name, unixMode);
  refuseWrongSizes(record, type, path);
  if (path.length === 0 && type !== "directory") throw new InvalidArchiveError("empty_path", name);
  return {
    ...{ type, path, mtime: readTime(extras, dosDate, dosTime), ...ownerOf(extras.get(extraIds.owner)) },
    mode: unixMode === 0 ? dosMode(record, type) : unixMode & permissionBits,
  };
}

/**
 * The name in bytes: that of the Unicode extra field if it was made for this name, else as it is, in whatever encoding. Programs on
 * Windows have written `\` as the separator; a name of theirs that also has `/` uses that.
 */
function nameOf({ name, extras, system }: DirectoryRecord): Buffer {
  const unicode = extras.get(extraIds.unicodePath);
  // A version, the CRC-32 of the name, and the name in UTF-8.
  const isMeant =
    unicode !== undefined && unicode.length > 5 && unicode[0] === 1 && unicode.readUInt32LE(1) === crc32(name);
  const found = isMeant ? unicode.subarray(5) : name;
  if (!dosSystems.has(system) || found.includes(slash) || !found.includes(backslash)) return Buffer.from(found);
  return Buffer.from(found.map((byte) => (byte === backslash ? slash : byte)));
}

function refuseUnreadable({ flags: flagBits, method }: DirectoryRecord, path: Buffer): void {
  if ((flagBits & encryptionFlags) !== 0) throw new InvalidArchiveError("encrypted_entry", path);
  const isKnown = method === methods.stored || method === methods.deflated;
  if (!isKnown || (flagBits & flags.patch) !== 0) throw new InvalidArchiveError("unsupported_compression", path);
}

/** Sizes that cannot be true, known before anything is inflated. */
function refuseWrongSizes({ method, length, size }: DirectoryRecord, type: ZipEntry["type"], path: Buffer): void {
  if (size > maxFileBytes) throw new InvalidArchiveError("file_too_large", path);
  const isPossible = method === methods.stored ? length === size : size <= length * mostRatio;
  if (!isPossible) throw new InvalidArchiveError("size_mismatch", path);
  if (type === "directory" && size > 0) throw new InvalidArchiveError("contradictory_entry", path);
  if (type === "symbolic-link" && Math.max(size, length) > maxTargetBytes)
    throw new InvalidArchiveError("path_too_long", path);
}

/** The mode with its type; 0 if the entry has none. */
function unixModeOf({ system, attributes }: DirectoryRecord): number {
  const isUnix = unixSystems.has(system) || (attributes & dosAttributes.hasUnixMode) !== 0;
  return isUnix ? attributes >>> 16 : 0;
}

function typeOf({ system, attributes }: DirectoryRecord, name: Buffer, unixMode: number): ZipEntry["type"] {
  // Every program takes such a name for a directory.
  if (name.at(-1) === slash) return "directory";
  switch (unixMode & fileTypes.mask) {
    case fileTypes.directory:
      return "directory";
    case fileTypes.link:
      return "symbolic-link";
    case fileTypes.regular:
      return "file";
    case 0:
      return dosSystems.has(system) && (attributes & dosAttributes.directory) !== 0 ? "directory" : "file";
    default:
      return "special";
  }
}

function dosMode({ attributes }: DirectoryRecord, type: ZipEntry["type"]): number {
  if (type === "directory") return defaultModes.directory;
  return (attributes & dosAttributes.readOnly) === 0 ? defaultModes.file : defaultModes.readOnlyFile;
}

/** Info-ZIP's owner field: a version, and two numbers with their lengths. Others than of 32 bits are left out. */
function ownerOf(field: Buffer | undefined): { readonly uid: number; readonly gid: number } {
  const isReadable = field?.length === 11 && field[0] === 1 && field[1] === 4 && field[6] === 4;
  return isReadable ? { uid: field.readUInt32LE(2), gid: field.readUInt32LE(7) } : { uid: 0, gid: 0 };
}
