/** Ascending lists of ordinals. Each is stored as its difference to the one before. */

import { ByteWriter, varintAt, varintLength } from "./bytes.ts";

export function encodeOrdinals(ordinals: Iterable<number>): Buffer {
  const out = new ByteWriter(64);
  writeOrdinals(out, ordinals);
  return out.take();
}

export function writeOrdinals(out: ByteWriter, ordinals: Iterable<number>): void {
  let last = 0;
  for (const ordinal of Float64Array.from(new Set(ordinals)).sort()) {
    out.varint(ordinal - last);
    last = ordinal;
  }
}

/** The list from `start` to the end of the bytes. */
export function decodeOrdinals(bytes: Uint8Array, start = 0): number[] {
  const ordinals: number[] = [];
  let last = 0;
  for (let at = start; at < bytes.length; ) {
    const difference = varintAt(bytes, at);
    at += varintLength(difference);
    last += difference;
    ordinals.push(last);
  }
  return ordinals;
}
