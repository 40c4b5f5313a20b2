import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, inflateSync } from "node:zlib";
import decodeQR from "qr/decode.js";
import { qrPng, qrSvg } from "./qr.ts";

const uri = "otpauth://totp/Emanet:ayse%40buro.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Emanet";

/** The chunks of a PNG by name, their checksums held right. */
function chunksOf(png: Buffer): Map<string, Buffer> {
  assert.equal(png.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 4, at + 8 + length);
    assert.equal(png.readUInt32BE(at + 8 + length), crc32(body));
    chunks.set(body.subarray(0, 4).toString("latin1"), body.subarray(4));
    at += 12 + length;
  }
  return chunks;
}

test("the PNG is a picture that a scanner reads the text from", () => {
  const chunks = chunksOf(qrPng(uri));
  const header = chunks.get("IHDR") ?? assert.fail("no header");
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const lines = inflateSync(chunks.get("IDAT") ?? assert.fail("no pixels"));
  const lineBytes = 1 + Math.ceil(width / 8);
  assert.equal(lines.length, height * lineBytes);
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    assert.equal(lines[y * lineBytes], 0);
    for (let x = 0; x < width; x++) {
      const isWhite = ((lines[y * lineBytes + 1 + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) !== 0;
      data.fill(isWhite ? 255 : 0, (y * width + x) * 4, (y * width + x) * 4 + 3);
      data[(y * width + x) * 4 + 3] = 255;
    }
  }
  assert.equal(decodeQR({ width, height, data }), uri);
});

test("the SVG is one, and loads nothing", () => {
  assert.match(qrSvg(uri), /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.ok(!/href|script|style/.test(qrSvg(uri)));
});
