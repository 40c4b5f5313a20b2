/** Several uploads share a worker pool: a store that hangs, a thread that dies and an abort concern one upload only. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { BackupResult } from "../../packages/engine/src/backup/backup.ts";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import type { UploadTarget } from "../../packages/engine/src/backup/upload-target.ts";
import { CatalogError } from "../../packages/engine/src/catalog/catalog.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { beforeCall, intercept } from "../../packages/engine/src/testing/index.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { CutWorkerPool, WorkerDiedError } from "../../packages/engine/src/workers/cut-worker-pool.ts";

type TestScope = { after(fn: () => void): void };

const settings = { packBytes: 100_000, unitBytes: 200_000 };

/** Files that are cut as stripes, so that each of them fills a buffer of a worker. */
function writeFiles(t: TestScope, seed: number, count: number): string {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16));
  for (let i = 0; i < count; i++) writeFileSync(path.join(from, `f${i}`), cipher.update(Buffer.alloc(300_000)));
  settleTimes(from);
  return from;
}

function localTarget({ vault }: TestEnvironment, upload: string): UploadTarget {
  return new LocalTarget({ access: vault, upload, owner: "a", authority: vault.authority });
}

async function assertRestores(
  t: TestScope,
  env: TestEnvironment,
  from: string,
  { snapshot }: BackupResult,
): Promise<void> {
  const to = path.join(scratch(t), "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
}

test("a file is cut in the same way by a worker that has cut for another vault before: by its vault's key", async (t) => {
  const from = writeFiles(t, 3, 2);
  const used = new CutWorkerPool(0);
  const segments = async (seed: number, pool: CutWorkerPool) => {
    const env = await openTestEnvironment(new MemoryStore(), { seed });
    await env.backup(from, { pool });
    const items = await Array.fromAsync(env.vault.catalog.allItems());
    return items.filter(({ kind }) => kind === "segment").map(({ id }) => Buffer.from(id).toString("hex"));
  };
  const other = await segments(1, used);
  const [after, alone] = [await segments(2, used), await segments(2, new CutWorkerPool(0))];
  assert.ok(alone.length >= 2);
  assert.deepEqual(after, alone);
  assert.equal(new Set([...other, ...alone]).size, other.length + alone.length);
});

for (const threads of [0, 1])
  test(`an upload whose store hangs does not stop the others of a pool with ${threads} threads, and can be aborted`, async (t) => {
    const pool = new CutWorkerPool(threads);
    t.after(() => pool.close());
    const env = await openTestEnvironment(new MemoryStore());
    const local = localTarget(env, "hanging");
    const stuck = Promise.withResolvers<void>();
    const hanging: UploadTarget = {
      ...intercept(
        () => local,
        (_name, call) => call(),
      ),
      putPack: () => {
        stuck.resolve();
        return new Promise<void>(() => {});
      },
    };
    const abort = new AbortController();
    const stopped = env.backup(writeFiles(t, 1, 16), {
      pool,
      settings,
      target: hanging,
      owner: "a",
      signal: abort.signal,
    });
    const rejected = assert.rejects(stopped, /enough/);
    await stuck.promise;
    const from = writeFiles(t, 2, 8);
    const others = [0, 1].map((i) =>
      env.backup(from, { pool, settings, target: localTarget(env, `other ${i}`), owner: `${i}`, sourceName: `${i}` }),
    );
    for (const result of await Promise.all(others.map((each) => each))) await assertRestores(t, env, from, result);
    assert.equal((await env.vault.catalog.sessions()).running.length, 1, "it still hangs");
    abort.abort(new Error("enough"));
    await rejected;
    assert.deepEqual((await env.vault.catalog.sessions()).running, []);
  });

/** Ends the pool's first thread by a message that it cannot read. */
function killThread(pool: CutWorkerPool): void {
  const [worker] = pool.workers;
  worker?.send({ type: "open", session: { clientId: -1 } } as never);
  worker?.send({ type: "close", clientId: -1 });
}

test("a thread that dies: its uploads begin again in a new one, and all finish", async (t) => {
  let starts = 0;
  const pool = new CutWorkerPool(1, () => starts++);
  t.after(() => pool.close());
  const env = await openTestEnvironment(new MemoryStore());
  const from = writeFiles(t, 3, 6);
  let offers = 0;
  const backups = ["one", "two"].map((name) => {
    const local = localTarget(env, name);
    const target = intercept(
      () => local,
      async (call, answer) => {
        if (call === "offer" && ++offers === 2) killThread(pool);
        return answer();
      },
    );
    return env.backup(from, { pool, settings, target, owner: "a", sourceName: name });
  });
  for (const result of await Promise.all(backups)) await assertRestores(t, env, from, result);
  assert.equal(starts, 2, "the thread was started again");
  assert.deepEqual((await env.vault.catalog.sessions()).running, []);
});

test("a backup whose thread dies each time is given up, and the pool stays usable", async (t) => {
  const pool = new CutWorkerPool(1);
  t.after(() => pool.close());
  const env = await openTestEnvironment(new MemoryStore());
  const from = writeFiles(t, 4, 2);
  const local = localTarget(env, "deadly");
  const target = intercept(
    () => local,
    async (call, answer) => {
      if (call === "offer") killThread(pool);
      return answer();
    },
  );
  await assert.rejects(env.backup(from, { pool, settings, target, owner: "a" }), WorkerDiedError);
  await assertRestores(t, env, from, await env.backup(from, { pool, settings }));
});

test("where an upload cannot begin again, a thread's death is what the backup rejects with", async (t) => {
  const pool = new CutWorkerPool(1);
  t.after(() => pool.close());
  const env = await openTestEnvironment(new MemoryStore());
  const from = writeFiles(t, 4, 2);
  const local = localTarget(env, "ended");
  let begun = 0;
  const target = intercept(
    () => local,
    async (call, answer) => {
      if (call === "begin" && ++begun > 1) throw new CatalogError("unknown_upload", "it was canceled");
      if (call === "offer") killThread(pool);
      return answer();
    },
  );
  await assert.rejects(env.backup(from, { pool, settings, target, owner: "a" }), WorkerDiedError);
  assert.equal(begun, 2);
});

test("an abort at any call but the last: the backup rejects with its reason, and nothing of the upload is left running", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const from = writeFiles(t, 5, 2);
  for (let number = 1; ; number++) {
    const abort = new AbortController();
    const before = beforeCall(number, async () => abort.abort(new Error(`stop ${number}`)));
    const local = localTarget(env, `abort ${number}`);
    const target = intercept(() => local, before.around);
    const completed = (await listSnapshots(env.vault.catalog)).length;
    const running = env.backup(from, { settings, target, owner: "a", signal: abort.signal });
    const result = await running.catch((error: Error) => error);
    if (!(result instanceof Error)) {
      assert.equal(before.calls(), number, "a completion that has begun is not aborted");
      await assertRestores(t, env, from, result);
      break;
    }
    assert.match(String(result), new RegExp(`stop ${number}`));
    assert.equal((await listSnapshots(env.vault.catalog)).length, completed);
    assert.deepEqual((await env.vault.catalog.sessions()).running, []);
    env.ctx.advance(1000);
  }
});
