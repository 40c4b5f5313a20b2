/**
 * The messages that begin an upload and reserve ordinals.
 *
 *   begin      request  u8 has base · base snapshot (16), if it has one
 *              answer   u32 session · u64 nonce · u64 catalog id · varint first ordinal, varint count · varint damaged ordinals,
 *                       each varint difference to the one before
 *   ordinals   request  varint request number · varint count
 *              answer   varint first ordinal · varint count
 */

import type { OrdinalRange, UploadStart } from "../catalog/catalog.ts";
import type { ByteReader, ByteWriter } from "../format/bytes.ts";
import { FormatError } from "../format/bytes.ts";
import {
  endMessage,
  readAnswer,
  readFlag,
  readList,
  readName,
  readRequest,
  startAnswer,
  startRequest,
  writeName,
} from "./message.ts";

/** Damaged items that an answer lists: more would not fit into it. */
const maxDamaged = 16 * 1024 * 1024;

export function encodeBegin(base: string | null): Buffer {
  const writer = startRequest("begin").u8(base === null ? 0 : 1);
  if (base !== null) writeName(writer, base);
  return endMessage(writer);
}

export function decodeBegin(bytes: Uint8Array): string | null {
  return readRequest("begin", bytes, (reader) => (readFlag(reader, "has base") ? readName(reader) : null));
}

export function encodeStart(start: UploadStart): Buffer {
  const writer = startAnswer("begin").u32(start.session).u64(start.nonce).u64(start.catalogId);
  writeRange(writer, start.ordinals);
  const damaged = [...start.damaged].sort((a, b) => a - b);
  writer.varint(damaged.length);
  let before = 0;
  for (const ordinal of damaged) {
    writer.varint(ordinal - before);
    before = ordinal;
  }
  return endMessage(writer);
}

export function decodeStart(bytes: Uint8Array): UploadStart {
  return readAnswer("begin", bytes, (reader) => {
    const numbers = { session: reader.u32(), nonce: reader.u64(), catalogId: reader.u64() };
    const ordinals = readRange(reader);
    let before = 0;
    const damaged = readList(reader, "damaged ordinals", maxDamaged, 1, () => {
      before = safeSum(before, reader.varint());
      return before;
    });
    return { ...numbers, ordinals, damaged };
  });
}

export function encodeOrdinalRequest(request: number, count: number): Buffer {
  for (const value of [request, count])
    if (!Number.isSafeInteger(value) || value < 0) throw new FormatError("not a request for ordinals");
  return endMessage(startRequest("ordinals").varint(request).varint(count));
}

export function decodeOrdinalRequest(bytes: Uint8Array): { readonly request: number; readonly count: number } {
  return readRequest("ordinals", bytes, (reader) => ({ request: reader.varint(), count: reader.varint() }));
}

export function encodeOrdinals(range: OrdinalRange): Buffer {
  const writer = startAnswer("ordinals");
  writeRange(writer, range);
  return endMessage(writer);
}

export function decodeOrdinals(bytes: Uint8Array): OrdinalRange {
  return readAnswer("ordinals", bytes, readRange);
}

function writeRange(writer: ByteWriter, { first, end }: OrdinalRange): void {
  writer.varint(first).varint(end - first);
}

function readRange(reader: ByteReader): OrdinalRange {
  const first = reader.varint();
  return { first, end: safeSum(first, reader.varint()) };
}

function safeSum(a: number, b: number): number {
  if (!Number.isSafeInteger(a + b)) throw new FormatError("an ordinal is out of range");
  return a + b;
}
