/**
 * The message `find` of the read protocol: a client names paths and gets, in one answer, what the calls `open`, `items`, `frames`, `keys` and
 * `pack` would tell it one after the other on the way to these paths.
 *
 *   request  u8 with content · list of bytes path
 *   answer   as that of `open` ·
 *            list of items: varint ordinal · as in the answer of `items` ·
 *            list of frames: varint frame · as in the answer of `frames` ·
 *            list of keys: varint frame · varint generation · u32 session · key (32) · binding (32) ·
 *            list of ranges of packs: pack (16) · varint offset · bytes
 */

import type { FrameRow, Item } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import { idLength } from "../format/hash.ts";
import type { FrameKey } from "../restore/read-port.ts";
import { endMessage, nameLength, readFlag, readList, readName, writeName } from "./message.ts";
import {
  keyLength,
  maxItemsPerRead,
  type ReadStart,
  readAnswerOf,
  readFrame,
  readItem,
  readReadStart,
  readRequestOf,
  startRead,
  writeFrame,
  writeItem,
  writeReadStart,
} from "./read-messages.ts";

/** Paths of one call: a person names a few, and each costs the service a walk. */
export const maxPathsPerFind = 64;

/** Sealed bytes of one answer: the frames of a small file and of the nodes above it, or the nodes of some ten thousand files. */
export const maxFoundBytes = 4 * 1024 * 1024;

/** Frames of one answer. A block list has up to 8192 blocks of 18 bytes, so theirs have at most 20 MB together. */
export const maxFoundFrames = 128;

export interface FindRequest {
  /** Also the content of files, and the nodes of everything below directories. */
  readonly withContent: boolean;
  /** Names separated by `/`; the root of the tree is an empty path. */
  readonly paths: readonly Uint8Array[];
}

export interface FoundKey extends FrameKey {
  readonly frame: number;
  readonly generation: number;
  readonly session: number;
}

export interface FoundRange {
  readonly pack: string;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** What a service found on the way to the paths. It may be less than all of it. */
export interface Found {
  readonly items: readonly Item[];
  readonly frames: readonly FrameRow[];
  readonly keys: readonly FoundKey[];
  readonly ranges: readonly FoundRange[];
}

export function encodeFind({ withContent, paths }: FindRequest): Buffer {
  const writer = startRead("find", false)
    .u8(withContent ? 1 : 0)
    .varint(paths.length);
  for (const path of paths) writer.bytes(path);
  return endMessage(writer);
}

export function decodeFind(bytes: Uint8Array): FindRequest {
  return readRequestOf("find", bytes, (reader) => ({
    withContent: readFlag(reader, "with content"),
    paths: readList(reader, "paths", maxPathsPerFind, 1, () => reader.bytes()),
  }));
}

export function encodeFound(start: ReadStart, { items, frames, keys, ranges }: Found): Buffer {
  const writer = writeReadStart(startRead("find", true), start).varint(items.length);
  for (const item of items) writeItem(writer.varint(item.ordinal), item);
  writer.varint(frames.length);
  for (const row of frames) writeFrame(writer.varint(row.frame), row);
  writer.varint(keys.length);
  for (const { frame, generation, session, key, binding } of keys)
    writer.varint(frame).varint(generation).u32(session).raw(key).raw(binding);
  writer.varint(ranges.length);
  for (const { pack, offset, bytes } of ranges) {
    writeName(writer, pack);
    writer.varint(offset).bytes(bytes);
  }
  return endMessage(writer);
}

/** The fewest bytes of an item, a frame, a key and a range. */
const minBytes = {
  item: 4 + idLength,
  frame: 12 + nameLength + idLength,
  key: 6 + 2 * keyLength,
  range: 2 + nameLength,
};

export function decodeFound(bytes: Uint8Array): { readonly start: ReadStart; readonly found: Found } {
  return readAnswerOf("find", bytes, (reader) => {
    const start = readReadStart(reader);
    const items = readList(reader, "items", maxItemsPerRead, minBytes.item, () => readItem(reader, reader.varint()));
    const frames = readList(reader, "frames", maxFoundFrames, minBytes.frame, () => readFrame(reader, reader.varint()));
    const keys = readList(reader, "keys", maxFoundFrames, minBytes.key, () => ({
      ...{ frame: reader.varint(), generation: reader.varint(), session: reader.u32() },
      ...{ key: reader.raw(keyLength), binding: reader.raw(keyLength) },
    }));
    const ranges = readList(reader, "ranges", maxFoundFrames, minBytes.range, () => ({
      ...{ pack: readName(reader), offset: reader.varint() },
      bytes: reader.bytes(),
    }));
    if (ranges.reduce((sum, range) => sum + range.bytes.length, 0) > 2 * maxFoundBytes)
      throw new FormatError("the ranges are too long");
    return { start, found: { items, frames, keys, ranges } };
  });
}
