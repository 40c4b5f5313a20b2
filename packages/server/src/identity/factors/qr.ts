/** A QR code as SVG, which scales, and as PNG for programs that do not show SVG. */

import { crc32, deflateSync } from "node:zlib";
import { encodeQR } from "qr";

/** Survives 15 % of damage: a finger on the screen, a bad print. */
const options = { ecc: "medium", border: 4 } as const;

/** Pixels per square: enough to be scanned from the screen of a phone without being enlarged. */
const pngScale = 6;

export function qrSvg(text: string): string {
  return encodeQR(text, "svg", options);
}

/** Black and white, one bit per pixel (PNG, ISO/IEC 15948). */
export function qrPng(text: string): Buffer {
  const rows = encodeQR(text, "raw", options);
  const size = rows.length * pngScale;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  // Depth 1, greyscale, deflate, no filter but 0, not interlaced.
  header.set([1, 0, 0, 0, 0], 8);
  const lines = rows.flatMap((row) => new Array<Buffer>(pngScale).fill(scanLine(row)));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(lines))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A row of pixels: the filter's number, then a bit each, 1 for white. */
function scanLine(row: readonly boolean[]): Buffer {
  const line = Buffer.alloc(1 + Math.ceil((row.length * pngScale) / 8), 0xff);
  line[0] = 0;
  for (const [column, isDark] of row.entries()) {
    if (!isDark) continue;
    for (let x = column * pngScale; x < (column + 1) * pngScale; x++) {
      line[1 + (x >> 3)] = (line[1 + (x >> 3)] ?? 0) & ~(0x80 >> (x & 7));
    }
  }
  return line;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
