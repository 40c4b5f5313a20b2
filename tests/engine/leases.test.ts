/** An upload keeps its lease while its backup runs, and prune keeps its packs. */

import assert from "node:assert/strict";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { LocalTargetOptions } from "../../packages/engine/src/backup/local-target.ts";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import { minCacheAgeMs } from "../../packages/engine/src/backup/tree-writer.ts";
import type { ClientUnit } from "../../packages/engine/src/backup/upload-target.ts";
import { uploadLeaseMs } from "../../packages/engine/src/backup/upload-target.ts";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import type { Catalog } from "../../packages/engine/src/catalog/catalog.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { folderSource } from "../../packages/engine/src/source/folder-source.ts";
import type { BackupSource } from "../../packages/engine/src/source/source.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";

const minuteMs = 60_000;

async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (let i = 0; i < 8; i++) writeFileSync(path.join(from, `f${i}`), seededBytes(90 + i)(5000));
  settleTimes(from);
  return { folder, from, env: await openTestEnvironment(new MemoryStore()) };
}

/** A timer that runs by the test's clock. */
class LabTimer {
  readonly #works = new Set<{ readonly everyMs: number; readonly work: () => void; at: number }>();
  readonly #env: TestEnvironment;

  constructor(env: TestEnvironment) {
    this.#env = env;
  }

  readonly repeat = (everyMs: number, work: () => void) => {
    const entry = { everyMs, work, at: this.#env.ctx.now() + everyMs };
    this.#works.add(entry);
    return () => void this.#works.delete(entry);
  };

  get running(): number {
    return this.#works.size;
  }

  /** Advances the time minute by minute; another process ends uploads whose lease has ended. */
  async pass(minutes: number): Promise<void> {
    for (let i = 0; i < minutes; i++) {
      this.#env.ctx.advance(minuteMs);
      for (const entry of this.#works) {
        if (entry.at > this.#env.ctx.now()) continue;
        entry.at += entry.everyMs;
        entry.work();
      }
      await this.#env.vault.catalog.expireUploads(this.#env.ctx.now());
    }
  }
}

function targetOf(env: TestEnvironment, more: Partial<LocalTargetOptions>): LocalTargetOptions {
  const { vault, writer } = env;
  return { access: vault, upload: "slow", owner: hex(writer.id), authority: vault.authority, ...more };
}

test("a walk of hours that finds nothing new keeps its upload: the lease is renewed by the clock", async (t) => {
  const { from, env } = await prepare(t);
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  await env.backup(from, { cache });
  env.ctx.advance(1000);
  const timer = new LabTimer(env);
  const walked = folderSource(from);
  const source: BackupSource = {
    async *walk() {
      for await (const event of walked.walk()) {
        await timer.pass(40);
        yield event;
      }
    },
  };
  const { repeat } = timer;
  const { snapshot, unchanged } = await env.backup(from, { cache, source, repeat });
  assert.deepEqual([unchanged, snapshot.storedBytes], [8, 0]);
  assert.ok(snapshot.completedAt - snapshot.startedAt > 4 * uploadLeaseMs, "hours have passed");
  assert.equal(timer.running, 0, "nothing goes on renewing");
});

test("a backup that fails stops renewing: its pins end with its lease", async (t) => {
  const { from, env } = await prepare(t);
  const timer = new LabTimer(env);
  const source: BackupSource = {
    // biome-ignore lint/correctness/useYield: it fails before its first event.
    async *walk() {
      assert.equal(timer.running, 1);
      throw new Error("the disk is gone");
    },
  };
  await assert.rejects(env.backup(from, { source, repeat: timer.repeat }), /the disk is gone/);
  assert.equal(timer.running, 0);
});

test("the lease is renewed before the manifest is written: storing it for half an hour does not end the upload", async (t) => {
  const { folder, from, env } = await prepare(t);
  const { store } = env.vault;
  let stored = 0;
  const slow = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "put") return value.bind(target);
      return async (...args: unknown[]) => {
        if (String(args[0]).startsWith(env.vault.names.manifest(""))) {
          stored++;
          env.ctx.advance(30 * minuteMs);
          await env.vault.catalog.expireUploads(env.ctx.now());
        }
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  // The timer does nothing here, so only the renewal before the manifest can extend the lease.
  const repeat = () => () => {};
  const target = new LocalTarget(targetOf(env, { access: { ...env.vault, store: slow } }));
  const walked = folderSource(from);
  const source: BackupSource = {
    async *walk() {
      yield* walked.walk();
      env.ctx.advance(40 * minuteMs);
    },
  };
  const { snapshot } = await env.backup(from, { target, source, repeat });
  assert.equal(stored, 1, "storing the manifest took half an hour");
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "to"))).failures, []);
});

test("prune keeps the packs of a running upload that the catalog does not know yet", async (t) => {
  const { folder, from, env } = await prepare(t);
  let prunes = 0;
  class PruningTarget extends LocalTarget {
    override async register(unit: ClientUnit): Promise<void> {
      const { orphanPacks } = await prune(env.vault);
      assert.deepEqual(orphanPacks, []);
      prunes++;
      await super.register(unit);
    }
  }
  const settings = { packBytes: 8000, unitBytes: 16_000 };
  const { snapshot } = await env.backup(from, { target: new PruningTarget(targetOf(env, {})), settings });
  assert.ok(prunes > 0);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("prune keeps a pack that is registered, and whose upload completes, while prune looks at it", async (t) => {
  const { folder, from, env } = await prepare(t);
  const reached = Promise.withResolvers<void>();
  const completed = Promise.withResolvers<void>();
  const catalog = new Proxy<Catalog>(env.vault.catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "issuedNonce") return value.bind(target);
      // Prune has found no row of the pack.
      return async (session: number) => {
        reached.resolve();
        await completed.promise;
        return target.issuedNonce(session);
      };
    },
  });
  let pruning: ReturnType<typeof prune> | undefined;
  class OvertakingTarget extends LocalTarget {
    override async register(unit: ClientUnit): Promise<void> {
      pruning ??= prune({ ...env.vault, catalog });
      await Promise.race([reached.promise, pruning]);
      await super.register(unit);
    }
  }
  const { snapshot } = await env.backup(from, { target: new OvertakingTarget(targetOf(env, {})) });
  completed.resolve();
  assert.deepEqual((await pruning)?.orphanPacks, []);
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "to"))).failures, []);
});

test("the file cache takes a file only if it last changed longer ago than the kernel needs to write mapped pages back", async (t) => {
  const { from, env } = await prepare(t);
  const changedMs = Math.max(...Array.from({ length: 8 }, (_, i) => statSync(path.join(from, `f${i}`)).ctimeMs));
  for (const [restedMs, unchanged] of [
    [2_000, 0],
    [30_000, 0],
    [minCacheAgeMs - 1000, 0],
    [minCacheAgeMs + 1000, 8],
  ] as const) {
    const cache = new FileCache(":memory:");
    const ctx = { ...env.ctx, now: () => Math.ceil(changedMs) + restedMs };
    await env.backup(from, { cache, ctx });
    assert.equal((await env.backup(from, { cache, ctx })).unchanged, unchanged, `${restedMs} ms`);
    cache.close();
  }
});
