/**
 * 70 000 files and a file of 5 GB as one zip: a service with a small heap sends and takes it, and other programs read it; so they do the tar
 * and the zip of a restore. Long form only.
 */

import assert from "node:assert/strict";
import { createCipheriv, createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type TestContext, test } from "node:test";
import { tarEnd, tarHeaderOf, tarPaddingOf } from "../../packages/server/src/archives/index.ts";
import { type TarReader, tarReaders } from "../../packages/server/src/archives/testing/tar-programs.ts";
import { type ZipReader, zipReaders } from "../../packages/server/src/archives/testing/zip-programs.ts";
import { extendedHeader, member } from "../../packages/server/src/archives/testing.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { needs, type Program } from "../../packages/server/src/testing/needs.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { until } from "./testing/service-under-test.ts";
import { World } from "./testing/world.ts";

const files = 70_000;
const largeBytes = 5_000_000_000;
/** Of the large file; the rest is a hole. */
const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 5), Buffer.alloc(16)).update(Buffer.alloc(1024 * 1024));
/** Far more than the entries of 70 000 files take, and far less than 5 GB. */
const mostTreeBytes = 20_000_000;
/** The contract's, for a process without its database. */
const mostResidentMib = 700;

/** The large file is sparse, so that it is sent fast; it lies before and behind small ones. */
function* tar(): Generator<Buffer> {
  const stat = { mode: 0o644, uid: 0, gid: 0, mtimeSeconds: 1_700_000_000, mtimeNanos: 0, target: null } as const;
  for (let at = 0; at < files; at++) {
    const content = Buffer.from(`<fatura no="${at}"/>`);
    const name = at % 2 === 0 ? `a/${at % 100}/${at}.xml` : `z/${at % 100}/${at}.xml`;
    yield tarHeaderOf({ ...stat, type: "file", path: Buffer.from(name), size: content.length });
    yield content;
    yield tarPaddingOf(content.length);
  }
  const sparse = { "GNU.sparse.size": String(largeBytes), "GNU.sparse.numblocks": "1" };
  yield extendedHeader({ ...sparse, "GNU.sparse.map": `0,${noise.length}` });
  yield member({ name: "large.bin", mtime: 1_700_000_000 }, noise);
  yield tarEnd;
}

async function request(world: World, method: string, target: string, type: string, body: Iterable<Buffer> | Readable) {
  const { url, ca } = world.client;
  const headers = { ...(await world.auth()), ...(method === "POST" && { "content-type": type }) };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = https.request(`${url}${target}`, { method, headers, ca, agent: false }, resolve);
  outgoing.on("error", reject);
  await pipeline(body instanceof Readable ? body : Readable.from(body, { objectMode: false }), outgoing);
  return promise;
}

async function upload(world: World, query: string, type: string, body: Iterable<Buffer> | Readable) {
  const answer = await request(world, "POST", `/v1/snapshots?${query}`, type, body);
  const text = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString();
  assert.equal(answer.statusCode, 201, text);
  return JSON.parse(text) as Readonly<
    Record<"stored_bytes" | "size_bytes" | "file_count" | "warning_count", number>
  > & {
    readonly id: string;
  };
}

const zipOf = (snapshot: string) => `/v1/snapshots/${snapshot}/archive?format=zip`;

/** Writes the archive somewhere, and returns its SHA-256. */
async function download(world: World, target: string, to: Writable): Promise<string> {
  const answer = await request(world, "GET", target, "", []);
  assert.equal(answer.statusCode, 200);
  const hash = createHash("sha256");
  answer.on("data", (chunk: Buffer) => hash.update(chunk));
  await pipeline(answer, to);
  return hash.digest("hex");
}

/** The most memory that a process ever had, in MiB. */
async function mostResident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Restores as tar and as zip are read by every program too. */
async function assertRestores(t: TestContext, world: World, snapshot: string, folder: string): Promise<void> {
  for (const format of ["tar", "zip"] as const) {
    const json = { snapshot_id: snapshot, target: { kind: "download", format } };
    const accepted = await world.send("POST", "/v1/restore", { json });
    assert.equal(accepted.status, 202, accepted.body.toString());
    const { id } = JSON.parse(accepted.body.toString());
    const size = await until("the restore is completed", async () => {
      const read = JSON.parse((await world.send("GET", `/v1/restore/${id}`)).body.toString());
      assert.notEqual(read.status, "failed", JSON.stringify(read.failure));
      return read.status === "completed" ? read.download.size_bytes : null;
    });
    assert.ok(size > largeBytes);
    const archive = path.join(folder, `restore.${format}`);
    await download(world, `/v1/restore/${id}/download`, createWriteStream(archive));
    const readers = format === "zip" ? zipReaders(folder) : tarReaders(folder);
    for (const [program, read] of Object.entries(readers) as [Program, ZipReader | TarReader][]) {
      const found = needs(t, program);
      if (found === undefined) continue;
      const listed = new Map(read(found, archive).map(([name, bytes]) => [name, bytes]));
      // A tar names its root.
      assertEntries(new Map([...listed].filter(([name]) => name !== "./")), `${program}, ${format} of a restore`);
      t.diagnostic(`${program} reads the ${format} of a restore: ${listed.size} entries`);
    }
    await rm(archive);
  }
}

function assertEntries(listed: ReadonlyMap<string, number>, what: string): void {
  // Two folders with hundreds in each, which have only even or only odd numbers.
  assert.equal(listed.size, files + 1 + 2 + 100, what);
  assert.equal(listed.get("large.bin"), largeBytes, what);
  assert.equal(listed.get("z/99/69999.xml"), 20, what);
}

test("70 000 files and a file of 5 GB are a zip that every program reads, within the bound of memory", async (t) => {
  if (scaled(0, 1) === 0) return t.skip("only in the long form");
  const cleanup = inReverse(t);
  const folder = await temporaryFolder(cleanup);
  const world = await World.open(cleanup, path.join(folder, "data"), ["--max-old-space-size=128"]);
  const first = await upload(world, "source=tar", "application/x-tar", tar());
  const archive = path.join(folder, "all.zip");
  const sentDigest = await download(world, zipOf(first.id), createWriteStream(archive));
  const sentMib = await mostResident(world.main.pid);
  for (const [program, read] of Object.entries(zipReaders(path.join(folder, "readers"))) as [Program, ZipReader][]) {
    const found = needs(t, program);
    if (found === undefined) continue;
    const before = performance.now();
    const listed = new Map(read(found, archive).map(([name, size]) => [name, size]));
    t.diagnostic(`${program}: ${listed.size} entries in ${Math.round((performance.now() - before) / 1000)} s`);
    assertEntries(listed, program);
  }
  await assertRestores(t, world, first.id, folder);
  const again = await upload(world, "source=zip", "application/zip", createReadStream(archive));
  assert.deepEqual([again.file_count, again.size_bytes, again.warning_count], [first.file_count, first.size_bytes, 0]);
  t.diagnostic(`the tar stored ${first.stored_bytes} bytes, the zip ${again.stored_bytes} more`);
  // The tree of 70 000 files may be stored again: which small files share a segment depends on the time of a backup.
  assert.ok(again.stored_bytes < mostTreeBytes, `${again.stored_bytes} bytes were stored again`);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  assert.equal(
    await download(world, zipOf(again.id), nowhere),
    sentDigest,
    "every name, time, mode and byte is the same",
  );
  const resident = await mostResident(world.main.pid);
  t.diagnostic(`at most ${Math.round(sentMib)} MiB while it was sent, ${Math.round(resident)} MiB in all`);
  assert.ok(resident < mostResidentMib, `${resident} MiB`);
  await world.stop();
});
