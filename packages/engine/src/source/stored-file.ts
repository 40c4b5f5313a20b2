/**
 * Files whose content is stored before there is a snapshot of them: each came in a request of its own. A file is stored in
 * *parts*: a small one in one part of blocks, a larger one in parts of segments. What is kept of a part until the snapshot is
 * made is encoded here; the content itself is in packs of the vault.
 *
 * Encoding of a part: u8 kind (0 blocks, 1 segments) · blocks: varint ordinal, hash (32), varint count, count ids (16), count
 * varint lengths · segments: varint count, the references as in an entry of a tree.
 */

import { ByteReader, ByteWriter, FormatError } from "../format/bytes.ts";
import { blockIdLength, fileHash, idLength, segmentId } from "../format/hash.ts";
import type { Recipe } from "../format/recipe.ts";
import type { FileEntry, SegmentReference } from "../format/tree-entry.ts";
import { readSegmentReference, writeSegmentReference } from "../format/tree-entry.ts";

/** A small file: the segment that it is by itself, and its blocks. */
export interface BlocksPart {
  readonly kind: "blocks";
  readonly ordinal: number;
  /** Of the file. */
  readonly hash: Uint8Array;
  /** 16 bytes per block. */
  readonly ids: Uint8Array;
  readonly lengths: Uint32Array;
}

/** A stripe of a larger file. */
export interface SegmentsPart {
  readonly kind: "segments";
  readonly segments: readonly SegmentReference[];
}

export type StoredPart = BlocksPart | SegmentsPart;

/** The blocks of a small file, and where they are. */
export interface StoredBlocks extends Omit<BlocksPart, "ordinal"> {
  readonly recipe: Recipe;
}

/** A file as a backup takes it. An empty one has no segments. */
export type StoredFile = StoredBlocks | SegmentsPart;

/** More blocks or segments than a part can have. */
const maxCount = 1 << 20;

export function encodePart(part: StoredPart): Buffer {
  const writer = new ByteWriter(256);
  if (part.kind === "blocks") {
    writer.u8(0).varint(part.ordinal).raw(part.hash).varint(part.lengths.length).raw(part.ids);
    for (const length of part.lengths) writer.varint(length);
  } else {
    writer.u8(1).varint(part.segments.length);
    for (const segment of part.segments) writeSegmentReference(writer, segment);
  }
  return writer.take();
}

export function decodePart(bytes: Uint8Array): StoredPart {
  const reader = new ByteReader(bytes);
  const part = readPart(reader);
  reader.done();
  return part;
}

function readPart(reader: ByteReader): StoredPart {
  const kind = reader.u8();
  if (kind === 0) {
    const [ordinal, hash, count] = [reader.varint(), Buffer.from(reader.raw(idLength)), countOf(reader)];
    const ids = Buffer.from(reader.raw(count * blockIdLength));
    return { kind: "blocks", ordinal, hash, ids, lengths: Uint32Array.from({ length: count }, () => reader.varint()) };
  }
  if (kind !== 1) throw new FormatError("an unknown kind of part");
  const segments = Array.from({ length: countOf(reader) }, () => {
    const { ordinal, id, bytes } = readSegmentReference(reader);
    return { ordinal, id: Buffer.from(id), bytes };
  });
  return { kind: "segments", segments };
}

function countOf(reader: ByteReader): number {
  const count = reader.varint();
  if (count > maxCount) throw new FormatError("a part is too long");
  return count;
}

/** The hash of a file of these parts, as the snapshot will have it. */
export function hashOfParts(parts: readonly StoredPart[]): Uint8Array {
  const [first] = parts;
  if (first?.kind === "blocks") return first.hash;
  const segments = parts.flatMap((part) => (part.kind === "segments" ? part.segments : []));
  const size = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  return fileHash(
    size,
    segments.map(({ id }) => id),
  );
}

/** A part as a file of a tree, to be read back. */
export function entryOfPart(part: StoredPart): FileEntry {
  const stat = { name: new Uint8Array(0), mode: 0, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] };
  const file = { type: "file", ...stat, hash: hashOfParts([part]) } as const;
  if (part.kind === "segments") {
    const size = part.segments.reduce((sum, { bytes }) => sum + bytes, 0);
    return { ...file, size, content: { kind: "segments", segments: part.segments } };
  }
  const segment = { ordinal: part.ordinal, id: segmentId(part.ids, part.lengths) };
  const size = part.lengths.reduce((sum, length) => sum + length, 0);
  return { ...file, size, content: { kind: "part", segment, first: 0, count: part.lengths.length } };
}

/** The items that a part needs. */
export function ordinalsOfPart(part: StoredPart): readonly number[] {
  return part.kind === "blocks" ? [part.ordinal] : part.segments.map(({ ordinal }) => ordinal);
}
