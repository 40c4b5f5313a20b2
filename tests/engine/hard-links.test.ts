import assert from "node:assert/strict";
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import {
  assertSameTree,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

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
