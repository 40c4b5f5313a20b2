/**
 * The message that registers a unit. Its answer has no payload.
 *
 *   register   request      varint number · varint packs, 16 bytes each · varint block lists · varint items · varint hooks,
 *                           each 8 bytes, varint ordinal · varint follows, each varint earlier, varint later
 *              block list   varint frame · varint record frame · bytes block list (docs/FORMAT.md, section 5)
 *              item         varint ordinal · u8 kind (0 segment, 1 node) · id (32) · bytes recipe · varint record frame
 */

import type { ClientItem, ClientUnit, FrameBlockList } from "../backup/upload-target.ts";
import type { ByteReader } from "../format/bytes.ts";
import { FormatError } from "../format/bytes.ts";
import { idLength } from "../format/hash.ts";
import {
  endMessage,
  nameLength,
  readFlag,
  readHook,
  readList,
  readName,
  readRequest,
  startRequest,
  writeName,
} from "./message.ts";

/** Packs of a unit: a client of ours has a handful. */
const maxPacks = 1024;

/** Frames and pairs of a unit, and its items: a client of ours registers after 4096 segments or 8192 nodes. */
const maxRows = 1 << 16;

/** Hooks of a unit: 48 for each of its segments at most. */
const maxHooks = 1 << 18;

/** The shortest rows: an id or a hook, and one byte for each number, kind and length. They bound counts by the bytes that are left. */
const shortest = { blockList: 3, item: idLength + 4, hook: 9, follows: 2 } as const;

export function encodeUnit(unit: ClientUnit): Buffer {
  assertNumber(unit.number);
  const writer = startRequest("register", 4096).varint(unit.number).varint(unit.packs.length);
  for (const pack of unit.packs) writeName(writer, pack);
  writer.varint(unit.blockLists.length);
  for (const { frame, recordFrame, blockList } of unit.blockLists)
    writer.varint(frame).varint(recordFrame).bytes(blockList);
  writer.varint(unit.items.length);
  for (const { ordinal, kind, id, recipe, recordFrame } of unit.items) {
    assertNumber(ordinal);
    if (id.length !== idLength) throw new FormatError("not the id of an item");
    writer
      .varint(ordinal)
      .u8(kind === "node" ? 1 : 0)
      .raw(id)
      .bytes(recipe)
      .varint(recordFrame);
  }
  writer.varint(unit.hooks.length);
  for (const [hook, ordinal] of unit.hooks) writer.i64(hook).varint(ordinal);
  writer.varint(unit.follows.length);
  for (const [earlier, later] of unit.follows) writer.varint(earlier).varint(later);
  return endMessage(writer);
}

/** A number that no message can hold is refused like one that breaks a rule. */
function assertNumber(value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new FormatError("a number of a unit is out of range");
}

export function decodeUnit(bytes: Uint8Array): ClientUnit {
  return readRequest("register", bytes, (reader) => ({
    number: reader.varint(),
    packs: readList(reader, "packs", maxPacks, nameLength, readName),
    blockLists: readList(reader, "block lists", maxRows, shortest.blockList, readFrameBlockList),
    items: readList(reader, "items", maxRows, shortest.item, readItem),
    hooks: readList(reader, "hooks", maxHooks, shortest.hook, (from) => [readHook(from), from.varint()] as const),
    follows: readList(reader, "follows", maxRows, shortest.follows, (from) => [from.varint(), from.varint()] as const),
  }));
}

function readFrameBlockList(reader: ByteReader): FrameBlockList {
  return { frame: reader.varint(), recordFrame: reader.varint(), blockList: reader.bytes() };
}

function readItem(reader: ByteReader): ClientItem {
  return {
    ordinal: reader.varint(),
    kind: readFlag(reader, "the kind of an item") ? "node" : "segment",
    id: reader.raw(idLength),
    recipe: reader.bytes(),
    recordFrame: reader.varint(),
  };
}
