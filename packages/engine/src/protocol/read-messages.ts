/**
 * The messages of the read protocol (docs/PROTOCOL.md, section 6): the read port of one snapshot for a client.
 *
 *   open     request  –
 *            answer   vault id (16) · block-id key (32) · node key (32) · varint root ordinal · root id (32)
 *   items    request  list of varint ordinal
 *            answer   per ordinal: u8 is there · u8 kind · id (32) · bytes recipe · varint record frame · u8 verified
 *   frames   request  list of varint frame, varint ordinal of an item that needs it
 *            answer   per frame: u8 is there · varint generation · u8 kind · pack (16) · varint offset · varint length · frame id (32) ·
 *                     u32 sealing session · varint record frame · u8 damaged · bytes block list
 *   keys     request  list of varint frame, varint ordinal · u32 session · u32 worker · u32 counter · u32 generation
 *            answer   per frame: u8 is there · key (32) · binding (32); else text reason
 *   find     `find-messages.ts`
 */

import type { FrameRow, Item } from "../catalog/catalog.ts";
import { type ByteReader, ByteWriter, FormatError } from "../format/bytes.ts";
import { idLength } from "../format/hash.ts";
import type { Reference } from "../format/tree-entry.ts";
import type { FrameKey, ReadKeys, SealedFrame } from "../restore/read-port.ts";
import {
  endMessage,
  nameLength,
  protocolVersion,
  readFlag,
  readList,
  readMessage,
  readName,
  writeName,
} from "./message.ts";

export const readOperationCodes = { open: 16, items: 17, frames: 18, keys: 19, find: 20 } as const;
export type ReadOperation = keyof typeof readOperationCodes;
export const readOperations = Object.keys(readOperationCodes) as readonly ReadOperation[];

/** Ordinals of one call: what a window of a restore looks up at a time. */
export const maxItemsPerRead = 4096;
/** Frames of one call. A block list has up to 8192 blocks of 18 bytes, so an answer has at most 20 MB. */
export const maxFramesPerRead = 128;

/** The longest request: a frame takes 30 bytes. */
export const maxReadRequestBytes = 64 * 1024;
/** As in the upload protocol. */
const maxReadAnswerBytes = 32 * 1024 * 1024;

const answerBit = 0x80;
export const keyLength = 32;

/** A frame, and an item of the snapshot that needs it: without one nothing is told of a frame. */
export interface NeededBy {
  readonly frame: number;
  readonly ordinal: number;
}

/** A sealed frame as its header names it, and an item that needs it. */
export type NeededKey = SealedFrame & NeededBy;

/** What a client knows of a snapshot before it reads. */
export interface ReadStart {
  readonly keys: ReadKeys;
  readonly root: Reference;
}

export function startRead(operation: ReadOperation, isAnswer: boolean): ByteWriter {
  return new ByteWriter().u8(protocolVersion).u8(readOperationCodes[operation] | (isAnswer ? answerBit : 0));
}

export function readRequestOf<T>(operation: ReadOperation, bytes: Uint8Array, read: (from: ByteReader) => T): T {
  if (bytes.length > maxReadRequestBytes) throw new FormatError(`the request ${operation} is too long`);
  return readMessage(`the request ${operation}`, readOperationCodes[operation], bytes, read);
}

export function readAnswerOf<T>(operation: ReadOperation, bytes: Uint8Array, read: (from: ByteReader) => T): T {
  if (bytes.length > maxReadAnswerBytes) throw new FormatError(`the answer to ${operation} is too long`);
  return readMessage(`the answer to ${operation}`, readOperationCodes[operation] | answerBit, bytes, read);
}

export function encodeOpenRead(): Buffer {
  return endMessage(startRead("open", false));
}

export function decodeOpenRead(bytes: Uint8Array): void {
  readRequestOf("open", bytes, () => {});
}

export function encodeReadStart(at: ReadStart): Buffer {
  return endMessage(writeReadStart(startRead("open", true), at));
}

export function decodeReadStart(bytes: Uint8Array): ReadStart {
  return readAnswerOf("open", bytes, readReadStart);
}

export function writeReadStart(writer: ByteWriter, { keys, root }: ReadStart): ByteWriter {
  return writer.raw(keys.vaultId).raw(keys.blockIdKey).raw(keys.nodeKey).varint(root.ordinal).raw(root.id);
}

export function readReadStart(reader: ByteReader): ReadStart {
  return {
    keys: { vaultId: reader.raw(nameLength), blockIdKey: reader.raw(keyLength), nodeKey: reader.raw(keyLength) },
    root: { ordinal: reader.varint(), id: reader.raw(idLength) },
  };
}

export function encodeItemQuery(ordinals: readonly number[]): Buffer {
  const writer = startRead("items", false).varint(ordinals.length);
  for (const ordinal of ordinals) writer.varint(ordinal);
  return endMessage(writer);
}

export function decodeItemQuery(bytes: Uint8Array): number[] {
  return readRequestOf("items", bytes, (reader) =>
    readList(reader, "ordinals", maxItemsPerRead, 1, () => reader.varint()),
  );
}

const itemKinds = ["segment", "node"] as const;

/** Who stored an item, and what followed it there, is not told. */
export function encodeItems(items: readonly (Item | null)[]): Buffer {
  const writer = startRead("items", true).varint(items.length);
  for (const item of items) {
    writer.u8(item === null ? 0 : 1);
    if (item !== null) writeItem(writer, item);
  }
  return endMessage(writer);
}

export function writeItem(writer: ByteWriter, item: Item): void {
  writer.u8(itemKinds.indexOf(item.kind)).raw(item.id).bytes(item.recipe).varint(item.recordFrame);
  writer.u8(item.verified ? 1 : 0);
}

export function decodeItems(bytes: Uint8Array, ordinals: readonly number[]): (Item | null)[] {
  return readAnswerOf("items", bytes, (reader) => {
    let at = 0;
    const items = readList(reader, "items", ordinals.length, 1, () => {
      const ordinal = ordinals[at++] ?? 0;
      return readFlag(reader, "item") ? readItem(reader, ordinal) : null;
    });
    if (items.length !== ordinals.length) throw new FormatError("the answer has not as many items");
    return items;
  });
}

export function readItem(reader: ByteReader, ordinal: number): Item {
  const kind = itemKinds[reader.u8()];
  if (kind === undefined) throw new FormatError("an item of another kind");
  const [id, recipe, recordFrame] = [reader.raw(idLength), reader.bytes(), reader.varint()];
  return { ordinal, kind, id, recipe, recordFrame, verified: readFlag(reader, "verified"), next: 0, owner: "" };
}

export function encodeFrameQuery(frames: readonly NeededBy[]): Buffer {
  const writer = startRead("frames", false).varint(frames.length);
  for (const { frame, ordinal } of frames) writer.varint(frame).varint(ordinal);
  return endMessage(writer);
}

export function decodeFrameQuery(bytes: Uint8Array): NeededBy[] {
  return readRequestOf("frames", bytes, (reader) =>
    readList(reader, "frames", maxFramesPerRead, 2, () => ({ frame: reader.varint(), ordinal: reader.varint() })),
  );
}

const frameKinds = ["data", "meta"] as const;

export function encodeFrames(rows: readonly (FrameRow | null)[]): Buffer {
  const writer = startRead("frames", true).varint(rows.length);
  for (const row of rows) {
    writer.u8(row === null ? 0 : 1);
    if (row !== null) writeFrame(writer, row);
  }
  return endMessage(writer);
}

export function writeFrame(writer: ByteWriter, row: FrameRow): void {
  writer.varint(row.generation).u8(frameKinds.indexOf(row.kind));
  writeName(writer, row.pack);
  writer.varint(row.offset).varint(row.length).raw(row.frameId).u32(row.session).varint(row.recordFrame);
  writer.u8(row.damaged ? 1 : 0).bytes(row.blockList);
}

export function decodeFrames(bytes: Uint8Array, frames: readonly number[]): (FrameRow | null)[] {
  return readAnswerOf("frames", bytes, (reader) => {
    let at = 0;
    const rows = readList(reader, "frames", frames.length, 1, () => {
      const frame = frames[at++] ?? 0;
      return readFlag(reader, "frame") ? readFrame(reader, frame) : null;
    });
    if (rows.length !== frames.length) throw new FormatError("the answer has not as many frames");
    return rows;
  });
}

export function readFrame(reader: ByteReader, frame: number): FrameRow {
  const generation = reader.varint();
  const kind = frameKinds[reader.u8()];
  if (kind === undefined) throw new FormatError("a frame of another kind");
  const place = { pack: readName(reader), offset: reader.varint(), length: reader.varint() };
  const [frameId, session, recordFrame] = [reader.raw(idLength), reader.u32(), reader.varint()];
  const damaged = readFlag(reader, "damaged");
  return { frame, generation, kind, ...place, frameId, session, recordFrame, damaged, blockList: reader.bytes() };
}

export function encodeKeyQuery(frames: readonly NeededKey[]): Buffer {
  const writer = startRead("keys", false).varint(frames.length);
  for (const { frame, ordinal, session, worker, counter, generation } of frames)
    writer.varint(frame).varint(ordinal).u32(session).u32(worker).u32(counter).u32(generation);
  return endMessage(writer);
}

/** Of a frame in a request for keys: two varints and four numbers. */
const minKeyBytes = 18;

export function decodeKeyQuery(bytes: Uint8Array): NeededKey[] {
  return readRequestOf("keys", bytes, (reader) =>
    readList(reader, "frames", maxFramesPerRead, minKeyBytes, () => {
      const [frame, ordinal] = [reader.varint(), reader.varint()];
      const [session, worker, counter, generation] = [reader.u32(), reader.u32(), reader.u32(), reader.u32()];
      return { frame, ordinal, session, worker, counter, generation };
    }),
  );
}

export function encodeKeys(keys: readonly (FrameKey | string)[]): Buffer {
  const writer = startRead("keys", true).varint(keys.length);
  for (const key of keys)
    if (typeof key === "string") writer.u8(0).text(key);
    else writer.u8(1).raw(key.key).raw(key.binding);
  return endMessage(writer);
}

export function decodeKeys(bytes: Uint8Array, count: number): (FrameKey | string)[] {
  return readAnswerOf("keys", bytes, (reader) => {
    const keys = readList(reader, "keys", count, 1, () =>
      readFlag(reader, "key") ? { key: reader.raw(keyLength), binding: reader.raw(keyLength) } : reader.text(),
    );
    if (keys.length !== count) throw new FormatError("the answer has not as many keys");
    return keys;
  });
}
