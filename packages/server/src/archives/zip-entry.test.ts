import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { extra, longs, type MadeEntry, refusedBy, seenInZip, words, zip } from "./testing/made-zips.ts";
import { testSpool } from "./testing.ts";
import { extraIds } from "./zip-format.ts";

const { spool, folder } = await testSpool(after);

const seen = (bytes: Buffer) => seenInZip(spool, bytes);
const refused = refusedBy(spool, folder);

const good: MadeEntry = { name: "a", content: "first" };

describe("names", () => {
  const names = async (...entries: MadeEntry[]) => Object.keys(await seen(zip(entries))).slice(1);
  const plain = { flags: 0 };

  test("bytes in any encoding stay as they are", async () => {
    const utf8 = Buffer.from("İşğ.xml");
    const cp857 = Buffer.from([0x98, 0x9f, 0xa7]);
    const found = await names({ name: cp857, said: plain }, { name: utf8, said: plain }, { name: Buffer.of(0xff) });
    assert.deepEqual(found.sort(), [cp857, utf8, Buffer.of(0xff)].map((each) => each.toString("latin1")).sort());
  });

  test("the Unicode extra field counts if it was made for the name", async () => {
    const field = (name: string, crc: number) =>
      extra(extraIds.unicodePath, Buffer.concat([Buffer.of(1), words(crc), Buffer.from(name)]));
    const made = (crc: number) => ({ name: "?.xml", said: { flags: 0, extra: field("ş.xml", crc) } });
    assert.deepEqual(await names(made(crc32("?.xml"))), [Buffer.from("ş.xml").toString("latin1")]);
    assert.deepEqual(await names(made(crc32("other"))), ["?.xml"], "the file was renamed by an older program");
    const leaving = { name: "a", said: { flags: 0, extra: field("../a", crc32("a")) } };
    await refused(zip([leaving]), "unsafe_path", 0, "../a");
  });

  test("`\\` separates in names from Windows that have no `/`, and nowhere else", async () => {
    assert.deepEqual(await names({ name: "a\\b", system: 0 }), ["a", "a/b"]);
    assert.deepEqual(await names({ name: "a/b\\c", system: 0 }), ["a", "a/b\\c"]);
    assert.deepEqual(await names({ name: "a\\b", system: 3 }), ["a\\b"]);
    await refused(zip([{ name: "..\\a", system: 0 }]), "unsafe_path", 0, "../a");
    assert.equal((await seen(zip([{ name: "d\\", system: 0 }]))).d?.type, "enter");
  });

  test("a leading slash, `./` and empty parts are left out; `..`, NUL and long ones are refused", async () => {
    assert.deepEqual(await names({ name: "/a" }, { name: "./b" }, { name: "c//d" }), ["a", "b", "c", "c/d"]);
    for (const name of ["../a", "a/../b", "..", "a\0b"]) await refused(zip([good, { name }]), "unsafe_path", 1, name);
    await refused(zip([good, { name: "n".repeat(4097) }]), "path_too_long", 1);
    await refused(zip([good, { name: "" }]), "empty_path", 1);
    await refused(zip([good, { name: "./", mode: 0o100644, content: "x" }]), "contradictory_entry", 1);
    await refused(zip([good, { name: ".", mode: 0o100644 }]), "empty_path", 1);
  });

  test("two files at one path are refused, a directory may be there twice", async () => {
    await refused(zip([good, { name: "a" }]), "duplicate_path", 1, "a");
    await refused(zip([good, { name: "./a" }]), "duplicate_path", 1, "a");
    await refused(zip([good, { name: "a/" }]), "duplicate_path", 1, "a");
    await refused(zip([{ name: "l", mode: 0o120777, content: "x" }, { name: "l" }]), "duplicate_path", 1, "l");
    assert.deepEqual(await names({ name: "d/" }, { name: "d/" }, { name: "D/" }, { name: "A" }, good), [
      "A",
      "D",
      "a",
      "d",
    ]);
  });

  test("an entry below a file or below a link is refused", async () => {
    await refused(zip([good, { name: "a/b" }]), "path_is_no_directory", null, "a");
    await refused(
      zip([{ name: "l", mode: 0o120777, content: "/etc" }, { name: "l/passwd" }]),
      "path_is_no_directory",
      null,
    );
  });
});

describe("types, modes and times", () => {
  const one = async (entry: MadeEntry) => (await seen(zip([entry])))[String(entry.name).replace(/\/$/, "")];

  test("of Unix, of DOS, and of programs that say none", async () => {
    assert.equal((await one({ name: "a", mode: 0o600 }))?.mode, "600", "a mode without a type, as Python writes it");
    assert.equal((await one({ name: "a", system: 0 }))?.mode, "644");
    assert.equal((await one({ name: "a", system: 0, attributes: 1 }))?.mode, "444");
    assert.equal((await one({ name: "a", system: 0, mode: 0o100600 }))?.mode, "644", "not a mode on this system");
    assert.equal(
      (await one({ name: "a", system: 0, mode: 0o100600, attributes: 0x8000 }))?.mode,
      "600",
      "as 7-Zip writes it",
    );
    assert.equal((await one({ name: "a", system: 0, attributes: 0x10 }))?.type, "enter");
    assert.equal((await one({ name: "a", mode: 0o40700 }))?.type, "enter");
    assert.equal((await one({ name: "a/", mode: 0 }))?.mode, "755");
    assert.equal((await one({ name: "a/", method: 8 }))?.type, "enter", "an empty content may be deflated");
  });

  test("a DOS time is a time in Istanbul, in summer and in winter of every year", async () => {
    const at = async (iso: string) => {
      const [, year, month, day, hour, minute, second] = (/(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)/.exec(iso) ?? []).map(
        Number,
      );
      const dosDate = (((year ?? 0) - 1980) << 9) | ((month ?? 0) << 5) | (day ?? 0);
      const dosTime = ((hour ?? 0) << 11) | ((minute ?? 0) << 5) | ((second ?? 0) >> 1);
      const found = await one({ name: "a", dosDate, dosTime });
      return new Date(Number(found?.mtime) * 1000).toISOString();
    };
    assert.equal(await at("2026-01-15T12:00:10"), "2026-01-15T09:00:10.000Z");
    assert.equal(await at("2026-07-15T12:00:10"), "2026-07-15T09:00:10.000Z");
    assert.equal(await at("2015-01-15T12:00:10"), "2015-01-15T10:00:10.000Z");
    assert.equal(await at("2015-07-15T12:00:10"), "2015-07-15T09:00:10.000Z");
    assert.equal(await at("1980-00-00T00:00:00"), "1979-12-31T21:00:00.000Z", "a date that no calendar has");
  });

  test("extra fields have the exact time: of Info-ZIP, of NTFS, and both", async () => {
    const small = extra(extraIds.time, Buffer.concat([Buffer.of(3), words(1_700_000_001)]));
    const ticks = (seconds: bigint) => (seconds + 11_644_473_600n) * 10_000_000n + 1_234_567n;
    const ntfs = (seconds: bigint) =>
      extra(extraIds.ntfs, Buffer.concat([words(0), Buffer.of(1, 0, 24, 0), longs(ticks(seconds), 0, 0)]));
    const mtime = async (field: Buffer) => (await one({ name: "a", said: { extra: field } }))?.mtime;
    assert.equal(await mtime(small), "1700000001.000000000");
    assert.equal(await mtime(ntfs(1_700_000_001n)), "1700000001.123456700");
    assert.equal(await mtime(Buffer.concat([small, ntfs(1_700_000_001n)])), "1700000001.123456700");
    assert.equal(await mtime(Buffer.concat([small, ntfs(5n)])), "1700000001.000000000", "where they differ");
    const before = extra(extraIds.time, Buffer.concat([Buffer.of(1), words(0xffff_fffb)]));
    assert.equal(await mtime(before), "-5.000000000");
  });

  test("owners of Info-ZIP's field", async () => {
    const field = Buffer.concat([Buffer.of(1, 4), words(1000), Buffer.of(4), words(4_000_000_000)]);
    const found = await one({ name: "a", said: { extra: extra(extraIds.owner, field) } });
    assert.deepEqual([found?.uid, found?.gid], [1000, 4_000_000_000]);
  });
});
