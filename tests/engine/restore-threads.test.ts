import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { RestoreWorkerPool } from "../../packages/engine/src/workers/restore-worker-pool.ts";

/** Enough bytes for two workers. Files share pages, so both workers write to the same files. */
async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "small"), { recursive: true });
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 33), Buffer.alloc(16));
  const pages = noise.update(Buffer.alloc(16 * 1024 * 1024));
  const half = pages.length / 2;
  writeFileSync(path.join(from, "first"), pages);
  writeFileSync(
    path.join(from, "second"),
    Buffer.concat([pages.subarray(half), Buffer.alloc(70_000), pages.subarray(0, half)]),
  );
  writeFileSync(path.join(from, "hole"), Buffer.concat([pages.subarray(5, 100_000), Buffer.alloc(500_000)]));
  for (let i = 0; i < 50; i++) writeFileSync(path.join(from, "small", `${i}`), pages.subarray(i * 1000, i * 5000));
  settleTimes(from);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const { snapshot } = await env.backup(from);
  const pool = new RestoreWorkerPool(2);
  t.after(() => void pool.close());
  return { folder, from, store, env, snapshot, pool };
}

test("two workers write the same as one: every byte, hole, mode and time, with and without hashing", async (t) => {
  const { folder, from, env, snapshot, pool } = await prepare(t);
  for (const hashAll of [false, true]) {
    const to = path.join(folder, `to ${hashAll}`);
    assert.deepEqual((await env.restore(snapshot, to, { pool, hashAll })).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
  }
  assert.ok(pool.maxParallelJobs > 1, "threads were started");
});

test("worker threads are started for large restores only: one small file needs none", async (t) => {
  const { folder, env, snapshot, pool } = await prepare(t);
  const paths = [Buffer.from("small/7")];
  assert.equal((await env.restore(snapshot, path.join(folder, "one"), { pool, paths })).files, 1);
  assert.equal(pool.maxParallelJobs, 1);
});

test("a worker reports the pack of a damaged frame, and files that do not need the frame are written", async (t) => {
  const { folder, from, env, store, snapshot, pool } = await prepare(t);
  let damaged = "";
  for await (const row of env.vault.catalog.allFrames()) {
    if (row.kind !== "data" || damaged !== "") continue;
    damaged = row.pack;
    const name = env.vault.names.pack(row.pack);
    const bytes = Buffer.from(await store.get(name));
    bytes.writeUInt8(bytes.readUInt8(row.offset + 90) ^ 2, row.offset + 90);
    await store.put(name, bytes);
  }
  const to = path.join(folder, "to");
  const { failures, files } = await env.restore(snapshot, to, { pool });
  assert.ok(failures.length > 0 && files > 0, `${failures.length} failures, ${files} files`);
  for (const { kind, pack } of failures) assert.deepEqual([kind, pack], ["damage", damaged]);
  const lost = new Set(failures.map((failure) => Buffer.from(failure.path).toString().slice(to.length)));
  for (const name of lost) rmSync(path.join(from, name));
  settleTimes(from);
  assert.deepEqual(describeTree(to), describeTree(from));
});
