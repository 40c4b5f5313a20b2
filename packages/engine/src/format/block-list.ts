/**
 * A data frame's block list: the id and length of the block in each slot. Slots are numbered from 0 and never renumbered: a
 * rewritten frame keeps each dropped slot, with length 0 and zero id, so recipes stay valid.
 *
 * Encoding: varint slot count; u8 shape; lengths (shape 0: one varint for all slots; 1: a u32 each); u8 slot kinds (0:
 * every slot is a whole block; 1: a byte per slot follows); 16-byte ids. Shape 0 is what a page file's frame has, and saves
 * a fifth of its block list. Slot kind 0 is a whole block. Kind 1 is reserved for a difference to another block.
 */

import { ByteReader, ByteWriter, FormatError } from "./bytes.ts";
import { UnknownKindError } from "./fields.ts";
import { blockIdLength } from "./hash.ts";

/** Ids (16 bytes each) and lengths in slot order. */
export interface BlockList {
  readonly ids: Uint8Array;
  readonly lengths: Uint32Array;
}

/** The block list of a frame without known blocks. */
export const emptyBlockList: BlockList = { ids: new Uint8Array(0), lengths: new Uint32Array(0) };

const wholeSlots = 0;
const kindPerSlot = 1;
const wholeSlot = 0;

/** The most slots of a frame: 16 MiB of one-byte blocks. */
export const maxSlots = 1 << 24;

/** A block is never longer than the plain bytes of the longest frame. */
const maxBlockBytes = 16 * 1024 * 1024;

/** Appends the block list to `writer`. */
export function writeBlockList(writer: ByteWriter, blockList: BlockList): void {
  const { ids, lengths } = blockList;
  const first = lengths[0] ?? 0;
  const uniform = lengths.every((length) => length === first);
  writer.varint(lengths.length).u8(uniform ? 0 : 1);
  if (uniform) writer.varint(first);
  else for (const length of lengths) writer.u32(length);
  writer.u8(wholeSlots).raw(ids);
}

/** The block list as bytes. */
export function encodeBlockList(blockList: BlockList): Buffer {
  const writer = new ByteWriter(16 + blockList.ids.length + blockList.lengths.length * 4);
  writeBlockList(writer, blockList);
  const bytes = writer.take();
  writer.free();
  return bytes;
}

/** Reads a block list at the reader's position. */
export function readBlockList(reader: ByteReader): BlockList {
  const count = reader.varint();
  if (count > maxSlots) throw new FormatError("a block list is too long");
  const shape = reader.u8();
  // Every slot has at least an id: a larger count is refused before memory is allocated.
  if (count * blockIdLength > reader.left) throw new FormatError("a block list is truncated");
  const lengths = new Uint32Array(count);
  if (shape === 0) lengths.fill(lengthOf(reader.varint()));
  else if (shape === 1) for (let i = 0; i < count; i++) lengths[i] = lengthOf(reader.u32());
  else throw new FormatError("an unknown block list shape");
  readSlotKinds(reader, count);
  const ids = Buffer.from(reader.raw(count * blockIdLength));
  return { ids, lengths };
}

/** This version writes whole blocks only, and refuses every other kind by its number. */
function readSlotKinds(reader: ByteReader, count: number): void {
  const form = reader.u8();
  if (form > kindPerSlot) throw new FormatError("an unknown form of slot kinds");
  if (form === wholeSlots) return;
  for (const kind of reader.raw(count)) if (kind !== wholeSlot) throw new UnknownKindError("slot", kind);
}

function lengthOf(value: number): number {
  if (value > maxBlockBytes) throw new FormatError("a slot is too long");
  return value;
}

/** Reads bytes that hold one block list and nothing else. */
export function decodeBlockList(bytes: Uint8Array): BlockList {
  const reader = new ByteReader(bytes);
  const blockList = readBlockList(reader);
  reader.done();
  return blockList;
}

/** The 16-byte id in a slot. */
export function slotId(blockList: BlockList, slot: number): Uint8Array {
  return blockList.ids.subarray(slot * blockIdLength, (slot + 1) * blockIdLength);
}
