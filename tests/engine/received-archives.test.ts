/** A folder that came as one archive is backed up like the folder itself. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { entriesOf, frameReaderOf, RestoreWorkerPool, rootEntry } from "@emanet/engine";
import { MemoryStore } from "@emanet/storage";
import { sessionOfFrame } from "../../packages/engine/src/format/frame.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import {
  assertSameTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import {
  type ArchiveEncoding,
  receiveFile,
  receiveTar,
  receiveZip,
  Spool,
} from "../../packages/server/src/archives/index.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { dump } from "./testing/dump.ts";

function makeFolder(t: TestContext): string {
  const from = path.join(scratch(t), "from");
  mkdirSync(path.join(from, "alt", "boş"), { recursive: true });
  writeFileSync(path.join(from, "alt", "gece.bak"), dump(new SeededRandom(41), 300));
  linkSync(path.join(from, "alt", "gece.bak"), path.join(from, "alt", "ikinci ad"));
  for (let at = 0; at < 200; at++)
    writeFileSync(path.join(from, `fatura-${at}.xml`), `<fatura no="${at}"/>`.repeat(50));
  writeFileSync(Buffer.concat([Buffer.from(from), Buffer.from([0x2f, 0xff, 0xfe, 0x41])]), "not utf-8");
  writeFileSync(path.join(from, "sparse"), "head");
  truncateSync(path.join(from, "sparse"), 5_000_000);
  symlinkSync("../nowhere", path.join(from, "alt", "link"));
  settleTimes(from);
  return from;
}

async function receiveFolder(
  t: TestContext,
  from: string,
  options: readonly string[],
  encoding: ArchiveEncoding | null,
) {
  const spool = await Spool.open(path.join(scratch(t), "spool"), { totalBytes: 2 ** 30, ownerBytes: 2 ** 30 });
  const bytes = execFileSync("tar", ["--format=pax", "--numeric-owner", ...options, "-c", "."], {
    cwd: from,
    maxBuffer: 2 ** 30,
  });
  const { signal } = new AbortController();
  return receiveTar([bytes] as unknown as AsyncIterable<Buffer>, {
    spool,
    owner: "a",
    encoding,
    maxBytes: 2 ** 40,
    signal,
  });
}

for (const [what, options, encoding] of [
  ["a tar", [], null],
  ["a tar with sparse files, compressed with gzip", ["--sparse", "--gzip"], "gzip"],
] as const) {
  test(`${what} of a folder has the same tree as the folder, stores no data again, and restores to the same folder`, async (t) => {
    if (needs(t, "tar") === undefined) return;
    const from = makeFolder(t);
    const env = await openTestEnvironment(new MemoryStore());
    const first = await env.backup(from);
    const archive = await receiveFolder(t, from, options, encoding);
    const second = await env.backup(from, { source: archive, sourceName: "as tar" });
    await archive.remove();
    assert.deepEqual(second.warnings, []);
    assert.equal(second.snapshot.files, first.snapshot.files);
    for await (const row of env.vault.catalog.allFrames())
      assert.ok(row.kind !== "data" || sessionOfFrame(row.frame) !== second.snapshot.session, "data was stored again");
    const to = path.join(scratch(t), "to");
    assert.deepEqual((await env.restore(second.snapshot, to)).failures, []);
    assertSameTree(from, to);
  });
}

test("a zip of a folder has the same files as the folder, stores no data again, and restores to the same content", async (t) => {
  if (needs(t, "zip") === undefined) return;
  const from = makeFolder(t);
  const env = await openTestEnvironment(new MemoryStore());
  const first = await env.backup(from);
  const spool = await Spool.open(path.join(scratch(t), "spool"), { totalBytes: 2 ** 30, ownerBytes: 2 ** 30 });
  const made = path.join(scratch(t), "from.zip");
  execFileSync("zip", ["-qry", made, "."], { cwd: from });
  const bytes = readFileSync(made);
  const archive = await receiveZip([bytes] as unknown as AsyncIterable<Buffer>, {
    ...{ spool, owner: "a", encoding: null, maxBytes: 2 ** 40, signal: new AbortController().signal },
    ...{ inflater: new RestoreWorkerPool(0), onProgress: () => undefined },
  });
  const second = await env.backup(from, { source: archive, sourceName: "as zip" });
  await archive.remove();
  assert.deepEqual([second.warnings, second.snapshot.files], [[], first.snapshot.files]);
  for await (const row of env.vault.catalog.allFrames())
    assert.ok(row.kind !== "data" || sessionOfFrame(row.frame) !== second.snapshot.session, "data was stored again");
  const to = path.join(scratch(t), "to");
  assert.deepEqual((await env.restore(second.snapshot, to)).failures, []);
  // Without `--no-dereference` diff would follow the link.
  execFileSync("diff", ["--recursive", "--no-dereference", from, to]);
});

test("one received file is backed up under the id that the caller gave, with the SHA-256 of its content", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const limits = { totalBytes: 2 ** 30, ownerBytes: 2 ** 30 };
  const spool = await Spool.open(path.join(scratch(t), "spool"), limits);
  const content = dump(new SeededRandom(7), 200);
  const file = await receiveFile([content] as unknown as AsyncIterable<Buffer>, {
    ...{ spool, owner: "a", path: Buffer.from("gece.bak"), mode: 0o600, mtimeMs: 1_700_000_000_123, maxBytes: 2 ** 30 },
    signal: new AbortController().signal,
  });
  const snapshotId = "0190c5a0b7e07c3e8d5f00112233aabb";
  const { snapshot } = await env.backup("", { source: file, snapshotId });
  await file.remove();
  assert.equal(snapshot.id, snapshotId);
  const frames = frameReaderOf(env.vault);
  const entries = await Array.fromAsync(entriesOf(frames, (await rootEntry(frames, snapshot)).root));
  const [entry] = entries;
  assert.ok(entry?.type === "file" && entries.length === 1);
  assert.deepEqual(Buffer.from(entry.sha256 ?? []), createHash("sha256").update(content).digest());
  assert.deepEqual([entry.mode, entry.mtimeSeconds, entry.mtimeNanos], [0o600, 1_700_000_000, 123_000_000]);
});
