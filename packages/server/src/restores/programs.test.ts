/** Programs that people have read the archives of a restore, and continue their downloads. `tests/crash/large-zip.test.ts` has large ones. */
// long: 10 s

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, describe, test } from "node:test";
import { type TarReader, tarReaders } from "../archives/testing/tar-programs.ts";
import { type ZipReader, zipReaders } from "../archives/testing/zip-programs.ts";
import { testFolder } from "../archives/testing.ts";
import { type SnapshotJson, snapshotTest, tarOf } from "../snapshots/testing.ts";
import { openBrowser, openPage } from "../testing/browser.ts";
import { needs, type Program } from "../testing/needs.ts";
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

describe("programs list every file of a tar, and read each byte", () => {
  for (const [program, read] of Object.entries(tarReaders(path.join(folder, "readers"))) as [Program, TarReader][])
    test(program, async (context) => {
      const found = needs(context, program);
      if (found === undefined) return;
      const tar = path.join(folder, `${program}.tar`);
      const made = await restored(env, { snapshot_id: snapshot.id });
      writeFileSync(tar, (await download(env, made.id)).body);
      const sizes = read(found, tar).filter(([name]) => !name.endsWith("/"));
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

interface Resumed {
  /** Where the first part of the download is; the program continues it. */
  readonly file: string;
  readonly ca: string;
  readonly authorization: string;
  readonly url: string;
}

/** How each program continues a download. */
const resumers = {
  curl: ({ file, ca, authorization, url }) => [
    ...["-sS", "--fail", "--cacert", ca, "-H", `Authorization: ${authorization}`, "-C", "-", "-o", file, url],
  ],
  wget: ({ file, ca, authorization, url }) => [
    ...["-q", "--ca-certificate", ca, "--header", `Authorization: ${authorization}`, "-c", "-O", file, url],
  ],
  aria2c: ({ file, ca, authorization, url }) => [
    ...["-q", "--no-conf", "--async-dns=false", `--ca-certificate=${ca}`, `--header=Authorization: ${authorization}`],
    ...["-c", "-x", "1", "-d", path.dirname(file), "-o", path.basename(file), url],
  ],
} satisfies Partial<Record<Program, (download: Resumed) => readonly string[]>>;

describe("a download that broke off is continued", () => {
  const whole = readFileSync(zip);
  const ca = path.join(folder, "ca.pem");
  writeFileSync(ca, env.service.ca);
  const url = `${env.service.url}/v1/restore/${restore.id}/download`;

  for (const [program, argumentsOf] of Object.entries(resumers) as [
    keyof typeof resumers,
    (download: Resumed) => readonly string[],
  ][])
    test(`by ${program}`, async (context) => {
      const found = needs(context, program);
      if (found === undefined) return;
      const { authorization } = await env.as({ as: "client", kind: "api" });
      const file = path.join(folder, `${program}.zip`);
      writeFileSync(file, whole.subarray(0, 400_001));
      await run(found, argumentsOf({ file, ca, authorization, url }));
      assert.ok(readFileSync(file).equals(whole));
    });

  test("by aria2c in pieces at the same time", async (context) => {
    const aria2c = needs(context, "aria2c");
    if (aria2c === undefined) return;
    const { authorization } = await env.as({ as: "client", kind: "api" });
    const file = path.join(folder, "pieces.zip");
    const pieces = ["--min-split-size=1M", "-s", "4", "-x", "4", "-k", "1M"];
    const usual = resumers.aria2c({ file, ca, authorization, url });
    await run(aria2c, [...pieces, ...usual.filter((word) => !["-x", "1"].includes(word))]);
    assert.ok(readFileSync(file).equals(whole));
  });

  test("by curl with a link and its cookie file, and not without the cookie", async (context) => {
    const curl = needs(context, "curl");
    if (curl === undefined) return;
    const usual = ["-sS", "--fail", "--cacert", ca];
    const link = String((await env.send("POST", `/v1/restore/${restore.id}/download-link`)).json?.url);
    const [byLink, jar] = [path.join(folder, "link.zip"), path.join(folder, "jar")];
    await run(curl, [...usual, "-c", jar, "-r", "0-400000", "-o", byLink, link]);
    await assert.rejects(run(curl, [...usual, "-C", "-", "-o", byLink, link]));
    await run(curl, [...usual, "-b", jar, "-C", "-", "-o", byLink, link]);
    assert.ok(readFileSync(byLink).equals(whole));
  });
});

test("a browser downloads by a link, under the name of the archive", async (context) => {
  const chromium = needs(context, "chromium");
  if (chromium === undefined) return;
  const browser = await openBrowser(context, chromium);
  const { page } = await openPage(browser, env.service.url);
  const link = String((await env.send("POST", `/v1/restore/${restore.id}/download-link`)).json?.url);
  const downloading = page.waitForEvent("download");
  // A navigation that becomes a download is no page: the browser says that it was aborted.
  await page.goto(link).catch(() => undefined);
  const download = await downloading;
  assert.equal(download.suggestedFilename(), `${restore.id}.zip`);
  assert.ok(readFileSync(await download.path()).equals(readFileSync(zip)));
});
