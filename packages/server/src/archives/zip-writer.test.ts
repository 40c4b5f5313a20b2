import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { seenInZip } from "./testing/made-zips.ts";
import { member, type Written, written } from "./testing/zip-programs.ts";
import { testSpool } from "./testing.ts";
import { signatures } from "./zip-format.ts";
import { escapedName, needsEscape } from "./zip-names.ts";
import { maxStoredBytes, zipBytesOf, zipDescriptorOf, zipEndOf, zipHeaderOf, zipRecordOf } from "./zip-writer.ts";

const { spool } = await testSpool(after);

const all32 = 0xffff_ffff;
const file = (size: number) => ({ ...member({ path: "f" }), size });

/** What a local header and a record of the directory say. */
const local = (bytes: Buffer) => ({
  flags: bytes.readUInt16LE(6),
  method: bytes.readUInt16LE(8),
  crc: bytes.readUInt32LE(14),
  length: bytes.readUInt32LE(18),
  size: bytes.readUInt32LE(22),
});
const record = (bytes: Buffer) => ({
  length: bytes.readUInt32LE(20),
  size: bytes.readUInt32LE(24),
  offset: bytes.readUInt32LE(42),
  longs: longsOf(bytes.subarray(47)),
});

/** The numbers of the zip64 field, which is the first one; none if there is none. */
function longsOf(extra: Buffer): readonly number[] {
  if (extra.readUInt16LE(0) !== 1) return [];
  return Array.from({ length: extra.readUInt16LE(2) / 8 }, (_, at) => Number(extra.readBigUInt64LE(4 + 8 * at)));
}

describe("the layout", () => {
  test("a file of up to 256 KiB is stored with its CRC-32 in front, a larger one is in blocks with a descriptor", () => {
    const small = local(zipHeaderOf(file(maxStoredBytes), 7));
    assert.deepEqual(small, { flags: 0x800, method: 0, crc: 7, length: maxStoredBytes, size: maxStoredBytes });
    const large = file(maxStoredBytes + 1);
    assert.deepEqual(local(zipHeaderOf(large, 7)), { flags: 0x808, method: 8, crc: 0, length: 0, size: 0 });
    const descriptor = zipDescriptorOf(large, 7);
    const numbers = [0, 4, 8, 12].map((at) => descriptor.readUInt32LE(at));
    assert.deepEqual(numbers, [signatures.descriptor, 7, maxStoredBytes + 1 + 5 * 5, maxStoredBytes + 1]);
  });

  test("sizes of 4 GiB are in zip64 fields of local header, descriptor and directory; smaller ones are not", () => {
    // The blocks add 5 bytes for 65 535.
    const largest = 65_535 * 65_532;
    const fits = file(largest);
    assert.equal(largest + 5 * 65_532, all32 - 15);
    assert.deepEqual(record(zipRecordOf(fits, 0, 0)), { length: all32 - 15, size: largest, offset: 0, longs: [] });
    assert.deepEqual(longsOf(zipHeaderOf(fits, 0).subarray(31)), []);
    assert.equal(zipDescriptorOf(fits, 0).length, 16);
    const long = file(largest + 10);
    const length = largest + 10 + 5 * 65_533;
    assert.equal(length, all32);
    assert.deepEqual(record(zipRecordOf(long, 0, 0)), {
      length: all32,
      size: all32,
      offset: 0,
      longs: [long.size, length],
    });
    const header = zipHeaderOf(long, 0);
    assert.deepEqual([local(header).size, local(header).length, longsOf(header.subarray(31))], [all32, all32, [0, 0]]);
    const descriptor = zipDescriptorOf(long, 0);
    assert.deepEqual(
      [descriptor.length, Number(descriptor.readBigUInt64LE(8)), Number(descriptor.readBigUInt64LE(16))],
      [24, length, long.size],
    );
    assert.equal(zipBytesOf(long), header.length + length + 24);
  });

  test("an offset of 4 GiB is in a zip64 field; a smaller one is not", () => {
    assert.deepEqual(record(zipRecordOf(file(5), 0, all32 - 1)), { length: 5, size: 5, offset: all32 - 1, longs: [] });
    assert.deepEqual(record(zipRecordOf(file(5), 0, all32)), { length: 5, size: 5, offset: all32, longs: [all32] });
    const both = zipRecordOf(file(2 ** 33), 0, 2 ** 34);
    assert.deepEqual(record(both).longs, [2 ** 33, 2 ** 33 + 5 * Math.ceil(2 ** 33 / 65_535), 2 ** 34]);
  });

  test("65 535 entries, and a directory at 4 GiB or of 4 GiB, need the large end record", () => {
    const end = { count: 65_534, directoryOffset: all32 - 1, directoryBytes: all32 - 1, comment: "" };
    assert.equal(zipEndOf(end).length, 22);
    for (const change of [{ count: 65_535 }, { directoryOffset: all32 }, { directoryBytes: all32 }]) {
      const bytes = zipEndOf({ ...end, ...change });
      assert.equal(bytes.length, 56 + 20 + 22);
      const given = { ...end, ...change };
      const found = [24, 32, 40, 48].map((at) => Number(bytes.readBigUInt64LE(at)));
      assert.deepEqual(found, [given.count, given.count, given.directoryBytes, given.directoryOffset]);
      assert.equal(Number(bytes.readBigUInt64LE(56 + 8)), given.directoryOffset + given.directoryBytes);
    }
  });

  test("a content that is not as long as its entry never becomes a whole archive", async () => {
    for (const size of [10, maxStoredBytes + 10])
      for (const change of [-1, 1]) {
        const entry = { ...member({ path: "f", content: Buffer.alloc(size) }), size: size + change };
        await assert.rejects(written([{ member: entry, content: Buffer.alloc(size) }]), /file/);
      }
  });
});

test("our own reader gets every name, byte, mode, owner, time and link target back", async () => {
  const large = Buffer.alloc(700_000, "0123456789");
  const given: readonly Written[] = [
    { path: "d", type: "directory", stat: { mode: 0o2750 } },
    { path: "d/İşğüçö ı.xml", content: "fatura" },
    { path: "d/empty", content: "", stat: { mtimeSeconds: -5 } },
    { path: "d/large", content: large, stat: { mode: 0o4755, uid: 1000, gid: 4_000_000_000 } },
    { path: "d/link", type: "symbolic-link", content: "../none", stat: { mode: 0o777 } },
    { path: "limit", content: large.subarray(0, maxStoredBytes), stat: { mtimeNanos: 123_456_700 } },
    { path: "n".repeat(4096), content: "long", stat: { mtimeSeconds: 5_000_000_000, mtimeNanos: 100 } },
  ];
  const bytes = await written(given);
  const found = await seenInZip(spool, bytes);
  assert.deepEqual(Object.keys(found).slice(1), [
    "d",
    "d/empty",
    "d/large",
    "d/link",
    "d/Ä°Å\u009fÄ\u009fÃ¼Ã§Ã¶ Ä±.xml",
    "limit",
    "n".repeat(4096),
  ]);
  for (const each of given) {
    const { mode, uid, gid, mtimeSeconds, mtimeNanos, path, size, type } = member(each);
    const facts = found[path.toString("latin1")] ?? {};
    const mtime = `${mtimeSeconds}.${String(mtimeNanos).padStart(9, "0")}`;
    assert.deepEqual(
      [facts.mode, facts.uid, facts.gid, facts.mtime],
      [mode.toString(8), uid, gid, mtime],
      path.toString(),
    );
    if (type === "file") assert.equal(facts.size, size);
    if (type === "symbolic-link") assert.equal(facts.target, "../none");
  }
  assert.equal(bytes.readUInt32LE(14 + zipBytesOf(member(given[0] ?? { path: "" }))), crc32("fatura"));
  assert.deepEqual(await written(given), bytes, "the same members give the same bytes");
});

describe("names", () => {
  test("what Windows and Java read stays as it is", () => {
    for (const name of [
      "a",
      "İşğüçö ı.xml",
      ".hidden",
      "a b",
      "a.b.c",
      "100%",
      "com",
      "console",
      "nul1",
      "é".normalize("NFD"),
    ])
      assert.equal(needsEscape(Buffer.from(name)), false, name);
  });

  test("everything else is escaped, and can be told apart again", () => {
    const cases: readonly (readonly [string | Buffer, string])[] = [
      [Buffer.from([0x66, 0x98, 0xff]), "f%98%FF"],
      [Buffer.concat([Buffer.from("ş%"), Buffer.of(0x98)]), "ş%25%98"],
      ["..\\..\\a", "..%5C..%5Ca"],
      ["a:b", "a%3Ab"],
      ['"*<>?|', "%22%2A%3C%3E%3F%7C"],
      ["new\nline", "new%0Aline"],
      ["dot.", "dot%2E"],
      ["space ", "space%20"],
      ["NUL", "%4EUL"],
      ["com1.txt", "%63om1.txt"],
      ["Aux", "%41ux"],
    ];
    for (const [name, escaped] of cases) {
      assert.equal(needsEscape(Buffer.from(name)), true, escaped);
      assert.equal(escapedName(Buffer.from(name), 0).toString(), escaped);
      assert.equal(escapedName(Buffer.from(name), 2).toString(), `${escaped}%%`);
      const bytes = escaped.replaceAll(/[^ -~]/g, (text) => encodeURIComponent(text));
      const back = bytes.replaceAll(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
      assert.equal(back, Buffer.from(name).toString("latin1"));
    }
  });
});
