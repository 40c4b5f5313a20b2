/**
 * The metadata items of a metadata frame: tree nodes, segment records, copies of block lists. The plain bytes are items one
 * after the other; an item's number in the frame is its slot. A rewritten frame has a `dropped` item in each slot that is no
 * longer needed.
 *
 *   u8 0 node       varint ordinal · id (32) · bytes node
 *   u8 1 segment    varint ordinal · id (32) · bytes recipe · varint hooks, each 8 bytes
 *   u8 2 block list varint frame number · varint generation · bytes block list
 *   u8 3 dropped
 */

import { ByteReader, type ByteWriter, FormatError } from "./bytes.ts";
import { UnknownKindError } from "./fields.ts";
import { idLength } from "./hash.ts";

const hookLength = 8;

/**
 * Items of a frame. A node or record has at least 35 bytes, so the longest frame has fewer. A dropped item is one byte: without the
 * limit a few sealed bytes would become 16 million items.
 */
const maxItems = 2 ** 19;

export type MetadataItem =
  | { readonly kind: "node"; readonly ordinal: number; readonly id: Uint8Array; readonly bytes: Uint8Array }
  | {
      readonly kind: "segment";
      readonly ordinal: number;
      readonly id: Uint8Array;
      readonly recipe: Uint8Array;
      readonly hooks: readonly bigint[];
    }
  | { readonly kind: "blockList"; readonly frame: number; readonly generation: number; readonly blockList: Uint8Array }
  | { readonly kind: "dropped" };

/** Appends an item. */
export function writeMetadataItem(writer: ByteWriter, item: MetadataItem): void {
  switch (item.kind) {
    case "node":
      writer.u8(0).varint(item.ordinal).raw(item.id).bytes(item.bytes);
      return;
    case "segment":
      writer.u8(1).varint(item.ordinal).raw(item.id).bytes(item.recipe).varint(item.hooks.length);
      for (const hook of item.hooks) writer.i64(hook);
      return;
    case "blockList":
      writer.u8(2).varint(item.frame).varint(item.generation).bytes(item.blockList);
      return;
    case "dropped":
      writer.u8(3);
  }
}

/** Reads all items of a metadata frame, in slot order. */
export function readMetadataItems(plain: Uint8Array): MetadataItem[] {
  const reader = new ByteReader(plain);
  const items: MetadataItem[] = [];
  while (reader.left > 0) {
    if (items.length === maxItems) throw new FormatError("a metadata frame has too many items");
    items.push(readItem(reader));
  }
  return items;
}

function readItem(reader: ByteReader): MetadataItem {
  const kind = reader.u8();
  if (kind === 0) return { kind: "node", ordinal: reader.varint(), id: reader.raw(idLength), bytes: reader.bytes() };
  if (kind === 1) {
    const head = { ordinal: reader.varint(), id: reader.raw(idLength), recipe: reader.bytes() };
    const count = reader.varint();
    if (count * hookLength > reader.left) throw new FormatError("hooks are truncated");
    const hooks = Array.from({ length: count }, () => reader.raw(hookLength).readBigInt64LE());
    return { kind: "segment", ...head, hooks };
  }
  if (kind === 2) {
    return { kind: "blockList", frame: reader.varint(), generation: reader.varint(), blockList: reader.bytes() };
  }
  if (kind === 3) return { kind: "dropped" };
  throw new UnknownKindError("metadata item", kind);
}
