/** An upload lives for as long as its backup runs, whatever it asks meanwhile, and its packs are left alone. */

import assert from "node:assert/strict";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/backup/cache.ts";
import { folderSource } from "../../packages/engine/src/backup/folder-source.ts";
import type { LocalTargetOptions } from "../../packages/engine/src/backup/local-target.ts";
import { LocalTarget, uploadLeaseMs } from "../../packages/engine/src/backup/local-target.ts";
import type { BackupSource } from "../../packages/engine/src/backup/source.ts";
import { restMs } from "../../packages/engine/src/backup/tree-line.ts";
import { hex } from "../../packages/engine/src/bytes.ts";
import type { UploadUnit } from "../../packages/engine/src/index/port.ts";
import type { Lab } from "../../packages/engine/src/testing/lab.ts";
import { describeTree, openLab, scratch, seededBytes, settleTimes } from "../../packages/engine/src/testing/lab.ts";
import { collect } from "../../packages/engine/src/upkeep/collect.ts";

const minuteMs = 60_000;

async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (let i = 0; i < 8; i++) writeFileSync(path.join(from, `f${i}`), seededBytes(90 + i)(5000));
  settleTimes(from);
  return { folder, from, lab: await openLab(new MemoryStore()) };
}

/** A timer that goes by the laboratory's clock. */
class LabTimer {
  readonly #works = new Set<{ readonly everyMs: number; readonly work: () => void; at: number }>();
  readonly #lab: Lab;

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  readonly repeat = (everyMs: number, work: () => void) => {
    const entry = { everyMs, work, at: this.#lab.ctx.now() + everyMs };
    this.#works.add(entry);
    return () => void this.#works.delete(entry);
  };

  get running(): number {
    return this.#works.size;
  }

  /** Lets time go by, minute by minute; another process ends what has expired. */
  async pass(minutes: number): Promise<void> {
    for (let i = 0; i < minutes; i++) {
      this.#lab.ctx.advance(minuteMs);
      for (const entry of this.#works) {
        if (entry.at > this.#lab.ctx.now()) continue;
        entry.at += entry.everyMs;
        entry.work();
      }
      await this.#lab.vault.index.expireUploads(this.#lab.ctx.now());
    }
  }
}

function targetOf(lab: Lab, more: Partial<LocalTargetOptions>): LocalTargetOptions {
  const { vault, writer } = lab;
  return { access: vault, upload: "slow", owner: hex(writer.id), authority: vault.authority, ...more };
}

test("a walk of hours that finds nothing new keeps its upload: the lease goes by the clock, not by questions", async (t) => {
  const { from, lab } = await prepare(t);
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  await lab.backup(from, { cache });
  lab.ctx.advance(1000);
  const timer = new LabTimer(lab);
  const walked = folderSource(from);
  const source: BackupSource = {
    async *walk() {
      for await (const event of walked.walk()) {
        await timer.pass(40);
        yield event;
      }
    },
  };
  const target = new LocalTarget(targetOf(lab, { repeat: timer.repeat }));
  const { snapshot, unchanged } = await lab.backup(from, { cache, target, source });
  assert.deepEqual([unchanged, snapshot.storedBytes], [8, 0]);
  assert.ok(snapshot.completedAt - snapshot.startedAt > 4 * uploadLeaseMs, "hours have passed");
  assert.equal(timer.running, 0, "nothing goes on renewing");
});

test("a backup that fails stops renewing: its pins end with its lease", async (t) => {
  const { from, lab } = await prepare(t);
  const timer = new LabTimer(lab);
  const target = new LocalTarget(targetOf(lab, { repeat: timer.repeat }));
  const source: BackupSource = {
    // biome-ignore lint/correctness/useYield: it fails before its first event.
    async *walk() {
      assert.equal(timer.running, 1);
      throw new Error("the disk is gone");
    },
  };
  await assert.rejects(lab.backup(from, { target, source }), /the disk is gone/);
  assert.equal(timer.running, 0);
});

test("the lease is fresh when the manifest is written: half an hour of storing it does not end the upload", async (t) => {
  const { folder, from, lab } = await prepare(t);
  const { store } = lab.vault;
  const slow = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "put") return value.bind(target);
      return async (...args: unknown[]) => {
        if (String(args[0]).endsWith("/manifest")) {
          lab.ctx.advance(30 * minuteMs);
          await lab.vault.index.expireUploads(lab.ctx.now());
        }
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  // The timer is silent: what is told apart here is the renewal before the manifest.
  const target = new LocalTarget(targetOf(lab, { access: { ...lab.vault, store: slow }, repeat: () => () => {} }));
  const walked = folderSource(from);
  const source: BackupSource = {
    async *walk() {
      yield* walked.walk();
      lab.ctx.advance(40 * minuteMs);
    },
  };
  const { snapshot } = await lab.backup(from, { target, source });
  assert.deepEqual((await lab.restore(snapshot, path.join(folder, "to"))).failures, []);
});

test("collection leaves the packs of a running upload alone that the index does not know yet", async (t) => {
  const { folder, from, lab } = await prepare(t);
  let collections = 0;
  class Collected extends LocalTarget {
    override async register(unit: UploadUnit): Promise<void> {
      const { orphanPacks } = await collect(lab.vault);
      assert.deepEqual(orphanPacks, []);
      collections++;
      await super.register(unit);
    }
  }
  const settings = { packBytes: 8000, unitBytes: 16_000 };
  const { snapshot } = await lab.backup(from, { target: new Collected(targetOf(lab, {})), settings });
  assert.ok(collections > 0);
  const to = path.join(folder, "to");
  assert.deepEqual((await lab.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("a file is remembered once it has rested for longer than the kernel takes to write mapped pages back", async (t) => {
  const { from, lab } = await prepare(t);
  const changedMs = Math.max(...Array.from({ length: 8 }, (_, i) => statSync(path.join(from, `f${i}`)).ctimeMs));
  for (const [restedMs, unchanged] of [
    [2_000, 0],
    [30_000, 0],
    [restMs - 1000, 0],
    [restMs + 1000, 8],
  ] as const) {
    const cache = new FileCache(":memory:");
    const ctx = { ...lab.ctx, now: () => Math.ceil(changedMs) + restedMs };
    await lab.backup(from, { cache, ctx });
    assert.equal((await lab.backup(from, { cache, ctx })).unchanged, unchanged, `${restedMs} ms`);
    cache.close();
  }
});
