/** Lists of ordinals that are kept by the thousand: ascending, each as its distance to the one before. */

import { ByteWriter, varintAt, varintLength } from "./bytes.ts";

export function encodeOrdinals(ordinals: Iterable<number>): Buffer {
  const out = new ByteWriter(64);
  let last = 0;
  for (const ordinal of Float64Array.from(new Set(ordinals)).sort()) {
    out.varint(ordinal - last);
    last = ordinal;
  }
  return out.take();
}

/** The list that begins at a place of these bytes and goes on to their end. */
export function decodeOrdinals(bytes: Uint8Array, start = 0): number[] {
  const ordinals: number[] = [];
  let last = 0;
  for (let at = start; at < bytes.length; ) {
    const distance = varintAt(bytes, at);
    at += varintLength(distance);
    last += distance;
    ordinals.push(last);
  }
  return ordinals;
}
