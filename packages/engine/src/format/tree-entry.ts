/**
 * Directory entries. Names and link targets are bytes and kept exactly. Times are seconds and nanoseconds, so nothing is
 * rounded.
 *
 * A file's content is one of
 * - `empty`;
 * - `segments`: its segments in order, up to `maxInlineSegments`;
 * - `list`: the root of a list of segments, for larger files;
 * - `part`: `count` blocks from block `first` on of a bundle segment that it shares with other small files.
 * A reference is an ordinal and an id. The node or segment is checked against the id. The ordinal makes the bitmap possible
 * without looking items up.
 *
 * Encoding: u8 type (0 file, 1 directory, 2 symbolic link) · bytes name · varint mode, uid, gid · zigzag seconds · varint
 * nanoseconds · by type: file: varint size, hash (32), content; directory: reference, varint size, varint files; link:
 * bytes target · varint count of extended attributes, each bytes name, bytes value · fields (1 SHA-256 of the file, 2
 * hard-link group).
 *
 * A *hard-link group* is 8 bytes, made from the device and inode of a file with several names. Entries of one group and the
 * same content are names of one file; a restore links them.
 */

import type { ByteReader, ByteWriter } from "./bytes.ts";
import { FormatError } from "./bytes.ts";
import { readFields, UnknownKindError, writeFields } from "./fields.ts";
import { idLength } from "./hash.ts";

/** A file of up to about 64 MiB needs no segment list; 64 references take about 2.5 KiB in the directory's node. */
export const maxInlineSegments = 64;

/** A segment or node, as a tree refers to it. */
export interface Reference {
  readonly ordinal: number;
  readonly id: Uint8Array;
}

/** A segment of a file with its bytes, so that offsets are known without a lookup. */
export interface SegmentReference extends Reference {
  readonly bytes: number;
}

export type FileContent =
  | { readonly kind: "empty" }
  | { readonly kind: "segments"; readonly segments: readonly SegmentReference[] }
  | { readonly kind: "list"; readonly root: Reference; readonly depth: number }
  | { readonly kind: "part"; readonly segment: Reference; readonly first: number; readonly count: number };

export interface EntryStat {
  readonly name: Uint8Array;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeSeconds: number;
  readonly mtimeNanos: number;
  readonly attributes: readonly (readonly [Uint8Array, Uint8Array])[];
}

export interface FileEntry extends EntryStat {
  readonly type: "file";
  readonly size: number;
  readonly hash: Uint8Array;
  readonly content: FileContent;
  /** The plain SHA-256 of the content, if it was requested. */
  readonly sha256?: Uint8Array | undefined;
  readonly linkGroup?: Uint8Array | undefined;
}

export interface DirectoryEntry extends EntryStat {
  readonly type: "directory";
  readonly root: Reference;
  /** Total bytes and files at all levels below. */
  readonly size: number;
  readonly files: number;
}

export interface LinkEntry extends EntryStat {
  readonly type: "link";
  readonly target: Uint8Array;
}

export type TreeEntry = FileEntry | DirectoryEntry | LinkEntry;

const typeCodes = { file: 0, directory: 1, link: 2 } as const;

/** Appends an entry. */
export function writeEntry(writer: ByteWriter, entry: TreeEntry): void {
  writer.u8(typeCodes[entry.type]).bytes(entry.name).varint(entry.mode).varint(entry.uid).varint(entry.gid);
  writer.zigzag(entry.mtimeSeconds).varint(entry.mtimeNanos);
  if (entry.type === "file") {
    writer.varint(entry.size).raw(entry.hash);
    writeContent(writer, entry.content);
  } else if (entry.type === "directory") {
    writeReference(writer, entry.root);
    writer.varint(entry.size).varint(entry.files);
  } else writer.bytes(entry.target);
  writer.varint(entry.attributes.length);
  for (const [name, value] of entry.attributes) writer.bytes(name).bytes(value);
  writeEntryFields(writer, entry);
}

const fieldTags = { sha256: 1, linkGroup: 2 } as const;

/** Bytes of a hard-link group: two of a million files meet by chance once in 10^7 trees, and then have equal content. */
export const linkGroupLength = 8;

function writeEntryFields(writer: ByteWriter, entry: TreeEntry): void {
  const { sha256, linkGroup } = entry.type === "file" ? entry : noFields;
  // Most entries have neither: nothing is allocated for them.
  if (sha256 === undefined && linkGroup === undefined) {
    writer.varint(0);
    return;
  }
  checkLengths(sha256, linkGroup);
  writeFields(writer, [
    [fieldTags.sha256, sha256 ?? null],
    [fieldTags.linkGroup, linkGroup ?? null],
  ]);
}

const noFields: Pick<FileEntry, "sha256" | "linkGroup"> = {};

function readFileFields(reader: ByteReader): Pick<FileEntry, "sha256" | "linkGroup"> {
  const fields = readFields(reader);
  if (fields.size === 0) return noFields;
  const sha256 = fields.get(fieldTags.sha256);
  const linkGroup = fields.get(fieldTags.linkGroup);
  checkLengths(sha256, linkGroup);
  return { sha256, linkGroup };
}

/** Checked before writing too: a tree with an entry that readers refuse could not be restored. */
function checkLengths(sha256: Uint8Array | undefined, linkGroup: Uint8Array | undefined): void {
  if (sha256 !== undefined && sha256.length !== idLength) throw new FormatError("a SHA-256 has a wrong length");
  if (linkGroup !== undefined && linkGroup.length !== linkGroupLength)
    throw new FormatError("a hard-link group has a wrong length");
}

/** Reads an entry at the reader's position. */
export function readEntry(reader: ByteReader): TreeEntry {
  const type = reader.u8();
  const head = {
    name: reader.bytes(),
    mode: reader.varint(),
    uid: reader.varint(),
    gid: reader.varint(),
    mtimeSeconds: reader.zigzag(),
    mtimeNanos: reader.varint(),
  };
  if (type === 0) {
    const body = { size: reader.varint(), hash: reader.raw(idLength), content: readContent(reader) };
    return { type: "file", ...head, ...body, attributes: readAttributes(reader), ...readFileFields(reader) };
  }
  if (type === 1) {
    const body = { root: readReference(reader), size: reader.varint(), files: reader.varint() };
    const attributes = readAttributes(reader);
    readFields(reader);
    return { type: "directory", ...head, ...body, attributes };
  }
  if (type !== 2) throw new UnknownKindError("entry", type);
  const target = reader.bytes();
  const attributes = readAttributes(reader);
  readFields(reader);
  return { type: "link", ...head, target, attributes };
}

export function writeReference(writer: ByteWriter, { ordinal, id }: Reference): void {
  writer.varint(ordinal).raw(id);
}

export function readReference(reader: ByteReader): Reference {
  return { ordinal: reader.varint(), id: reader.raw(idLength) };
}

export function writeSegmentReference(writer: ByteWriter, segment: SegmentReference): void {
  writeReference(writer, segment);
  writer.varint(segment.bytes);
}

export function readSegmentReference(reader: ByteReader): SegmentReference {
  return { ordinal: reader.varint(), id: reader.raw(idLength), bytes: reader.varint() };
}

/** Appends a file's content. */
export function writeContent(writer: ByteWriter, content: FileContent): void {
  switch (content.kind) {
    case "empty":
      writer.u8(0);
      return;
    case "segments":
      writer.u8(1).varint(content.segments.length);
      for (const segment of content.segments) writeSegmentReference(writer, segment);
      return;
    case "list":
      writer.u8(2).u8(content.depth);
      writeReference(writer, content.root);
      return;
    case "part":
      writer.u8(3);
      writeReference(writer, content.segment);
      writer.varint(content.first).varint(content.count);
  }
}

function readContent(reader: ByteReader): FileContent {
  const kind = reader.u8();
  if (kind === 0) return { kind: "empty" };
  if (kind === 1) {
    const count = reader.varint();
    if (count > maxInlineSegments) throw new FormatError("too many segments in an entry");
    return { kind: "segments", segments: Array.from({ length: count }, () => readSegmentReference(reader)) };
  }
  if (kind === 2) return { kind: "list", depth: reader.u8(), root: readReference(reader) };
  if (kind !== 3) throw new FormatError("an unknown kind of content");
  return { kind: "part", segment: readReference(reader), first: reader.varint(), count: reader.varint() };
}

function readAttributes(reader: ByteReader): [Uint8Array, Uint8Array][] {
  const count = reader.varint();
  const attributes: [Uint8Array, Uint8Array][] = [];
  for (let i = 0; i < count; i++) attributes.push([reader.bytes(), reader.bytes()]);
  return attributes;
}
