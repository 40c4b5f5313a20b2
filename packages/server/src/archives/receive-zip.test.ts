import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { RestoreWorkerPool } from "@emanet/engine";
import { ArchiveTooLargeError } from "./received-archive.ts";
import { SpoolFullError } from "./spool.ts";
import { extra, longs, type MadeEntry, receiveZipOf, refusedBy, seenInZip, words, zip } from "./testing/made-zips.ts";
import { testSpool } from "./testing.ts";
import { directoryRecords, findDirectory } from "./zip-directory.ts";
import { extraIds, signatures } from "./zip-format.ts";

const { spool, folder } = await testSpool(after);

const seen = (bytes: Buffer) => seenInZip(spool, bytes);

const refused = refusedBy(spool, folder);

const good: MadeEntry = { name: "a", content: "first" };
const withDescriptor = 0x808;

/** The content of a member is in the way of the next entry unless it is counted. */
const descriptorOf = (content: string, length = content.length) => words(crc32(content), length, content.length);

describe("entries come through", () => {
  test("stored and deflated files, empty ones, directories, links, special files as warnings", async () => {
    const large = Buffer.alloc(2_000_000, "0123456789");
    const found = await seen(
      zip([
        { name: "d/", mode: 0o40750 },
        { name: "d/stored", content: "merhaba", mode: 0o100640 },
        { name: "d/deflated", content: "merhaba".repeat(100), method: 8, mode: 0o104755 },
        { name: "d/empty", method: 8, mode: 0o100644 },
        { name: "d/large", content: large, method: 8, mode: 0o100644 },
        { name: "d/large stored", content: large, mode: 0o100644 },
        { name: "link", content: "d/stored", mode: 0o120777 },
        { name: "deflated link", content: "../x", method: 8, mode: 0o120777 },
        { name: "no target", mode: 0o120777 },
        { name: "pipe", mode: 0o010644 },
      ]),
    );
    const facts = Object.entries(found).map(([name, { type, mode, size, target, code }]) => [
      name,
      code ?? type,
      ...(mode === undefined ? [] : [mode]),
      ...(size === undefined ? [] : [size]),
      ...(target === undefined ? [] : [target]),
    ]);
    assert.deepEqual(facts, [
      ["", "enter", "755"],
      ["warning no target", "empty_link_target"],
      ["warning pipe", "special_file"],
      ["d", "enter", "750"],
      ["d/deflated", "file", "4755", 700],
      ["d/empty", "file", "644", 0],
      ["d/large", "file", "644", 2_000_000],
      ["d/large stored", "file", "644", 2_000_000],
      ["d/stored", "file", "640", 7],
      ["deflated link", "link", "777", "../x"],
      ["link", "link", "777", "d/stored"],
    ]);
    assert.equal(found["d/large"]?.sha256, found["d/large stored"]?.sha256);
    assert.equal(spool.usedBytes, 0);
  });

  test("also in a thread, and through a content encoding", async (t) => {
    const pool = new RestoreWorkerPool(1);
    t.after(() => pool.close());
    pool.startThreadsFor(2 ** 30);
    assert.ok(pool.hasThreads);
    const bytes = zip([
      { name: "a", content: "x".repeat(1000), method: 8 },
      { name: "b", content: "y" },
    ]);
    const found = await seenInZip(spool, gzipSync(bytes), { inflater: pool, encoding: "gzip" });
    assert.deepEqual([found.a?.size, found.b?.size], [1000, 1]);
    const damaged = zip([{ name: "a", content: "x".repeat(1000), method: 8, said: { crc: 7 } }]);
    await assert.rejects(receiveZipOf(spool, damaged, { inflater: pool }), { code: "checksum_mismatch", entry: 0 });
  });

  test("an archive without entries is an empty folder", async () => {
    assert.deepEqual(Object.keys(await seen(zip([]))), [""]);
  });

  test("a comment, descriptors of all four forms, and padding in extra fields", async () => {
    const content = "merhaba";
    const plain = descriptorOf(content);
    const wide = Buffer.concat([words(crc32(content)), longs(content.length, content.length)]);
    const descriptors = [plain, wide].flatMap((one) => [one, Buffer.concat([words(signatures.descriptor), one])]);
    const entries = descriptors.map((descriptor, at) => ({
      ...{ name: `f${at}`, content, descriptor, said: { flags: withDescriptor, extra: Buffer.alloc(3) } },
      local: { crc: 0, size: 0, length: 0 },
    }));
    const found = await seen(zip(entries, { comment: Buffer.from("yorum") }));
    assert.deepEqual(Object.keys(found), ["", "f0", "f1", "f2", "f3"], "no warning either");
  });

  test("sizes and offsets of zip64", async () => {
    const all = 0xffff_ffff;
    const content = "merhaba";
    const entry = {
      ...{ name: "b", content },
      record: { size: all, length: all, offset: all, extra: extra(extraIds.zip64, longs(7, 7, 30 + 1 + 5)) },
      local: { size: all, length: all, extra: extra(extraIds.zip64, longs(7, 7)) },
    };
    assert.equal((await seen(zip([good, entry]))).b?.size, 7);
    const missing = { ...entry, record: { ...entry.record, extra: extra(extraIds.zip64, longs(7)) } };
    await refused(zip([good, missing]), "malformed_extended_header", 1, "b");
    const twice = Buffer.concat([entry.record.extra, entry.record.extra]);
    await refused(zip([good, { ...entry, record: { ...entry.record, extra: twice } }]), "malformed_extended_header", 1);
    const huge = extra(extraIds.zip64, longs(2n ** 60n, 7, 36));
    await refused(zip([good, { ...entry, record: { ...entry.record, extra: huge } }]), "number_out_of_range", 1, "b");
  });

  test("more than 65 536 entries that the end record counts modulo 65 536, as the Finder writes it", async () => {
    const count = async (entries: readonly MadeEntry[], counted: number) => {
      const file = await spool.create("a", "zip");
      try {
        await file.append(zip(entries, { count: counted }));
        await file.flush();
        let records = 0;
        for await (const batch of directoryRecords(file, await findDirectory(file))) records += batch.length;
        return records;
      } finally {
        await file.remove();
      }
    };
    const entries = Array.from({ length: 65_540 }, (_, at) => ({ name: `${at}` }));
    assert.equal(await count(entries, 4), 65_540);
    await assert.rejects(count(entries, 5), { code: "not_a_zip" });
    await assert.rejects(count(entries.slice(0, 5), 4), { code: "not_a_zip" });
  });
});

describe("what is no whole zip is refused", () => {
  const bytes = zip([good, { name: "b", content: "second" }]);

  test("other content, an archive that was cut off anywhere, bytes before and after", async () => {
    for (const other of [Buffer.alloc(0), Buffer.from("PK"), Buffer.from("<html>"), Buffer.alloc(1000)])
      await refused(other, "not_a_zip", null);
    for (let length = 1; length < bytes.length; length++)
      await assert.rejects(receiveZipOf(spool, bytes.subarray(0, length)), { name: "InvalidArchiveError" });
    await refused(Buffer.concat([bytes, Buffer.of(1)]), "not_a_zip", null);
    await refused(Buffer.concat([bytes, Buffer.alloc(10_240)]), "not_a_zip", null);
    await refused(Buffer.concat([Buffer.of(0), bytes]), "not_a_zip", null);
    await refused(Buffer.concat([bytes, bytes]), "not_a_zip", null);
  });

  test("zeros after it, which fill the last block of a pipe, are no part of it", async () => {
    for (const zeros of [1, 10_239]) {
      const found = await seen(Buffer.concat([bytes, Buffer.alloc(zeros)]));
      assert.deepEqual(Object.keys(found), ["", "a", "b"]);
    }
    const commented = zip([good], { comment: Buffer.from("yorum\0\0") });
    assert.deepEqual(Object.keys(await seen(Buffer.concat([commented, Buffer.alloc(3)]))), ["", "a"]);
  });

  test("an end record that does not fit its directory, or is hidden in a comment", async () => {
    const directory = bytes.length - 22 - 2 * 47;
    await refused(zip([good], { count: 2 }), "not_a_zip", null);
    await refused(zip([good], { size: 46 }), "not_a_zip", null);
    await refused(zip([good], { offset: directory + 1 }), "not_a_zip", null);
    await refused(zip([good], { before: Buffer.alloc(4) }), "not_a_zip", null);
    await refused(zip([good], { comment: zip([{ name: "other" }]).subarray(-22) }), "not_a_zip", null);
    // Read from the end, this archive would have no entries.
    const place = zip([good]).length;
    const hidden = Buffer.alloc(22);
    hidden.writeUInt32LE(signatures.end, 0);
    hidden.writeUInt32LE(place, 16);
    await refused(zip([good], { comment: hidden }), "not_a_zip", null);
    const broken = Buffer.from(bytes);
    broken.writeUInt32LE(signatures.local, directory + 47);
    await refused(broken, "not_a_zip", 1);
  });

  test("a large end record that says something else than the small one", async () => {
    const record = (count: number, size: number, offset: number) =>
      Buffer.concat([
        words(signatures.end64),
        longs(44),
        Buffer.of(45, 3, 45, 0),
        words(0, 0),
        longs(count, count, size, offset),
      ]);
    const locator = (place: number, disks = 1) =>
      Buffer.concat([words(signatures.locator, 0), longs(place), words(disks)]);
    const end = 36 + 47;
    const made = (before: Buffer, rest = {}) => zip([good], { before, ...rest });
    const right = Buffer.concat([record(1, 47, 36), locator(end)]);
    assert.deepEqual(Object.keys(await seen(made(right))), ["", "a"]);
    assert.deepEqual(Object.keys(await seen(made(right, { count: 0xffff, size: 0xffff_ffff, offset: 0xffff_ffff }))), [
      "",
      "a",
    ]);
    await refused(made(Buffer.concat([record(2, 47, 36), locator(end)]), { count: 0xffff }), "not_a_zip", null);
    await refused(made(right, { count: 3 }), "not_a_zip", null);
    await refused(made(right, { size: 46 }), "not_a_zip", null);
    await refused(made(Buffer.concat([record(1, 46, 36), locator(end)]), { size: 0xffff_ffff }), "not_a_zip", null);
    await refused(made(Buffer.concat([record(1, 47, 36), locator(end + 1)])), "not_a_zip", null);
    await refused(made(Buffer.concat([record(1, 47, 36), locator(end, 2)])), "multi_volume", null);
  });

  test("a part of several volumes", async () => {
    await refused(zip([good], { disk: 1 }), "multi_volume", null);
    await refused(zip([good, { name: "b", record: { disk: 1 } }]), "multi_volume", 1, "b");
  });
});

describe("hostile entries are refused with their number and path", () => {
  test("encrypted, of another method, patches", async () => {
    for (const flags of [0x801, 0x841, 0x2800])
      await refused(zip([good, { name: "b", content: "x", said: { flags } }]), "encrypted_entry", 1, "b");
    for (const method of [9, 12, 14, 93, 99])
      await refused(zip([good, { name: "b", content: "x", method }]), "unsupported_compression", 1, "b");
    await refused(zip([good, { name: "b", said: { flags: 0x820 } }]), "unsupported_compression", 1, "b");
  });

  test("a wrong CRC, in small and large, stored and deflated files, links and directories", async () => {
    const said = { crc: 1 };
    for (const method of [0, 8])
      for (const content of ["x".repeat(100), "x".repeat(600_000)])
        await refused(zip([good, { name: "b", content, method, said }]), "checksum_mismatch", 1, "b");
    await refused(zip([good, { name: "b", content: "x", mode: 0o120777, said }]), "checksum_mismatch", 1, "b");
    await refused(zip([good, { name: "b/", said }]), "checksum_mismatch", 1, "b");
  });

  test("more or fewer bytes than the archive says", async () => {
    for (const content of ["x".repeat(3000), "x".repeat(3_000_000)])
      for (const change of [-1, 1]) {
        const size = content.length + change;
        await refused(zip([good, { name: "b", content, method: 8, said: { size } }]), "size_mismatch", 1, "b");
      }
    await refused(zip([good, { name: "b", content: "xy", said: { size: 1 } }]), "size_mismatch", 1, "b");
    await refused(
      zip([good, { name: "b", content: "xyz", method: 8, mode: 0o120777, said: { size: 2 } }]),
      "size_mismatch",
      1,
    );
    await refused(zip([good, { name: "b/", content: "x" }]), "contradictory_entry", 1, "b");
  });

  test("a size that cannot be is refused before anything is inflated", async () => {
    const believing = { startThreadsFor: () => undefined, inflate: async () => ({ fault: null, error: null }) };
    for (const [method, size] of [
      [8, 500_000],
      [8, 2 ** 31],
      [0, 9],
      [0, 11],
    ] as const) {
      const entry = { name: "b", content: "x".repeat(10), method, said: { size } };
      const received = receiveZipOf(spool, zip([good, entry]), { inflater: believing });
      await assert.rejects(received, { code: "size_mismatch", entry: 1 });
    }
  });

  test("a file is not inflated further than its size: damage behind it is not met", async () => {
    const content = Buffer.alloc(3_000_000);
    const stored = Buffer.from(deflateRawSync(content).subarray(0, -9));
    for (const size of [1000, 600_000]) {
      const entry = { name: "b", content, method: 8, stored, said: { size, length: stored.length } };
      await refused(zip([good, entry]), "size_mismatch", 1, "b");
    }
  });

  test("damaged compression, an end within it, and bytes after its end", async () => {
    for (const content of ["x".repeat(100), "x".repeat(600_000)]) {
      const deflated = deflateRawSync(content);
      const cases = [
        deflated.subarray(0, -1),
        Buffer.concat([deflated, Buffer.of(0)]),
        Buffer.alloc(deflated.length, 0xff),
      ];
      for (const stored of cases) {
        const entry = {
          name: "b",
          content,
          method: 8,
          stored: Buffer.concat([stored]),
          said: { length: stored.length },
        };
        await refused(zip([good, entry]), "damaged_compression", 1, "b");
      }
    }
  });

  test("a local header that says something else than the directory", async () => {
    const locals: readonly NonNullable<MadeEntry["local"]>[] = [
      { name: Buffer.from("c") },
      { method: 8 },
      { crc: 7 },
      { size: 1 },
      { length: 1 },
      { size: 0, length: 0, crc: 0 },
      { flags: 0x801 },
    ];
    for (const local of locals)
      await refused(zip([good, { name: "b", content: "xy", local }]), "contradictory_entry", 1, "b");
    await refused(zip([good, { name: "b", record: { offset: 3 } }]), "overlapping_entries", 1, "b");
    const moved = zip([good, { name: "b", content: "xy", before: Buffer.alloc(9), record: { offset: 36 } }]);
    await refused(moved, "contradictory_entry", 1, "b");
  });

  test("a descriptor that says something else, or is missing", async () => {
    const content = "merhaba";
    const said = { flags: withDescriptor };
    const local = { crc: 0, size: 0, length: 0 };
    const made = (descriptor: Buffer, more = {}) =>
      zip([good, { name: "b", content, said, local, descriptor, ...more }]);
    assert.equal((await seen(made(descriptorOf(content)))).b?.size, 7);
    const [crc, n] = [crc32(content), content.length];
    for (const wrong of [
      words(crc + 1, n, n),
      words(crc, n + 1, n),
      words(crc, n, n + 1),
      words(crc, n),
      Buffer.alloc(0),
    ])
      await refused(made(wrong), "contradictory_entry", 1, "b");
    await refused(made(descriptorOf(content), { local: { ...local, size: 3 } }), "contradictory_entry", 1, "b");
  });

  test("entries that share bytes, as in archives that grow without bound", async () => {
    const kernel = deflateRawSync(Buffer.alloc(100_000));
    const inner = zip([{ name: "b", content: Buffer.alloc(100_000), method: 8 }]).subarray(0, 31 + kernel.length);
    // The content of `a` is the local header and the content of `b`.
    await refused(
      zip([
        { name: "a", content: inner },
        { name: "b", content: Buffer.alloc(100_000), method: 8, record: { offset: 31 } },
      ]),
      "overlapping_entries",
      1,
      "b",
    );
    const same = zip([good, { name: "b", content: "x" }, { ...good, record: { offset: 0 } }]);
    await refused(same, "overlapping_entries", 2, "a");
    const atDirectory = { name: "b", content: "x", said: { length: 60, size: 60 } };
    await refused(zip([good, atDirectory]), "overlapping_entries", 1, "b");
    // Only the extra field of the local header shows it.
    const hidden = { name: "b", content: "x", local: { extra: extra(0x1234, Buffer.alloc(40)) } };
    const bytes = zip([good, hidden, { name: "c", record: { offset: 36 + 33 } }]);
    await refused(bytes, "overlapping_entries", 2, "c");
    for (const size of [10, 600_000]) {
      const content = "x".repeat(size);
      const local = { extra: extra(0x1234, Buffer.alloc(36)) };
      const short = { name: "b", content, stored: Buffer.from(content.slice(36)), said: { length: size }, local };
      await refused(zip([good, short]), "overlapping_entries", 1, "b");
    }
    const intoDirectory = zip([
      good,
      { name: "b", content: "xy", said: { flags: withDescriptor }, local: { size: 0, length: 0, crc: 0 } },
    ]);
    await refused(intoDirectory, "contradictory_entry", 1, "b");
  });

  test("a target of a link with a NUL byte, or longer than a path", async () => {
    const link = (content: string, method = 0) => ({ name: "b", content, method, mode: 0o120777 });
    await refused(zip([good, link("a\0b")]), "unsafe_path", 1, "b");
    await refused(zip([good, link("x".repeat(5000))]), "path_too_long", 1, "b");
    const long = Buffer.concat([Buffer.alloc(6000), deflateRawSync("x")]);
    await refused(
      zip([good, { ...link("x", 8), stored: long, said: { length: long.length } }]),
      "path_too_long",
      1,
      "b",
    );
  });

  test("any changed byte gives a refusal, or an archive with the same content, and never another error", async () => {
    const bytes = zip([
      { name: "a", content: "first".repeat(9), method: 8 },
      { name: "b", content: "second" },
    ]);
    const contents = async (archive: Buffer) =>
      Object.values(await seen(archive)).flatMap(({ type, sha256, size }) => (type === "file" ? [[sha256, size]] : []));
    const right = await contents(bytes);
    let accepted = 0;
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (at % 2 === 0 ? 0xff : 0x01);
      const found = await contents(changed).catch((error: Error) => error);
      if (found instanceof Error) {
        const isRefusal = found.name === "InvalidArchiveError" || found instanceof ArchiveTooLargeError;
        assert.ok(isRefusal, `byte ${at}: ${found.stack}`);
      } else {
        accepted++;
        // A changed type makes a directory, a link or nothing of a file.
        for (const one of found)
          assert.ok(
            right.some((each) => isDeepStrictEqual(each, one)),
            `byte ${at}`,
          );
      }
    }
    // Versions, times, attributes and flags without a meaning.
    assert.ok(accepted > 10 && accepted < bytes.length / 3, `${accepted} of ${bytes.length}`);
    assert.equal(spool.usedBytes, 0);
  });

  test("bytes that no entry has are a warning", async () => {
    const found = await seen(zip([good, { name: "b", before: Buffer.from("hidden") }]));
    assert.equal(found["warning "]?.code, "unlisted_bytes");
    assert.equal((await seen(zip([{ ...good, before: Buffer.alloc(1) }])))["warning "]?.code, "unlisted_bytes");
  });
});

describe("limits", () => {
  const zeros = Buffer.alloc(1_000_000);
  const bomb = zip(Array.from({ length: 50 }, (_, at) => ({ name: `${at}`, content: zeros, method: 8 })));

  test("the sum of the sizes is compared before anything is inflated", async () => {
    let inflated = 0;
    const counting = {
      startThreadsFor: () => undefined,
      inflate: async () => {
        inflated++;
        return { fault: null, error: null };
      },
    };
    await assert.rejects(receiveZipOf(spool, bomb, { maxBytes: 40_000_000, inflater: counting }), ArchiveTooLargeError);
    const small = await testSpool(after, { totalBytes: 2 ** 40, ownerBytes: 40_000_000 });
    await assert.rejects(receiveZipOf(small.spool, bomb, { inflater: counting }), ArchiveTooLargeError);
    const full = await testSpool(after, { totalBytes: 40_000_000, ownerBytes: 2 ** 40 });
    await assert.rejects(receiveZipOf(full.spool, bomb, { inflater: counting }), SpoolFullError);
    assert.equal(inflated, 0);
    assert.deepEqual([small.spool.usedBytes, full.spool.usedBytes], [0, 0]);
    assert.deepEqual(await readdir(folder), []);
  });

  test("overlaps are found before anything is inflated", async () => {
    const entries = Array.from({ length: 300 }, (_, at) => ({ name: `${1000 + at}`, content: "x", method: 8 }));
    let inflated = 0;
    const counting = {
      startThreadsFor: () => undefined,
      inflate: async () => ({ fault: null, error: null, count: inflated++ }),
    };
    const last = { name: "z", content: "x", record: { offset: 299 * (30 + 4 + 3) } };
    const long = { name: "z", content: "x", said: { length: 5000, size: 5000 } };
    for (const wrong of [last, long]) {
      const received = receiveZipOf(spool, zip([...entries, wrong]), { inflater: counting });
      await assert.rejects(received, { code: "overlapping_entries" });
    }
    assert.equal(inflated, 0);
    await (await receiveZipOf(spool, zip(entries), { inflater: counting })).remove();
    assert.equal(inflated, 2, "batches of 256");
  });

  test("what is inflated counts in the spool until it is removed", async () => {
    const archive = await receiveZipOf(spool, bomb);
    assert.equal(spool.usedBytes, bomb.length + 50_000_000);
    await archive.remove();
    assert.equal(spool.usedBytes, 0);
  });

  test("a full disk in a worker is a full spool, other errors are errors", async () => {
    const failing = (error: string) => ({
      startThreadsFor: () => undefined,
      inflate: async () => ({ fault: null, error }),
    });
    const bytes = zip([{ name: "a", content: "x", method: 8 }]);
    await assert.rejects(receiveZipOf(spool, bytes, { inflater: failing("ENOSPC") }), SpoolFullError);
    await assert.rejects(receiveZipOf(spool, bytes, { inflater: failing("EIO") }), { code: "EIO" });
    assert.deepEqual(await readdir(folder), []);
  });

  test("an abort ends the check of a long archive and leaves nothing", async () => {
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error("gone"));
    await assert.rejects(receiveZipOf(spool, bomb, { signal: controller.signal, onProgress }), { message: "gone" });
    assert.deepEqual(await readdir(folder), []);
  });
});
