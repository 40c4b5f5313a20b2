import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { testContext } from "../testing/test-environment.ts";
import { ByteWriter, FormatError } from "./bytes.ts";
import { acceptManifest, draftManifest, openDetails, openManifest } from "./manifest.ts";
import { startSession } from "./session-header.ts";
import type { SnapshotRow } from "./snapshot.ts";
import { noRetention } from "./snapshot.ts";
import { authoritySigner, createVaultKeys } from "./vault-keys.ts";
import { decodeWarnings, maxPathBytes, WarningList } from "./warnings.ts";
import { authorityWriter } from "./writer-registration.ts";

const ctx = testContext(5);
const vaultId = Buffer.alloc(16, 3);
const keys = createVaultKeys(ctx, vaultId);
const authority = authoritySigner(keys);

/** A manifest with this list of warnings, and this number of them in its row. */
function manifestWith(warnings: Uint8Array | null, count: number) {
  const writer = authorityWriter(authority, vaultId);
  const session = startSession(ctx, keys, writer, { session: 1, nonce: 1 });
  const row: SnapshotRow = {
    id: "0a".repeat(16),
    source: "muhasebe",
    session: 1,
    startedAt: 1,
    completedAt: 2,
    rootOrdinal: 1,
    rootId: Buffer.alloc(32, 1),
    size: 0,
    files: 0,
    warnings: count,
    storedBytes: 0,
    status: "completed",
    changes: 0,
    retention: noRetention,
    reach: Buffer.alloc(0),
  };
  const draft = draftManifest(session, writer, row, { label: "Ocak", warnings });
  const bytes = acceptManifest(authority, draft, { at: 3, retention: noRetention });
  return openManifest(bytes, { snapshot: row.id, vaultId }, keys.authorityPublicKey);
}

/** Chunks of as many empty warnings as fit: 2 bytes each, and a few bytes when compressed. */
function bomb(chunks: number): { readonly list: Buffer; readonly warnings: number } {
  const perChunk = 128 * 1024;
  const chunk = zstdCompressSync(
    new ByteWriter()
      .varint(perChunk)
      .raw(Buffer.alloc(perChunk * 2))
      .take(),
  );
  const list = new ByteWriter().varint(chunks);
  for (let i = 0; i < chunks; i++) list.bytes(chunk);
  return { list: list.take(), warnings: chunks * perChunk };
}

describe("the details of a manifest", () => {
  test("they are read as they were written, with all warnings", () => {
    const list = new WarningList();
    const written = Array.from({ length: 20_000 }, (_, i) => ({ path: Buffer.from(`dosya ${i}`), code: "EACCES" }));
    for (const warning of written) list.add(warning);
    const { source, label, warnings } = openDetails(keys, manifestWith(list.encode(), list.count));
    assert.deepEqual([source, label], ["muhasebe", "Ocak"]);
    assert.deepEqual([...warnings()], written);
  });

  test("details that are shorter than their tag are a FormatError", () => {
    const manifest = manifestWith(null, 0);
    for (const length of [0, 1, 15, 16, 17])
      assert.throws(
        () => openDetails(keys, { ...manifest, details: manifest.details.subarray(0, length) }),
        FormatError,
      );
  });

  test("the source can be read where the list of warnings cannot", () => {
    const { source, warnings } = openDetails(keys, manifestWith(Buffer.from("not a list"), 5));
    assert.equal(source, "muhasebe");
    assert.throws(() => [...warnings()], FormatError);
  });

  test("a list of few bytes that stands for millions of warnings ends at the number that the manifest has", () => {
    const { list, warnings: all } = bomb(30);
    assert.ok(list.length < 2000 && all > 3_800_000);
    const manifest = manifestWith(list, 3);
    let read = 0;
    const readAll = () => {
      for (const _ of openDetails(keys, manifest).warnings()) read++;
    };
    assert.throws(readAll, /more warnings than its manifest/);
    assert.equal(read, 0, "the first chunk has too many");
  });
});

describe("a list of warnings", () => {
  test("a list is decoded one chunk at a time", () => {
    const { list, warnings } = bomb(2);
    // The second chunk is truncated: the warnings of the first are read nevertheless.
    const truncated = list.subarray(0, -3);
    let read = 0;
    const readAll = () => {
      for (const _ of decodeWarnings(truncated, warnings)) read++;
    };
    assert.throws(readAll, FormatError);
    assert.equal(read, warnings / 2);
  });

  test("a chunk without warnings and a chunk that decompresses to more than a writer makes are refused", () => {
    const listOf = (chunk: Uint8Array) => new ByteWriter().varint(1).bytes(zstdCompressSync(chunk)).take();
    assert.throws(() => [...decodeWarnings(listOf(Buffer.of(0)), 10)], FormatError);
    const long = new ByteWriter()
      .varint(1)
      .bytes(Buffer.alloc(1 << 20))
      .text("EACCES")
      .take();
    assert.throws(() => [...decodeWarnings(listOf(long), 10)], /does not unpack/);
  });

  test("paths are cut at 64 KiB, so that every list can be read again", () => {
    const list = new WarningList();
    const long = Buffer.alloc(10 * maxPathBytes, "x");
    for (let i = 0; i < 8; i++) list.add({ path: long, code: "ENAMETOOLONG" });
    const read = [...decodeWarnings(list.encode() ?? Buffer.of(0), list.count)];
    assert.deepEqual(
      read.map(({ path, code }) => [path.length, code]),
      Array.from({ length: 8 }, () => [maxPathBytes, "ENAMETOOLONG"]),
    );
  });

  test("warnings that do not fit are counted and not kept", () => {
    const list = new WarningList(1000);
    for (let i = 0; i < 100; i++) list.add({ path: Buffer.from(`dosya ${i}`), code: "EACCES" });
    const read = [...decodeWarnings(list.encode() ?? Buffer.of(0), list.count)];
    assert.equal(list.count, 100);
    assert.ok(read.length > 10 && read.length < 100, `${read.length}`);
  });
});
