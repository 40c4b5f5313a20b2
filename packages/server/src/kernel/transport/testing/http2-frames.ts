/**
 * HTTP/2 frames written by hand, for tests that send what no client library would. Only what those need: no Huffman
 * coding, no dynamic table.
 */

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 } as const;

/** ENHANCE_YOUR_CALM of RFC 9113, section 7. */
export const enhanceYourCalm = 11;

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** What a client begins with. */
export const greeting = Buffer.concat([preface, frame(frameType.settings, 0, 0)]);

/** A request as a header block; a GET for `/` unless told otherwise. */
export function requestBlock(method = "GET", fields: readonly (readonly [string, string])[] = [], path = "/"): Buffer {
  const all = [
    [":method", method],
    [":scheme", "https"],
    [":authority", "localhost"],
    [":path", path],
    ...fields,
  ] as const;
  return Buffer.concat(all.map(([name, value]) => field(name, value)));
}

/** A literal field without indexing (RFC 7541, section 6.2.2). */
export function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** The whole frames in what a server sent. */
export function parseFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (at + 9 <= bytes.length) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    frames.push({
      type: bytes.readUInt8(at + 3),
      flags: bytes.readUInt8(at + 4),
      streamId: bytes.readUInt32BE(at + 5) & 0x7fffffff,
      payload: bytes.subarray(at + 9, end),
    });
    at = end;
  }
  return frames;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([integer(bytes.length, 7), bytes]);
}

/** RFC 7541, section 5.1. */
function integer(value: number, prefixBits: number): Buffer {
  const most = 2 ** prefixBits - 1;
  if (value < most) return Buffer.from([value]);
  const bytes = [most];
  let rest = value - most;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
