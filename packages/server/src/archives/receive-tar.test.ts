import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { receiveTar } from "./receive-tar.ts";
import { ArchiveTooLargeError } from "./received-archive.ts";
import { maxSparseParts } from "./sparse-map.ts";
import { SpoolFullError } from "./spool.ts";
import {
  endMark,
  extendedHeader,
  header,
  inPieces,
  member,
  receive,
  record,
  seenIn,
  tar,
  testSpool,
  withChecksum,
} from "./testing.ts";

const { spool, folder } = await testSpool(after);

async function seen(bytes: Buffer, options: Parameters<typeof receive>[2] = {}) {
  const archive = await receive(spool, bytes, options);
  try {
    return await seenIn(archive);
  } finally {
    await archive.remove();
  }
}

const refused = (bytes: Buffer, code: string, path?: string) =>
  assert.rejects(receive(spool, bytes), (error: Error & { code?: string; path?: Uint8Array }) => {
    assert.deepEqual([error.name, error.code], ["InvalidArchiveError", code]);
    if (path !== undefined) assert.equal(Buffer.from(error.path ?? []).toString("latin1"), path);
    return true;
  });

const file = (name: string | Buffer, content = "x") => member({ name }, content);

describe("paths of a received archive", () => {
  test("a leading slash, `./`, empty parts and `.` are left out", async () => {
    const paths = Object.keys(await seen(tar(file("/a"), file("./b"), file("c//d/./e"))));
    assert.deepEqual(paths.sort(), ["", "a", "b", "c", "c/d", "c/d/e"].sort());
  });

  test("`..` anywhere, a NUL byte, an empty name and a path above 4096 bytes are refused with the entry", async () => {
    for (const name of ["../a", "a/../b", "a/..", ".."]) await refused(tar(file(name)), "unsafe_path", name);
    await refused(tar(extendedHeader({ path: "a\0b" }), file("a")), "unsafe_path", "a\0b");
    await refused(tar(extendedHeader({ linkpath: "a\0b" }), member({ name: "l", type: "2" })), "unsafe_path", "l");
    await refused(tar(member({ name: "h", type: "1", linkName: "../x" })), "unsafe_path", "../x");
    await refused(tar(file("./")).fill("0", 156, 157), "not_a_header");
    await refused(tar(member({ name: "./", type: "2", linkName: "x" })), "empty_path");
    const long = `${"a".repeat(200)}/`.repeat(21);
    await refused(tar(extendedHeader({ path: `${long}x` }), file("a")), "path_too_long");
    await refused(tar(extendedHeader({ path: "a".repeat(4097) }), file("a")), "path_too_long");
    assert.equal(Object.keys(await seen(tar(extendedHeader({ path: "a".repeat(4096) }), file("a"))))[1]?.length, 4096);
  });

  test("names are kept byte for byte, whatever their encoding", async () => {
    const names = [
      Buffer.from("g\u0131d\u0131"),
      Buffer.from([0x66, 0x98, 0xff]),
      Buffer.from("e\u0301"),
      Buffer.from("\u00e9"),
    ];
    const paths = Object.keys(await seen(tar(...names.map((name) => file(name)))));
    assert.deepEqual(paths.slice(1).sort(), names.map((name) => name.toString("latin1")).sort());
    const asRecord = await seen(tar(extendedHeader({ path: Buffer.from([0x66, 0x98, 0xff]) }), file("short")));
    assert.deepEqual(Object.keys(asRecord), ["", "f\x98\xff"]);
  });

  test("of entries with the same path the last one counts", async () => {
    const { a } = await seen(tar(file("a", "first"), file("./a", "second one")));
    assert.equal(a?.size, 10);
    const replaced = await seen(tar(file("d", "x"), member({ name: "d/", type: "5" }), file("d/f")));
    assert.deepEqual([replaced.d?.type, replaced["d/f"]?.type], ["enter", "file"]);
  });

  test("a file or a link with entries below it is refused: a link would lead them elsewhere", async () => {
    await refused(tar(file("a"), file("a/b")), "path_is_no_directory", "a");
    await refused(tar(file("a/b/c"), file("a/b")), "path_is_no_directory", "a/b");
    await refused(
      tar(member({ name: "a", type: "2", linkName: "/etc" }), file("a/passwd")),
      "path_is_no_directory",
      "a",
    );
    // "a-" sorts between "a" and "a/b" as bytes, and must not hide the conflict.
    await refused(tar(file("a"), file("a-"), file("a/b")), "path_is_no_directory", "a");
  });

  test("the walk goes depth first with names in byte order, whatever the order of the archive", async () => {
    const names = ["b", "a/z", "a-/x", "a/b/c", "a", "\x01", "a/b.d", "a0"].filter((name) => name !== "a");
    const paths = Object.keys(await seen(tar(...names.map((name) => file(name)))));
    assert.deepEqual(paths, ["", "\x01", "a", "a/b", "a/b/c", "a/b.d", "a/z", "a-", "a-/x", "a0", "b"]);
  });
});

describe("entries of a received archive", () => {
  test("directories, symbolic links and files have their modes, owners and times; bits of the type are left out", async () => {
    const entries = await seen(
      tar(
        member({ name: "./", type: "5", mode: 0o40750, mtime: 7 }),
        member({ name: "d/", type: "5", mode: 0o2755 }),
        member({ name: "l", type: "2", linkName: "../outside" }),
        extendedHeader({ uid: "4294967295", mtime: "-1.5" }),
        member({ name: "f", mode: 0o104711 }, "x"),
      ),
    );
    assert.deepEqual([entries[""]?.mode, entries[""]?.mtime], ["750", "7.000000000"]);
    assert.equal(entries.d?.mode, "2755");
    assert.equal(entries.l?.target, "../outside");
    assert.deepEqual([entries.f?.mode, entries.f?.uid, entries.f?.mtime], ["4711", 4294967295, "-2.500000000"]);
  });

  test("links and directories have no content, whatever size their header says", async () => {
    const sized = (name: string, type: string) => header({ name, type, size: 1000, linkName: "f" });
    const entries = await seen(tar(file("f"), sized("d/", "5"), sized("l", "2"), sized("h", "1"), file("g")));
    assert.deepEqual(Object.keys(entries), ["", "d", "f", "g", "h", "l"]);
  });

  test("a hard link has the content of the file before it, also when a later entry replaces that file", async () => {
    const link = member({ name: "link", type: "1", linkName: "./f" });
    const entries = await seen(tar(file("f", "old"), link, file("f", "newer")));
    assert.deepEqual([entries.f?.size, entries.link?.size], [5, 3]);
    const both = await seen(tar(file("f", "same"), link, member({ name: "third", type: "1", linkName: "link" })));
    assert.deepEqual([both.f?.group, both.link?.group, both.third?.group], [0, 0, 0]);
    assert.equal(both.f?.sha256, both.third?.sha256);
    assert.equal((await seen(tar(file("f"), member({ name: "f", type: "1", linkName: "f" })))).f?.size, 1);
  });

  test("a second name of a symbolic link is an equal link; a directory has no second name", async () => {
    const to = (name: string, linkName: string) => member({ name, type: "1", linkName });
    const link = member({ name: "l", type: "2", linkName: "somewhere" });
    const entries = await seen(tar(link, to("m", "l"), member({ name: "d/", type: "5" }), to("e", "d")));
    assert.deepEqual([entries.m?.type, entries.m?.target], ["link", "somewhere"]);
    assert.equal(entries["warning e"]?.code, "link_target_missing");
  });

  test("a checksum over signed bytes, as old programs wrote it, is accepted", async () => {
    const block = header({ name: Buffer.from([0xe7, 0x61]), type: "0" });
    const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : (byte << 24) >> 24), 0);
    block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    assert.ok((await seen(tar(block)))["\xe7a"]);
  });

  test("what is left out is a warning: devices, pipes, links without a target, unknown types are files", async () => {
    const entries = await seen(
      tar(
        ...["3", "4", "6"].map((type) => member({ name: `special-${type}`, type })),
        member({ name: "h", type: "1", linkName: "missing" }),
        member({ name: "l", type: "2" }),
        member({ name: "odd", type: "Z" }, "abc"),
      ),
    );
    const codes = Object.entries(entries).flatMap(([path, { code }]) =>
      code === undefined ? [] : [`${path} ${code}`],
    );
    assert.deepEqual(codes.sort(), [
      "warning h link_target_missing",
      "warning l empty_link_target",
      "warning odd unknown_type",
      "warning special-3 special_file",
      "warning special-4 special_file",
      "warning special-6 special_file",
    ]);
    assert.equal(entries.odd?.size, 3);
  });

  test("numbers in base 256 are read, also negative times; beyond 2^53 they are refused", async () => {
    const base256 = (value: bigint, length: number) => {
      const bytes = Buffer.alloc(length);
      let left = BigInt.asUintN(length * 8, value);
      for (let at = length - 1; at >= 0; at--, left >>= 8n) bytes[at] = Number(left & 0xffn);
      bytes[0] = (bytes[0] ?? 0) | 0x80;
      return bytes;
    };
    const { f } = await seen(tar(member({ name: "f", uid: base256(70_000n, 8), mtime: base256(-5n, 12) })));
    assert.deepEqual([f?.uid, f?.mtime], [70_000, "-5.000000000"]);
    await refused(tar(header({ name: "f", size: base256(2n ** 53n, 12) })), "number_out_of_range", "f");
    await refused(tar(header({ name: "f", size: base256(-1n, 12) })), "number_out_of_range", "f");
    await refused(tar(member({ name: "f", uid: base256(-1n, 8) })), "number_out_of_range", "f");
    await refused(tar(header({ name: "f", size: Buffer.from("99999999999\0") })), "number_out_of_range", "f");
  });

  test("a global extended header holds for all entries until an empty value takes it back", async () => {
    const entries = await seen(
      tar(extendedHeader({ mtime: "5" }, "g"), file("a"), extendedHeader({ mtime: "" }), file("b"), file("c")),
    );
    assert.deepEqual(
      [entries.a?.mtime, entries.b?.mtime, entries.c?.mtime].map((time) => String(time)[0]),
      ["5", "0", "5"],
    );
  });

  test("malformed extended headers are refused", async () => {
    for (const body of [
      "x path=a\n",
      "9999 path=a\n",
      "3 a",
      "12 path=abcd",
      "0 a=b\n",
      "99999999999 a=b\n",
      "6 path\n",
    ])
      await refused(tar(member({ name: "x", type: "x" }, body), file("a")), "malformed_extended_header");
    await refused(tar(extendedHeader({ size: "-1" }), file("a")), "malformed_extended_header");
    await refused(tar(extendedHeader({ size: "9007199254740992" }), file("a")), "number_out_of_range");
    await refused(tar(header({ name: "x", type: "x", size: 9 * 2 ** 20 })), "header_too_large");
    await refused(tar(header({ name: "x", type: "L", size: 70_000 })), "header_too_large");
  });
});

describe("sparse files of a received archive", () => {
  const expanded = Buffer.concat([Buffer.alloc(512), Buffer.from("data"), Buffer.alloc(1000)]);

  test("maps that overlap, leave the file, or do not fit the content are refused", async () => {
    const version01 = (map: string, size = "1516") =>
      tar(extendedHeader({ "GNU.sparse.size": size, "GNU.sparse.map": map }), file("s", "data"));
    const { s } = await seen(version01("512,4"));
    assert.equal(s?.size, expanded.length);
    for (const map of ["512,5", "512,3", "512,2,513,2", "512", "1514,4", "512,4,0,0", "a,b"])
      await assert.rejects(receive(spool, version01(map)), /malformed/, map);
  });

  test("version 1.0 has its map before the content; a map that never ends or is too large is refused", async () => {
    const sparse = (map: string, content: string) => {
      const block = Buffer.alloc(Math.ceil(map.length / 512) * 512);
      block.write(map);
      const records = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "real",
        "GNU.sparse.realsize": "1516",
      };
      return tar(
        extendedHeader(records),
        member({ name: "GNUSparseFile.1/real" }, Buffer.concat([block, Buffer.from(content)])),
      );
    };
    const { real } = await seen(sparse("1\n512\n4\n", "data"));
    assert.equal(real?.size, 1516);
    await refused(sparse(`${"1".repeat(20)}\n`, "data"), "malformed_sparse_map");
    await refused(sparse("999999999\n", "data"), "header_too_large");
    await refused(sparse("2\n512\n4\n", "data"), "malformed_sparse_map");
  });

  test("type S: the parts in the header count, and a size that they do not have is refused", async () => {
    const sparse = (realSize: number) => {
      const block = header({ name: "s", type: "S", size: 4, magic: "ustar  \0" });
      block.write("00000001000\0", 386, "latin1");
      block.write("00000000004\0", 398, "latin1");
      block.write(`${realSize.toString(8).padStart(11, "0")}\0`, 483, "latin1");
      const content = Buffer.alloc(512);
      content.write("data");
      return tar(withChecksum(block), content, file("after"));
    };
    const entries = await seen(sparse(expanded.length));
    assert.deepEqual([entries.s?.size, entries.after?.size], [expanded.length, 1]);
    await refused(sparse(515), "malformed_sparse_map");
  });

  test("a map with more parts than memory is given to is refused, also over several files", async () => {
    const sparse = (name: string, parts: number) => {
      const map = Array.from({ length: parts }, (_, at) => `${at * 2},1`).join(",");
      return [
        extendedHeader({ "GNU.sparse.size": String(parts * 2), "GNU.sparse.map": map }),
        file(name, "x".repeat(parts)),
      ];
    };
    await refused(tar(...sparse("a", maxSparseParts + 1)), "header_too_large");
    const three = ["a", "b", "c"].flatMap((name) => sparse(name, maxSparseParts));
    await refused(tar(...three), "header_too_large", "c");
  });

  test("the size of the expanded file counts, so a few bytes cannot become a terabyte", async () => {
    const huge = (size: string) =>
      tar(extendedHeader({ "GNU.sparse.size": size, "GNU.sparse.map": "0,4" }), file("s", "data"));
    await refused(huge(String(2 ** 40 + 1)), "file_too_large", "s");
    await assert.rejects(receive(spool, huge("100000"), { maxBytes: 99_999 }), ArchiveTooLargeError);
  });

  test("a hard link to a sparse file has its content", async () => {
    const sparse = [extendedHeader({ "GNU.sparse.size": "1516", "GNU.sparse.map": "512,4" }), file("s", "data")];
    const entries = await seen(tar(...sparse, member({ name: "h", type: "1", linkName: "s" }), file("z")));
    assert.equal(entries.h?.sha256, entries.s?.sha256);
    assert.equal(entries.h?.size, 1516);
  });
});

describe("the end of a received archive", () => {
  const archive = Buffer.concat([file("a", "1".repeat(600)), extendedHeader({ path: "longer" }), file("b")]);

  test("an archive that stops at any byte before its end mark is refused", async () => {
    for (let length = 0; length < archive.length + 512; length += 97) {
      const cut = Buffer.concat([archive, endMark]).subarray(0, length);
      await assert.rejects(receive(spool, cut), { name: "InvalidArchiveError" }, `${length} bytes`);
    }
    await refused(archive, "no_end_mark");
  });

  test("one zero block is enough, and zeros may follow without end", async () => {
    assert.ok((await seen(Buffer.concat([archive, Buffer.alloc(512)]))).longer);
    assert.ok((await seen(Buffer.concat([archive, Buffer.alloc(10_000)]))).longer);
  });

  test("an archive after the end mark is read too; other bytes there are a warning", async () => {
    const both = await seen(Buffer.concat([tar(file("a")), tar(file("b"))]));
    assert.deepEqual(Object.keys(both), ["", "a", "b"]);
    for (const rest of ["junk", "x".repeat(2000)]) {
      const entries = await seen(Buffer.concat([tar(file("a")), Buffer.from(rest)]));
      assert.equal(entries["warning "]?.code, "trailing_bytes");
    }
    await refused(Buffer.concat([tar(file("a")), file("b")]), "no_end_mark");
  });

  test("what is no tar is refused: a page, a zip, a damaged header, a part of several volumes", async () => {
    for (const text of ["<html>".repeat(200), "PK\x03\x04".repeat(200)])
      await refused(Buffer.from(text), "not_a_header");
    const damaged = tar(file("a"), file("b"));
    damaged[1024] = 0x41;
    await refused(damaged, "not_a_header");
    await refused(tar(member({ name: "a", type: "M" }, "rest")), "multi_volume", "a");
  });

  test("every way of cutting it into chunks gives the same entries", async () => {
    const bytes = tar(
      archive,
      extendedHeader({ "GNU.sparse.size": "1516", "GNU.sparse.map": "512,4" }),
      file("s", "data"),
    );
    const whole = await seen(bytes);
    for (const size of [1, 7, 511, 512, 513, 5000]) {
      const { signal } = new AbortController();
      const options = { spool, owner: "a", encoding: null, maxBytes: 2 ** 50, signal } as const;
      const received = await receiveTar(inPieces(bytes, size), options);
      assert.deepEqual(await seenIn(received), whole, `pieces of ${size}`);
      await received.remove();
    }
  });

  test("any changed byte gives an archive, or a refusal that names why, and never another error", async () => {
    const bytes = tar(archive, record("x", Buffer.from("y")), file("s", "data"));
    for (let at = 0; at < bytes.length; at += 11) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x55;
      await seen(changed).catch((error: Error) => assert.equal(error.name, "InvalidArchiveError", `byte ${at}`));
    }
  });
});

/** As the command zstd writes it: with a checksum. Without one, damage shows only where it hits a header. */
const zstdWithChecksum = (bytes: Buffer) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });

describe("compressed archives", () => {
  const plain = tar(file("a", "abc".repeat(5000)));
  const half = Math.floor(plain.length / 2);

  test("gzip and zstd, also in several members or frames", async () => {
    for (const [encoding, compress] of [
      ["gzip", gzipSync],
      ["zstd", zstdWithChecksum],
    ] as const) {
      const joined = Buffer.concat([compress(plain.subarray(0, half)), compress(plain.subarray(half))]);
      assert.equal((await seen(compress(plain), { encoding })).a?.size, 15_000);
      assert.equal((await seen(joined, { encoding })).a?.size, 15_000);
    }
  });

  test("truncated, damaged or followed by other bytes, it is refused", async () => {
    for (const [encoding, compress] of [
      ["gzip", gzipSync],
      ["zstd", zstdWithChecksum],
    ] as const) {
      const whole = compress(plain);
      const damaged = Buffer.from(whole);
      damaged[20] = (damaged[20] ?? 0) ^ 0xff;
      const inputs = [
        whole.subarray(0, -1),
        whole.subarray(0, 10),
        damaged,
        Buffer.concat([whole, Buffer.from("junk")]),
        Buffer.alloc(0),
        plain,
      ];
      for (const [at, input] of inputs.entries())
        await assert.rejects(receive(spool, input, { encoding }), { code: "damaged_compression" }, `${encoding} ${at}`);
      const second = Buffer.concat([compress(plain.subarray(0, half)), damaged]);
      await assert.rejects(receive(spool, second, { encoding }), { code: "damaged_compression" });
    }
  });

  test("a window above 8 MiB is refused", async () => {
    const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_enableLongDistanceMatching]: 1 };
    const long = zstdCompressSync(Buffer.alloc(9 * 2 ** 20), { params, pledgedSrcSize: 9 * 2 ** 20 });
    const streamed = zstdCompressSync(Buffer.alloc(20 * 2 ** 20, "0123456789abcdef"), { params });
    for (const each of [long, streamed])
      await assert.rejects(receive(spool, each, { encoding: "zstd" }), { name: "InvalidArchiveError" });
  });

  test("what a small body becomes is bounded while it is decompressed", async () => {
    const small = await testSpool(after, { totalBytes: 2 ** 30, ownerBytes: 5 * 2 ** 20 });
    const bomb = zstdCompressSync(
      Buffer.concat([header({ name: "a", size: 2 ** 27 }), Buffer.alloc(2 ** 27), endMark]),
    );
    assert.ok(bomb.length < 20_000);
    await assert.rejects(receive(small.spool, bomb, { encoding: "zstd" }), SpoolFullError);
    await assert.rejects(receive(spool, bomb, { encoding: "zstd", maxBytes: 2 ** 20 }), ArchiveTooLargeError);
    assert.equal(small.spool.usedBytes, 0);
    assert.deepEqual(await readdir(small.folder), []);
  });
});

test("refused, aborted or broken off, it leaves nothing in the spool", async () => {
  const stop = new AbortController();
  const breaking = async function* () {
    yield tar(file("a"));
    throw new Error("the client went away");
  };
  const stopping = async function* () {
    yield tar(file("a"));
    stop.abort(new Error("stopped"));
    yield Buffer.alloc(512);
  };
  const options = { spool, owner: "a", encoding: null, maxBytes: 2 ** 50, signal: stop.signal } as const;
  await assert.rejects(receiveTar(breaking(), options), /went away/);
  await assert.rejects(receiveTar(breaking(), { ...options, encoding: "gzip" }), /went away/);
  await assert.rejects(receiveTar(stopping(), options), /stopped/);
  await refused(file("a"), "no_end_mark");
  assert.deepEqual([await readdir(folder), spool.usedBytes], [[], 0]);
});
