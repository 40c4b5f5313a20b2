// long: 12 s

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { type Fault, FaultyStore, faultAt, StoreCrash } from "@emanet/storage/testing";
import type { Catalog } from "../../packages/engine/src/catalog/catalog.ts";
import { MemoryCatalog } from "../../packages/engine/src/catalog/memory.ts";
import { VaultChain } from "../../packages/engine/src/catalog/vault-chain.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { scaled } from "../../packages/engine/src/testing/scale.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  masterKey,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
  testEnvironmentOf,
  vaultId,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { deleteSnapshot, setRetention } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { identityOf, openVault } from "../../packages/engine/src/vault.ts";

/** Two backups of a small source, and the source as the third night finds it. That night runs with faults. */
interface Scene {
  readonly folder: string;
  readonly from: string;
  readonly inner: MemoryStore;
  readonly catalog: Catalog;
  readonly env: TestEnvironment;
  /** Trees that snapshots must restore to, by snapshot id. */
  readonly expected: Map<string, readonly string[]>;
  readonly thirdNight: readonly string[];
}

/** The store after two nights, the calls that made the catalog, and the source. Every scene is made of them. */
interface Prepared extends Pick<Scene, "from" | "expected" | "env" | "thirdNight"> {
  readonly objects: ReadonlyMap<string, Uint8Array>;
  readonly calls: readonly RecordedCall[];
}

interface RecordedCall {
  readonly name: string;
  readonly args: readonly unknown[];
}

const seed = 3;

async function prepare(folder: string): Promise<Prepared> {
  const from = path.join(folder, "from");
  const inner = new MemoryStore();
  const calls: RecordedCall[] = [];
  const catalog = recording(new MemoryCatalog(testContext(seed)), calls);
  const env = await openTestEnvironment(inner, { catalog, seed });
  const bytes = seededBytes(11);
  mkdirSync(from);
  for (let i = 0; i < 6; i++) writeFileSync(path.join(from, `f${i}`), bytes(3000 + i));
  const expected = new Map<string, readonly string[]>();
  for (const night of [0, 1]) {
    writeFileSync(path.join(from, "nightly"), bytes(50_000 + night));
    settleTimes(from);
    const { snapshot } = await env.backup(from);
    expected.set(snapshot.id, describeTree(from));
    env.ctx.advance(1000);
  }
  writeFileSync(path.join(from, "nightly"), bytes(60_000));
  rmSync(path.join(from, "f1"));
  settleTimes(from);
  return { from, env, expected, thirdNight: describeTree(from), objects: new Map(inner.objects), calls };
}

/** The catalog, with its calls added to a list. Streams only read. */
function recording(catalog: Catalog, calls: RecordedCall[]): Catalog {
  return new Proxy(catalog, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (!String(name).startsWith("all")) calls.push({ name: String(name), args });
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}

/** A copy of what was prepared: another store and another catalog. Two more backups per fault would be half of the time. */
async function copyOf(prepared: Prepared, folder: string): Promise<Scene> {
  const inner = new MemoryStore(prepared.objects);
  const catalog: Catalog = new MemoryCatalog(testContext(seed));
  for (const { name, args } of prepared.calls) {
    const method: unknown = Reflect.get(catalog, name);
    if (typeof method === "function") await Reflect.apply(method, catalog, args);
  }
  // Other random numbers than those of the first two nights: pack names must be new.
  const ctx = testContext(seed + 1);
  ctx.advance(2000);
  const vault = { ...prepared.env.vault, ctx, store: inner, catalog };
  return { ...prepared, folder, inner, catalog, env: testEnvironmentOf(ctx, vault, prepared.env.writer) };
}

/** The environment of a process that uses the store through `store`. */
async function processOver(scene: Scene, store: FaultyStore | MemoryStore): Promise<TestEnvironment> {
  const { names } = scene.env.vault;
  const chain = new VaultChain({ store, names, ...identityOf(scene.env.vault) });
  const vault = { ...scene.env.vault, store, chain };
  return testEnvironmentOf(scene.env.ctx, vault, scene.env.writer);
}

const settings = { packBytes: 20_000, unitBytes: 40_000 };

/** The steps of a night. Each can be repeated. */
function steps(scene: Scene, env: TestEnvironment): (() => Promise<unknown>)[] {
  const [first, second] = [...scene.expected.keys()];
  return [
    () => env.backup(scene.from, { settings }),
    () => setRetention(env.vault, second ?? "", { expiresAt: null, lockedUntil: null, hold: true }),
    async () => {
      const there = (await listSnapshots(scene.catalog)).some(({ id }) => id === first);
      if (there) await deleteSnapshot(env.vault, first ?? "");
    },
    () => prune(env.vault),
    () => repack(env.vault),
  ];
}

/** Every snapshot in the catalog restores to the tree that was backed up. */
async function assertRestores(scene: Scene, env: TestEnvironment, label: string): Promise<void> {
  const rows = await listSnapshots(env.vault.catalog);
  const ids = rows.map(({ id }) => id);
  const [first, second] = [...scene.expected.keys()];
  assert.ok(ids.includes(second ?? ""), `${label}: the newest old snapshot is there`);
  for (const row of rows) {
    const to = path.join(scene.folder, "to");
    const result = await env.restore(row, to);
    assert.deepEqual(result.failures, [], label);
    assert.deepEqual(describeTree(to), scene.expected.get(row.id) ?? scene.thirdNight, label);
    rmSync(to, { recursive: true });
  }
  assert.ok(rows.length <= 5 && (ids.includes(first ?? "") || rows.length >= 1), label);
}

/** How many store calls a night makes without faults. */
async function countCalls(prepared: Prepared, folder: string): Promise<number> {
  const scene = await copyOf(prepared, folder);
  const store = new FaultyStore(scene.inner);
  for (const step of steps(scene, await processOver(scene, store))) await step();
  return store.calls.length;
}

/** In an ordinary run every call has one crash and one fault, in a heavy run each of them. */
const isHeavy = scaled(0, 1) === 1;
const crashes = ["before", "after"] as const;
const faults: readonly Fault[] = [
  { kind: "fail", code: "unavailable" },
  { kind: "fail", code: "full" },
  { kind: "lose" },
];

describe("faults", () => {
  test("a crash before or after any store call leaves the old state or the new state, with the catalog or without it", async (t) => {
    const folder = scratch(t);
    const prepared = await prepare(folder);
    const calls = await countCalls(prepared, folder);
    assert.ok(calls >= 12, `${calls} calls`);
    for (let call = 1; call <= calls; call++) {
      for (const when of isHeavy ? crashes : crashes.slice(call % 2, (call % 2) + 1)) {
        const label = `crash ${when} call ${call}`;
        const scene = await copyOf(prepared, folder);
        const store = new FaultyStore(scene.inner, faultAt(call, { kind: "crash", when }));
        const env = await processOver(scene, store);
        await assert.rejects(
          async () => {
            for (const step of steps(scene, env)) await step();
          },
          StoreCrash,
          label,
        );
        await assertRecovers(scene, Math.floor(call / 2) % 2 === 0, label);
      }
    }
  });

  for (const [index, fault] of faults.entries()) {
    const name = fault.kind === "fail" ? fault.code : "reply lost after the work was done";
    test(`if a store call fails once (${name}), repeating the step works and nothing is lost`, async (t) => {
      const folder = scratch(t);
      const prepared = await prepare(folder);
      const calls = await countCalls(prepared, folder);
      for (let call = isHeavy ? 1 : 1 + index; call <= calls; call += isHeavy ? 1 : faults.length) {
        const label = `${name} at call ${call}`;
        const scene = await copyOf(prepared, folder);
        const env = await processOver(scene, new FaultyStore(scene.inner, faultAt(call, fault)));
        for (const step of steps(scene, env)) await step().catch(() => step());
        await assertRestores(scene, env, label);
      }
    });
  }
});

/** A new process after a crash, with the same catalog or a rebuilt one, can restore, back up, prune and repack. */
async function assertRecovers(scene: Scene, loseCatalog: boolean, label: string): Promise<void> {
  const env = await processOver(scene, scene.inner);
  if (loseCatalog) {
    const catalog = new MemoryCatalog(testContext(99));
    const vault = await openVault({ ctx: scene.env.ctx, store: scene.inner, catalog }, masterKey, vaultId);
    const report = await rebuild(vault);
    assert.deepEqual(report.refused, [], label);
    assert.deepEqual(report.incomplete, [], label);
    return assertNextNight(scene, testEnvironmentOf(scene.env.ctx, vault, scene.env.writer), label);
  }
  return assertNextNight(scene, env, label);
}

async function assertNextNight(scene: Scene, env: TestEnvironment, label: string): Promise<void> {
  await assertRestores(scene, env, label);
  // The lease of the crashed process expires before the next night.
  env.ctx.advance(3 * 3_600_000);
  await env.backup(scene.from, { settings });
  await prune(env.vault);
  await repack(env.vault);
  await assertRestores(scene, env, `${label}, next night`);
}
