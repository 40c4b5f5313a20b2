import assert from "node:assert/strict";
import { type FileHandle, open, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { collectedBytesInAll, Spool, SpoolFullError } from "./spool.ts";
import { testFolder, testSpool } from "./testing.ts";

test("what an earlier process left is removed at the start, and nobody else can read the folder", async () => {
  const folder = await testFolder(after);
  const inside = path.join(folder, "spool");
  const first = await Spool.open(inside, { totalBytes: 10, ownerBytes: 10 });
  const file = await first.create("a", "tar");
  await file.append(Buffer.from("left"));
  await file.flush();
  await writeFile(path.join(inside, "other"), "x");
  await Spool.open(inside, { totalBytes: 10, ownerBytes: 10 });
  await assert.rejects(stat(file.path), { code: "ENOENT" });
  await assert.rejects(stat(path.join(inside, "other")), { code: "ENOENT" });
  assert.equal((await stat(inside)).mode & 0o777, 0o700);
  await file.remove().catch(() => undefined);
});

test("chunks are in the file in their order, whatever their sizes", async () => {
  const { spool } = await testSpool(after);
  const file = await spool.create("a", "tar");
  const chunks = Array.from({ length: 700 }, (_, at) => Buffer.alloc((at * 37) % 9000, at % 256));
  for (const chunk of chunks) await file.append(chunk);
  await file.flush();
  assert.ok((await readFile(file.path)).equals(Buffer.concat(chunks)));
  assert.equal((await stat(file.path)).mode & 0o777, 0o600);
  await file.remove();
});

test("a file is read back whole; one that nobody reads can be removed, and reading it later is an error", async () => {
  const { spool } = await testSpool(after);
  const file = await spool.create("a", "pack");
  const content = Buffer.from(Array.from({ length: 2_500_000 }, (_, at) => (at * 31) % 251));
  await file.append(content);
  await file.flush();
  assert.ok(Buffer.concat(await Array.fromAsync(file.chunks())).equals(content));
  const unread = file.chunks();
  await file.remove();
  await assert.rejects(unread.next(), { code: "EBADF" });
});

test("an owner's share and the whole spool are bounded, and a removed file gives its bytes back", async () => {
  const { spool } = await testSpool(after, { totalBytes: 150, ownerBytes: 100 });
  const [a, b] = [await spool.create("a", "tar"), await spool.create("b", "tar")];
  await a.append(Buffer.alloc(100));
  const limitOf = (limit: string) => (error: unknown) => error instanceof SpoolFullError && error.limit === limit;
  await assert.rejects(a.append(Buffer.alloc(1)), limitOf("owner"));
  await b.append(Buffer.alloc(50));
  await assert.rejects(b.append(Buffer.alloc(1)), limitOf("spool"));
  await a.remove();
  await a.remove();
  await b.append(Buffer.alloc(50));
  await b.remove();
  assert.equal(spool.usedBytes, 0);
});

test("a full disk is reported as such, and the bytes of the file are given back when it is removed", async (context) => {
  const { spool } = await testSpool(after);
  const file = await spool.create("a", "tar");
  const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
  const handle = await open(file.path);
  const handles = Object.getPrototypeOf(handle) as Pick<FileHandle, "writev">;
  await handle.close();
  let calls = 0;
  const { writev } = handles;
  context.mock.method(handles, "writev", function (this: FileHandle, chunks: Buffer[], position: number) {
    // As on a nearly full disk: first a part, then the error.
    if (calls++ > 0) return Promise.reject(full);
    return writev.call(this, [Buffer.from(chunks[0] ?? []).subarray(0, 10)], position);
  });
  await file.append(Buffer.alloc(100, 1));
  await assert.rejects(file.flush(), (error: unknown) => error instanceof SpoolFullError && error.limit === "disk");
  assert.equal((await readFile(file.path)).length, 10);
  await file.remove();
  assert.equal(spool.usedBytes, 0);
});

test("uploads that come at the same time collect no more together than a few of them alone", async () => {
  const { spool } = await testSpool(after);
  const files = await Promise.all(Array.from({ length: 64 }, () => spool.create("a", "tar")));
  const chunk = Buffer.alloc(16 * 1024, 7);
  let most = 0;
  for (let round = 0; round < 40; round++)
    for (const file of files) {
      await file.append(chunk);
      most = Math.max(most, spool.collectedBytes);
    }
  // Each may have a little less than it writes at once.
  assert.ok(most <= collectedBytesInAll + files.length * chunk.length, `${most} bytes`);
  for (const file of files) await file.flush();
  assert.equal(spool.collectedBytes, 0);
  for (const file of files) {
    assert.equal((await stat(file.path)).size, 40 * chunk.length);
    await file.append(chunk);
    await file.remove();
  }
  assert.equal(spool.collectedBytes, 0);
});
