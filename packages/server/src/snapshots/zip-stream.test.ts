/** Snapshots as zip archives, in both directions. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { seenInZip, zip } from "../archives/testing/made-zips.ts";
import { extendedHeader, testSpool } from "../archives/testing.ts";
import { listIn } from "../testing/lists.ts";
import { endMark, member, type SnapshotJson, snapshotTest, tarOf } from "./testing.ts";

const env = await snapshotTest({ after });
const { spool } = await testSpool(after);

const zipType = { "content-type": "application/zip" };
const uploadZip = (query: string, body: Buffer, headers = {}) => env.upload(query, body, { ...zipType, ...headers });
const archiveOf = (id: unknown, query = "") => env.get(`/v1/snapshots/${id}/archive?format=zip${query}`);

/** Bytes that do not compress, and so are stored whole where they are stored. */
const large = Buffer.from(Array.from({ length: 900_000 }, (_, at) => (Math.imul(at, 2_654_435_761) >>> 13) & 0xff));

test("a snapshot comes back as a zip, and that zip gives the same snapshot and stores almost nothing", async () => {
  const files = { "alt/İşğüçö ı.xml": "fatura", "alt/large.bin": large, none: "", "z/z": "z" };
  const first = (await env.upload("source=tar", tarOf(files))).json as SnapshotJson;
  const answer = await archiveOf(first.id);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "application/zip");
  assert.equal(answer.headers["content-disposition"], `attachment; filename="${first.id}.zip"`);
  const again = await uploadZip("source=zip", answer.body);
  assert.equal(again.status, 201, again.body.toString());
  const second = again.json as SnapshotJson;
  assert.deepEqual([second.root_hash, second.file_count, second.warning_count], [first.root_hash, 4, 0]);
  assert.ok(Number(first.stored_bytes) > 500_000, "the first one stored the content");
  assert.ok(Number(second.stored_bytes) < 10_000, `the second one stored ${second.stored_bytes} bytes`);
  for (const [name, content] of Object.entries(files)) {
    const url = name.split("/").map(encodeURIComponent).join("/");
    assert.ok((await env.get(`/v1/snapshots/${second.id}/files/${url}`)).body.equals(Buffer.from(content)), name);
  }
  const deflated = zip(Object.entries(files).map(([name, content]) => ({ name, content, method: 8 })));
  const third = (await uploadZip("source=deflated", deflated)).json as SnapshotJson;
  assert.ok(Number(third.stored_bytes) < 10_000, `the third one stored ${third.stored_bytes} bytes`);
  assert.ok((await env.get(`/v1/snapshots/${third.id}/files/alt/large.bin`)).body.equals(large));
});

test("the same snapshot always gives the same bytes, under an ETag that is not the tar's", async () => {
  const { id } = await env.completed("same", { a: "1", b: "2" });
  const [one, two, asTar] = [await archiveOf(id), await archiveOf(id), await env.get(`/v1/snapshots/${id}/archive`)];
  assert.ok(one.body.equals(two.body));
  assert.equal(one.headers.etag, two.headers.etag);
  assert.notEqual(one.headers.etag, asTar.headers.etag);
  const url = `/v1/snapshots/${id}/archive?format=zip`;
  assert.equal((await env.get(url, { "if-none-match": one.headers.etag ?? "" })).status, 304);
  assert.equal((await env.get(url, { "if-none-match": asTar.headers.etag ?? "" })).status, 200);
});

test("a path selects a part, with its whole path", async () => {
  const { id } = await env.completed("part", { "a/b/c": "1", "a/d": "2", e: "3" });
  const names = async (query: string) =>
    Object.keys(await seenInZip(spool, (await archiveOf(id, query)).body)).slice(1);
  assert.deepEqual(await names("&path=a/b"), ["a", "a/b", "a/b/c"]);
  assert.deepEqual(await names("&path=e"), ["e"]);
  assert.equal((await archiveOf(id, "&path=none")).status, 404);
  assert.equal((await env.get(`/v1/snapshots/${id}/archive?format=rar`)).status, 422);
});

describe("names that Windows or Java cannot read", () => {
  const names = [Buffer.from([0x66, 0x98]), "f%98", "a:b", "a%3Ab", "a%3Ab%", "..\\..\\evil", "con/nul.txt"];

  test("are escaped, differ from every other name, and the comment says how many", async () => {
    const members = names.flatMap((name) => [extendedHeader({ path: name }), member({ name: "x" }, String(name))]);
    const { id } = (await env.upload("source=names", Buffer.concat([...members, endMark]))).json as SnapshotJson;
    const { body } = await archiveOf(id);
    const found = await seenInZip(spool, body);
    const files = Object.entries(found).filter(([, { type }]) => type === "file");
    assert.deepEqual(
      files.map(([name]) => name).sort(),
      ["%63on/%6Eul.txt", "..%5C..%5Cevil", "a%3Ab", "a%3Ab%", "a%3Ab%%", "f%98", "f%98%"].sort(),
    );
    assert.match(body.subarray(-300).toString("latin1"), /5 name\(s\) in this archive/);
    const part = await seenInZip(spool, (await archiveOf(id, "&path=con")).body);
    assert.deepEqual(Object.keys(part).slice(1), ["%63on", "%63on/%6Eul.txt"]);
  });

  test("others are as they are, without a comment", async () => {
    const { id } = await env.completed("plain", { "100%": "1", "ş b.c": "2" });
    const { body } = await archiveOf(id);
    assert.deepEqual(Object.keys(await seenInZip(spool, body)).slice(1), ["100%", "Å\u009f b.c"]);
    assert.equal(body.readUInt16LE(body.length - 2), 0);
  });
});

describe("refused zips", () => {
  test("name the entry by its number, say why in both languages, and leave a failed snapshot and nothing in the spool", async () => {
    const wrong = { name: "gizli.txt", content: "xyz", method: 8 };
    const cases = [
      [{ ...wrong, said: { crc: 1 } }, "checksum_mismatch", /CRC-32/],
      [{ ...wrong, said: { size: 4 } }, "size_mismatch", /size|boyut/],
      [{ ...wrong, said: { flags: 1 } }, "encrypted_entry", /password|parola/],
      [{ ...wrong, method: 9 }, "unsupported_compression", /\?path=/],
      [{ ...wrong, local: { crc: 1 } }, "contradictory_entry", /two different|iki şey/],
      [{ ...wrong, record: { offset: 1 } }, "overlapping_entries", /shares bytes|ortak bayt/],
      [{ ...wrong, name: "iyi" }, "duplicate_path", /two files|iki dosya/],
      [{ ...wrong, name: "../x" }, "unsafe_path", /\.\./],
    ] as const;
    for (const [entry, code, text] of cases)
      for (const language of ["tr", "en"]) {
        const answer = await uploadZip("source=bad", zip([{ name: "iyi", content: "1" }, entry]), {
          "accept-language": language,
        });
        assert.deepEqual([answer.status, answer.json?.code], [422, "invalid_archive"], code);
        const [error] = listIn<{ pointer: string; code: string; detail: string }>(answer, "errors");
        assert.deepEqual([error?.pointer, error?.code], ["/entries/1", code]);
        assert.match(error?.detail ?? "", text);
        assert.ok(!answer.body.toString().includes("gizli"), "a path is personal data");
        const failed = await env.get(`/v1/snapshots/${answer.json?.snapshot_id}`);
        const failure = failed.json?.failure as { readonly code: string };
        assert.deepEqual([failed.json?.status, failure.code], ["failed", "invalid_archive"]);
      }
    assert.deepEqual(await readdir(path.join(env.service.dataDir, "spool", String(process.pid))), []);
  });

  test("a body that is no zip, a tar as a zip, and a body without a byte", async () => {
    for (const [body, leaves] of [
      [Buffer.from("<html>"), true],
      [tarOf({ a: "1" }), true],
      [Buffer.alloc(0), false],
    ] as const) {
      const answer = await uploadZip("source=bad", body);
      assert.deepEqual([answer.status, answer.json?.code], [422, "invalid_archive"]);
      assert.equal("snapshot_id" in (answer.json ?? {}), leaves);
    }
    const asTar = await env.upload("source=bad", zip([{ name: "a" }]));
    assert.equal(asTar.json?.code, "invalid_archive");
    assert.equal((await env.upload("source=bad", "x", { "content-type": "application/x-rar" })).status, 415);
  });
});
