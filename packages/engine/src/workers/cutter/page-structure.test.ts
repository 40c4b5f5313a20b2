import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { SeededRandom } from "../../testing/random-tree.ts";
import { probeBytes, recognisePages } from "./page-files.ts";

/** Larger than any probe, so that size alone decides nothing. */
const size = 64 * 1024 * 1024;

type WriteHeader = (page: Buffer, number: number, random: SeededRandom) => void;

/** Headers as programs write them; the rest of a page is rows. */
const headers: Readonly<Record<string, WriteHeader>> = {
  "a page number": (page, number) => page.writeUInt32LE(number + 7, 0),
  "a page number, big-endian, after a checksum": (page, number, random) => {
    random.bytes(4).copy(page, 0);
    page.writeUInt32BE(number, 4);
  },
  "as InnoDB writes it": (page, number, random) => {
    random.bytes(4).copy(page, 0);
    page.writeUInt32BE(number, 4);
    page.writeUInt32BE(number - 1 < 0 ? 0xffffffff : number - 1, 8);
    page.writeUInt32BE(number + 1, 12);
    page.writeBigUInt64BE(BigInt(88_000_000 + random.below(4_000_000)), 16);
    page.writeUInt16BE(number % 20 === 0 ? 6 : 0x45bf, 24);
  },
  "as PostgreSQL writes it": (page, _number, random) => {
    page.writeUInt32LE(0, 0);
    page.writeUInt32LE(random.below(1 << 28), 4);
    page.writeUInt16LE(random.below(65_536), 8);
    page.writeUInt16LE(4, 10);
    page.writeUInt16LE(24 + 4 * random.below(60), 12);
    page.writeUInt16LE(4000 + random.below(4000), 14);
    page.writeUInt16LE(8192, 16);
    page.writeUInt16LE(8196, 18);
  },
};

function rows(random: SeededRandom, bytes: number): Buffer {
  const parts: string[] = [];
  for (let length = 0; length < bytes; length += parts.at(-1)?.length ?? 0)
    parts.push(`${random.below(1e9)} ${random.pick(["Cari", "Fatura", "Stok", "Kasa", "Çek"])} ${random.below(1e6)};`);
  return Buffer.from(parts.join("")).subarray(0, bytes);
}

function pageFile(write: WriteHeader, pageBytes: number, phase: number, seed: number): Buffer {
  const random = new SeededRandom(seed);
  const bytes = Buffer.alloc(probeBytes);
  rows(random, phase).copy(bytes);
  for (let at = phase, number = 0; at < bytes.length; at += pageBytes, number++) {
    const page = Buffer.alloc(pageBytes);
    rows(random, pageBytes - 32 - random.below(900)).copy(page, 32);
    write(page, number, random);
    page.copy(bytes, at);
  }
  return bytes;
}

test("pages of unknown programs are found by their headers, of any size and after any preamble of sectors", () => {
  for (const [name, write] of Object.entries(headers))
    for (const pageBytes of [4096, 8192, 16384, 32768])
      for (const phase of [0, 512, 3584])
        for (let seed = 1; seed <= 3; seed++) {
          const found = recognisePages(pageFile(write, pageBytes, phase, seed), size);
          assert.deepEqual(found, { pageBytes, phase }, `${name}, ${pageBytes}, ${phase}, seed ${seed}`);
        }
});

test("empty pages and a few pages of another kind do not hide the others", () => {
  const write = headers["as InnoDB writes it"] ?? assert.fail();
  const bytes = pageFile(write, 8192, 0, 5);
  for (const page of [3, 4, 9, 17, 18]) bytes.fill(0, page * 8192, (page + 1) * 8192);
  new SeededRandom(6).bytes(8192).copy(bytes, 11 * 8192);
  assert.deepEqual(recognisePages(bytes, size), { pageBytes: 8192, phase: 0 });
});

function records(random: SeededRandom, length: number): Buffer {
  const bytes = Buffer.alloc(probeBytes);
  for (let at = 0; at < probeBytes; at += length) {
    bytes.write("REC\x04\x03\x02\x01", at, "latin1");
    bytes.writeUInt32LE(random.next(), at + 8);
    rows(random, length - 38).copy(bytes, at + 20);
  }
  return bytes;
}

/** Files that are not page files. */
const others: Readonly<Record<string, (random: SeededRandom) => Buffer>> = {
  "incompressible bytes": (random) => random.bytes(probeBytes),
  zeros: () => Buffer.alloc(probeBytes),
  "rows of text": (random) => rows(random, probeBytes),
  XML: (random) => {
    const line = () =>
      `  <cbc:ID schemeID="VKN">${random.below(1e9)}</cbc:ID>\r\n<cac:Party>${random.below(99)}</cac:Party>\r\n`;
    return Buffer.from(Array.from({ length: 6000 }, line).join("")).subarray(0, probeBytes);
  },
  "base64 in lines of 64 bytes": (random) => {
    const text = random.bytes(probeBytes).toString("base64");
    return Buffer.from(text.replace(/(.{63})/g, "$1\n")).subarray(0, probeBytes);
  },
  mail: (random) => {
    const mail = () =>
      `From - Mon Nov 16 2026\nSubject: ${rows(random, 40)}\n\n${random.bytes(random.below(3000)).toString("base64")}\n\n`;
    return Buffer.from(Array.from({ length: 200 }, mail).join("")).subarray(0, probeBytes);
  },
  "records of 64 bytes": (random) => records(random, 64),
  "records of 128 bytes": (random) => records(random, 128),
  "compressed pieces": (random) => {
    const piece = () => deflateSync(rows(random, 20_000));
    return Buffer.concat(Array.from({ length: 40 }, piece)).subarray(0, probeBytes);
  },
  ...Object.fromEntries(
    [20, 50, 80, 95].map((percent) => [
      `bytes of which ${percent} % are zero`,
      (random: SeededRandom) => random.bytes(probeBytes).map((byte) => (random.chance(percent) ? 0 : byte)) as Buffer,
    ]),
  ),
  sound: (random) => {
    const bytes = Buffer.alloc(probeBytes);
    for (let i = 0; i < probeBytes / 2; i++)
      bytes.writeInt16LE(Math.round(Math.sin(i / 9) * 9000) + random.below(300), i * 2);
    return bytes;
  },
};

test("text, mail, records, sound, sparse and incompressible bytes are not taken for pages", () => {
  for (const [name, make] of Object.entries(others))
    for (let seed = 1; seed <= 8; seed++)
      assert.equal(recognisePages(make(new SeededRandom(seed)), size), null, `${name}, seed ${seed}`);
});
