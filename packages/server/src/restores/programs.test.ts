/** Programs that people have read the zip of a restore, and continue its download. */

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { closeSync, createWriteStream, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { after, describe, test } from "node:test";
import { type ZipReader, zipReaders } from "../archives/testing/zip-programs.ts";
import { testFolder } from "../archives/testing.ts";
import { type SnapshotJson, snapshotTest, tarOf } from "../snapshots/testing.ts";
import { needs, type Program } from "../testing/needs.ts";
import { scaled } from "../testing/scale.ts";
import { download, manyRestores, restored } from "./testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const folder = await testFolder(after);
const large = Buffer.from(Array.from({ length: 900_000 }, (_, at) => (Math.imul(at, 2_654_435_761) >>> 13) & 0xff));
const files = { "d/large.bin": large, "d/İşğüçö ı.xml": "fatura", none: "", "z/z": "z" };
const snapshot = (await env.upload("source=programs", tarOf(files))).json as SnapshotJson;
const restore = await restored(env, { snapshot_id: snapshot.id, target: { kind: "download", format: "zip" } });
const zip = path.join(folder, "restore.zip");
writeFileSync(zip, (await download(env, restore.id)).body);

describe("programs list every file of a zip, and check each byte", () => {
  for (const [program, read] of Object.entries(zipReaders(path.join(folder, "readers"))) as [Program, ZipReader][])
    test(program, (context) => {
      const found = needs(context, program);
      if (found === undefined) return;
      const sizes = read(found, zip)
        .filter(([name]) => !name.endsWith("/"))
        .map(([name, size]) => [name, size] as const);
      const expected = Object.entries(files).map(([name, content]) => [name, Buffer.from(content).length] as const);
      assert.deepEqual(Object.fromEntries(sizes), Object.fromEntries(expected));
    });
});

/** Not `execFileSync`: the service answers in this process. */
function run(program: string, args: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  execFile(program, args, (error) => (error === null ? resolve() : reject(error)));
  return promise;
}

test("curl continues a download that broke off, with a token and by a link with its cookie file", async (context) => {
  const curl = needs(context, "curl");
  if (curl === undefined) return;
  const whole = readFileSync(zip);
  const ca = path.join(folder, "ca.pem");
  writeFileSync(ca, env.service.ca);
  const usual = ["-sS", "--fail", "--cacert", ca];
  const { authorization } = await env.as({ as: "client", kind: "api" });
  const url = `${env.service.url}/v1/restore/${restore.id}/download`;
  const byToken = path.join(folder, "token.zip");
  writeFileSync(byToken, whole.subarray(0, 400_001));
  await run(curl, [...usual, "-H", `Authorization: ${authorization}`, "-C", "-", "-o", byToken, url]);
  assert.ok(readFileSync(byToken).equals(whole));

  const link = String((await env.send("POST", `/v1/restore/${restore.id}/download-link`)).json?.url);
  const [byLink, jar] = [path.join(folder, "link.zip"), path.join(folder, "jar")];
  await run(curl, [...usual, "-c", jar, "-r", "0-400000", "-o", byLink, link]);
  await assert.rejects(run(curl, [...usual, "-C", "-", "-o", byLink, link]));
  await run(curl, [...usual, "-b", jar, "-C", "-", "-o", byLink, link]);
  assert.ok(readFileSync(byLink).equals(whole));
});

test("a file of more than 4 GiB is in a zip of every program", async (context) => {
  const size = scaled(0, 4_500_000_000);
  if (size === 0) return context.skip("only in the long form");
  const sparse = path.join(folder, "sparse");
  closeSync(openSync(sparse, "w"));
  truncateSync(sparse, size);
  const handle = openSync(sparse, "r+");
  writeSync(handle, "end", size - 3);
  closeSync(handle);
  const tar = path.join(folder, "sparse.tar");
  execFileSync("tar", ["--sparse", "-cf", tar, "-C", folder, "sparse"]);
  const made = (await env.upload("source=huge", readFileSync(tar))).json as SnapshotJson;
  const huge = await restored(env, { snapshot_id: made.id, target: { kind: "download", format: "zip" } });
  const { authorization } = await env.as({ as: "client", kind: "api" });
  const target = path.join(folder, "huge.zip");
  const url = `${env.service.url}/v1/restore/${huge.id}/download`;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    https.get(url, { ca: env.service.ca, headers: { authorization } }, resolve).on("error", reject);
  });
  await pipeline(response, createWriteStream(target));
  for (const [program, read] of Object.entries(zipReaders(path.join(folder, "readers"))) as [Program, ZipReader][]) {
    const found = needs(context, program);
    if (found === undefined) continue;
    assert.deepEqual(
      read(found, target).map(([name, bytes]) => [name, bytes]),
      [["sparse", size]],
      program,
    );
  }
});
