import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import { folderSource } from "../../packages/engine/src/source/folder-source.ts";
import type { SourceEvent } from "../../packages/engine/src/source/source.ts";
import {
  assertSameTree,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { dataFrames } from "./testing/lying-client.ts";

/** Two names of a small file in two folders, two of a large one, and a separate file with the small one's content. */
async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "x"), { recursive: true });
  mkdirSync(path.join(from, "y"));
  const small = seededBytes(81)(9000);
  writeFileSync(path.join(from, "x", "a"), small);
  linkSync(path.join(from, "x", "a"), path.join(from, "y", "b"));
  writeFileSync(path.join(from, "y", "alone"), small);
  writeFileSync(path.join(from, "large"), seededBytes(82)(2_000_000));
  linkSync(path.join(from, "large"), path.join(from, "x", "large too"));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  return { folder, from, env };
}

type FileEvent = SourceEvent & { readonly type: "file" };

/** The source of a folder, with changed events of files. */
function changedSource(from: string, change: (event: FileEvent, name: string) => FileEvent) {
  return {
    async *walk(): AsyncGenerator<SourceEvent> {
      for await (const event of folderSource(from).walk())
        yield event.type === "file" ? change(event, Buffer.from(event.path).toString()) : event;
    },
  };
}

/** A name that this file system refuses, as if it was backed up on another one. */
const tooLong = (name: Uint8Array) => Buffer.concat([name, Buffer.alloc(300, "n")]);

const inode = (...parts: string[]) => statSync(path.join(...parts)).ino;

test("names of one file are restored as names of one file, and a separate file with the same content is not", async (t) => {
  const { folder, from, env } = await prepare(t);
  const { snapshot } = await env.backup(from);
  const to = path.join(folder, "to");
  const result = await env.restore(snapshot, to);
  assert.deepEqual([result.failures, result.files], [[], 5]);
  assertSameTree(from, to);
  assert.equal(inode(to, "x", "a"), inode(to, "y", "b"));
  assert.equal(inode(to, "large"), inode(to, "x", "large too"));
  assert.notEqual(inode(to, "x", "a"), inode(to, "y", "alone"));
  assert.deepEqual([statSync(path.join(to, "x", "a")).nlink, statSync(path.join(to, "y", "alone")).nlink], [2, 1]);
});

test("one name alone is restored whole, and the groups are kept by a backup from the cache", async (t) => {
  const { folder, from, env } = await prepare(t);
  const cache = new FileCache(path.join(folder, "cache.sqlite"));
  t.after(() => cache.close());
  await env.backup(from, { cache });
  env.ctx.advance(100_000);
  const { snapshot, unchanged } = await env.backup(from, { cache });
  assert.ok(unchanged > 0, "the cache was used");
  const one = path.join(folder, "one");
  assert.deepEqual((await env.restore(snapshot, one, { paths: [Buffer.from("y/b")] })).failures, []);
  assert.deepEqual(readFileSync(path.join(one, "y", "b")), readFileSync(path.join(from, "y", "b")));
  const all = path.join(folder, "all");
  assert.deepEqual((await env.restore(snapshot, all)).failures, []);
  assert.equal(inode(all, "x", "a"), inode(all, "y", "b"));
});

test("paths that overlap restore a file with hard links once", async (t) => {
  const { folder, from, env } = await prepare(t);
  const { snapshot } = await env.backup(from);
  const to = path.join(folder, "to");
  const paths = ["x", "x/a", "y/b"].map((each) => Buffer.from(each));
  assert.deepEqual((await env.restore(snapshot, to, { paths })).failures, []);
  assert.deepEqual(readFileSync(path.join(to, "x", "a")), readFileSync(path.join(from, "x", "a")));
  assert.equal(inode(to, "x", "a"), inode(to, "y", "b"));
});

test("a name that became a file of its own is restored as one", async (t) => {
  const { folder, from, env } = await prepare(t);
  await env.backup(from);
  rmSync(path.join(from, "y", "b"));
  writeFileSync(path.join(from, "y", "b"), seededBytes(83)(500));
  settleTimes(from);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assertSameTree(from, to);
  assert.notEqual(inode(to, "x", "a"), inode(to, "y", "b"));
});

test("a first name that the file system refuses does not fail the other names: the next one takes its place", async (t) => {
  const { folder, from, env } = await prepare(t);
  linkSync(path.join(from, "y", "b"), path.join(from, "y", "c"));
  settleTimes(from);
  const refused = new Set(["large", "x/a", "y/b"]);
  const source = changedSource(from, (event, name) =>
    refused.has(name) ? { ...event, stat: { ...event.stat, name: tooLong(event.stat.name) } } : event,
  );
  linkSync(path.join(from, "y", "c"), path.join(from, "y", "d"));
  settleTimes(from);
  const { snapshot } = await env.backup(from, { source });
  const to = path.join(folder, "to");
  const { failures, files } = await env.restore(snapshot, to);
  assert.deepEqual(
    failures.map(({ path: at, kind, reason }) => [
      path.basename(Buffer.from(at).toString())[0],
      kind,
      reason.slice(0, 12),
    ]),
    ["l", "a", "b"].map((name) => [name, "file", "ENAMETOOLONG"]),
  );
  assert.equal(files, 4);
  assert.deepEqual(
    [readdirSync(path.join(to, "x")), readdirSync(path.join(to, "y"))],
    [["large too"], ["alone", "c", "d"]],
  );
  for (const name of ["x/large too", "y/c", "y/alone"])
    assert.deepEqual(readFileSync(path.join(to, name)), readFileSync(path.join(from, name)), name);
  assert.equal(inode(to, "y", "c"), inode(to, "y", "d"));
});

test("every name of a file whose content is damaged is reported with the damage", async (t) => {
  const { folder, from, env } = await prepare(t);
  const { snapshot } = await env.backup(from);
  for (const { pack, offset, length } of await dataFrames(env)) {
    const name = env.vault.names.pack(pack);
    await env.vault.store.put(name, Buffer.from(await env.vault.store.get(name)).fill(0, offset, offset + length));
  }
  const paths = [Buffer.from("x"), Buffer.from("y")];
  const { failures } = await env.restore(snapshot, path.join(folder, "to"), { paths });
  assert.deepEqual(
    failures.map((failure) => [path.basename(Buffer.from(failure.path).toString()), failure.kind]).sort(),
    ["a", "alone", "b", "large too"].map((name) => [name, "damage"]),
  );
});

test("files that share a group by chance are restored as files of their own, with their own content and attributes", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const content = Buffer.from(seededBytes(84)(9000));
  for (const name of ["1 first", "3 mode", "4 time"]) writeFileSync(path.join(from, name), content);
  writeFileSync(path.join(from, "2 content"), seededBytes(85)(9000));
  settleTimes(from);
  chmodSync(path.join(from, "3 mode"), 0o640);
  utimesSync(path.join(from, "4 time"), 1_500_000_001, 1_500_000_001);
  const env = await openTestEnvironment(new MemoryStore());
  const source = changedSource(from, (event) => ({ ...event, linkGroup: Buffer.alloc(8, 1) }));
  const { snapshot } = await env.backup(from, { source });
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assertSameTree(from, to);
  assert.equal(new Set(readdirSync(to).map((name) => inode(to, name))).size, 4);
});
