/** The archives of restores: the same bytes whatever range is asked for, whatever happened to the vault meanwhile. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { prune, repack } from "@emanet/engine";
import { seenInZip } from "../archives/testing/made-zips.ts";
import { extendedHeader, testSpool } from "../archives/testing.ts";
import { endMark, member, type SnapshotJson, snapshotTest, tarOf } from "../snapshots/testing.ts";
import { startTestService } from "../testing/running.ts";
import { scaled } from "../testing/scale.ts";
import { seededRandom } from "../testing/seeded-random.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { download, manyRestores, restored } from "./testing.ts";

/** What two processes share. */
const settings = {
  ...manyRestores,
  EMANET_STORAGE: `file:${await temporaryFolder({ after })}`,
  EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  EMANET_PUBLIC_URL: "https://emanet.example",
};
const env = await snapshotTest({ after }, settings);
const { spool } = await testSpool(after);
const random = seededRandom(24);

/** More entries than a part has, and all that names and entries can be. */
function oddTar(): Buffer {
  const many = Array.from({ length: 1100 }, (_, at) =>
    member({ name: `çok/${at % 7}/${at}.xml`, mtime: 1_700_000_000 + at }, `<fatura no="${at}"/>`.repeat(at % 9)),
  );
  return Buffer.concat([
    member({ name: "./", type: "5", mode: 0o750, mtime: 1_650_000_000 }),
    ...many,
    member({ name: Buffer.from([0x66, 0x98, 0xff]) }, "not utf-8"),
    extendedHeader({ path: "İşğüçö ı.xml" }),
    member({ name: "x" }, "türkçe"),
    extendedHeader({ path: `uzun/${"u".repeat(200)}` }),
    member({ name: "x" }, "long"),
    member({ name: "alt/large.bin", mode: 0o600 }, large),
    member({ name: "alt/other", type: "1", linkName: "alt/large.bin" }),
    member({ name: "alt/soru?.txt" }, "escaped in a zip"),
    member({ name: "alt/soru%3F.txt" }, "as it is"),
    member({ name: "alt/link", type: "2", linkName: "../none" }),
    member({ name: "boş/", type: "5" }),
    member({ name: "none" }, ""),
    endMark,
  ]);
}

const large = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => (Math.imul(at, 2_654_435_761) >>> 13) & 0xff));
const odd = (await env.upload("source=odd", oddTar())).json as SnapshotJson;
const asTar = await restored(env, { snapshot_id: odd.id });
const asZip = await restored(env, { snapshot_id: odd.id, target: { kind: "download", format: "zip" } });

test("a tar is the archive of the snapshot, byte for byte, and everything in it was read", async () => {
  assert.equal(asTar.status, "completed");
  const [whole, archive] = [await download(env, asTar.id), await env.get(`/v1/snapshots/${odd.id}/archive`)];
  assert.ok(whole.body.equals(archive.body));
  assert.equal(whole.body.length, asTar.download?.size_bytes);
  assert.deepEqual(
    [asTar.bytes_restored, asTar.files_restored, asTar.warning_count],
    [asTar.bytes_total, asTar.files_total, 0],
  );
  assert.deepEqual([asTar.bytes_total, asTar.files_total], [odd.size_bytes, odd.file_count]);
});

test("a zip has every file under a name that every program reads, stored, with its checksum in front", async () => {
  const { body } = await download(env, asZip.id);
  assert.equal(body.length, asZip.download?.size_bytes);
  const again = await env.upload("source=again", body, { "content-type": "application/zip" });
  assert.equal(again.status, 201, again.body.toString());
  const seen = await seenInZip(spool, body);
  const names = Object.keys(seen);
  assert.ok(names.includes("alt/soru%3F.txt%"), "a name that was free");
  assert.ok(names.includes("alt/soru%3F.txt"));
  assert.equal(again.json?.file_count, odd.file_count);
  // No descriptors and no deflate: bit 3 is not set, method is 0, in the first header and in the directory.
  assert.deepEqual([body.readUInt16LE(6) & 8, body.readUInt16LE(8)], [0, 0]);
});

for (const [format, restore] of Object.entries({ tar: asTar, zip: asZip }))
  test(`any range of a ${format} has the bytes of the whole`, async () => {
    const { body: whole } = await download(env, restore.id);
    const size = whole.length;
    const edges = [0, 1, 511, 512, size - 1, size - 2, size - 22, size - 100_000];
    const ranges = [
      ...edges.map((start) => [start, Math.min(start + 600, size)] as const),
      ...Array.from({ length: scaled(12, 500) }, () => {
        const start = random.integer(size);
        return [start, Math.min(size, start + 1 + random.integer(random.integer(2) === 0 ? 2_000 : 400_000))] as const;
      }),
    ];
    for (const [start, end] of ranges) {
      const answer = await download(env, restore.id, `bytes=${start}-${end - 1}`);
      assert.equal(answer.status, 206);
      assert.equal(answer.headers["content-range"], `bytes ${start}-${end - 1}/${size}`);
      assert.ok(answer.body.equals(whole.subarray(start, end)), `${start} to ${end}`);
    }
  });

test("paths select files and directories, in the order of the tree, none twice", async () => {
  const bytes = { base64: Buffer.from([0x66, 0x98, 0xff]).toString("base64") };
  const paths = ["none", "alt", "çok/3/3.xml", "alt/link", bytes, "alt/large.bin"];
  for (const format of ["tar", "zip"]) {
    const restore = await restored(env, { snapshot_id: odd.id, paths, target: { kind: "download", format } });
    assert.deepEqual(restore.paths, ["alt", bytes, "none", "çok/3/3.xml"]);
    assert.deepEqual([restore.files_total, restore.files_restored], [7, 7]);
    const { body } = await download(env, restore.id);
    const type = format === "zip" ? "application/zip" : "application/x-tar";
    const again = await env.upload(`source=paths-${format}`, body, { "content-type": type });
    assert.equal(again.json?.file_count, 7, again.body.toString());
    const [start, end] = [body.length - 3_000, body.length - 500];
    const part = await download(env, restore.id, `bytes=${start}-${end - 1}`);
    assert.ok(part.body.equals(body.subarray(start, end)));
  }
});

test("a range begins far inside a directory that was asked for", async () => {
  const { id } = await restored(env, { snapshot_id: odd.id, paths: ["boş", "çok"] });
  const { body } = await download(env, id);
  for (const fromEnd of [20_000, 60_000]) {
    const start = body.length - fromEnd;
    const part = await download(env, id, `bytes=${start}-${start + 9_999}`);
    assert.ok(part.body.equals(body.subarray(start, start + 10_000)));
  }
});

test("an empty snapshot and an empty file are archives too", async () => {
  const { id } = (await env.upload("source=empty", endMark)).json as SnapshotJson;
  for (const format of ["tar", "zip"]) {
    const restore = await restored(env, { snapshot_id: id, target: { kind: "download", format } });
    assert.equal(restore.status, "completed");
    assert.equal((await download(env, restore.id)).body.length, format === "tar" ? 1024 : 22);
  }
});

describe("the bytes do not change", () => {
  test("while the vault is repacked and pruned, and another process answers", async () => {
    const { id, vault_id: vaultId } = (await env.upload("source=moved", oddTar())).json as SnapshotJson;
    const restore = await restored(env, { snapshot_id: id, target: { kind: "download", format: "zip" } });
    const { body: whole } = await download(env, restore.id);
    const vault = await env.service.running.services?.vaults.open(env.accountId, String(vaultId));
    assert.ok(vault !== undefined);
    const { database, clock } = env.service;
    const other = await startTestService({ after }, { settings, database, clock });
    for (let round = 0; round < 4; round++) {
      if (round === 1) await repack(vault);
      if (round === 2) await prune(vault, {});
      const start = random.integer(whole.length - 500_000);
      const range = `bytes=${start}-${start + 499_999}`;
      const answer = await download(env, restore.id, range);
      assert.ok(answer.body.equals(whole.subarray(start, start + 500_000)));
      const headers = { ...(await env.as({ as: "client", kind: "api" })), range };
      const elsewhere = await other.send("GET", `/v1/restore/${restore.id}/download`, { headers });
      assert.ok(elsewhere.body.equals(answer.body));
    }
  });

  test("after newer snapshots of the same source", async () => {
    const { body: before } = await download(env, asTar.id);
    await env.upload("source=odd", tarOf({ "çok/0/0.xml": "yeni" }));
    assert.ok((await download(env, asTar.id)).body.equals(before));
  });
});
