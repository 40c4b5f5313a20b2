import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { nodeId } from "../../packages/engine/src/format/hash.ts";
import { acceptManifest } from "../../packages/engine/src/format/manifest.ts";
import { noRetention } from "../../packages/engine/src/format/snapshot.ts";
import { nodeKeyOf } from "../../packages/engine/src/format/vault-keys.ts";
import type { RestoreResult } from "../../packages/engine/src/restore/folder/restore.ts";
import { recheckDamagedFrames } from "../../packages/engine/src/restore/local-read-port.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { scaled } from "../../packages/engine/src/testing/scale.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { heal } from "../../packages/engine/src/upkeep/heal.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import type { ScrubReport } from "../../packages/engine/src/upkeep/scrub.ts";
import { packsToRewrite, scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "../../packages/engine/src/upkeep/upkeep-session.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { identityOf } from "../../packages/engine/src/vault.ts";

interface Bench {
  readonly store: MemoryStore;
  readonly env: TestEnvironment;
  readonly from: string;
  readonly folder: string;
  readonly packs: readonly string[];
}

const settings = { packBytes: 30_000, unitBytes: 60_000 };

async function prepare(t: { after(fn: () => void): void }): Promise<Bench> {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const bytes = seededBytes(21);
  for (let i = 0; i < 5; i++) writeFileSync(path.join(from, `f${i}`), bytes(20_000));
  writeFileSync(path.join(from, "big"), bytes(300_000));
  settleTimes(from);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  await env.backup(from, { settings });
  writeFileSync(path.join(from, "later"), bytes(40_000));
  settleTimes(from);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  const packs: string[] = [];
  for await (const { name } of store.list(env.vault.names.packs)) packs.push(name);
  assert.ok(packs.length >= 3, `${packs.length} packs`);
  return { store, env, from, folder, packs };
}

async function scrubbed({ env }: Bench): Promise<ScrubReport> {
  return scrub({ ...env.vault, identity: identityOf(env.vault) });
}

const short = (name: string) => name.slice(name.lastIndexOf("/") + 1);

test("scrub finds a changed byte anywhere in a pack without keys, and names the pack", async (t) => {
  const bench = await prepare(t);
  assert.deepEqual((await scrubbed(bench)).findings, []);
  const random = new SeededRandom(5);
  for (let i = 0; i < scaled(400, 20_000); i++) {
    const name = random.pick(bench.packs);
    const good = await bench.store.get(name);
    const bad = Buffer.from(good);
    // The first cases change the header, with its key encapsulation, and the footer. The others change any byte.
    const at = i < 100 ? i * 13 : i < 150 ? bad.length - 1 - (i - 100) : random.below(bad.length);
    bad[at] = (bad[at] ?? 0) ^ (1 << random.below(8));
    await bench.store.put(name, bad);
    const { findings } = await scrubbed(bench);
    assert.deepEqual(
      findings.map(({ pack }) => pack),
      [short(name)],
      `byte ${at} of ${good.length}`,
    );
    await bench.store.put(name, good);
  }
});

test("scrub finds and names truncated, deleted and swapped packs", async (t) => {
  const bench = await prepare(t);
  const [first = "", second = ""] = bench.packs;
  const good = { first: await bench.store.get(first), second: await bench.store.get(second) };
  for (const length of [0, 1, 100, good.first.length - 1]) {
    await bench.store.put(first, good.first.subarray(0, length));
    assert.deepEqual(
      (await scrubbed(bench)).findings.map(({ pack }) => pack),
      [short(first)],
    );
  }
  await bench.store.delete(first);
  assert.deepEqual(
    (await scrubbed(bench)).findings.map(({ pack, kind }) => [pack, kind]),
    [[short(first), "missing"]],
  );
  await bench.store.put(first, good.second);
  await bench.store.put(second, good.first);
  assert.deepEqual(
    (await scrubbed(bench)).findings.map(({ pack }) => pack).sort(),
    [short(first), short(second)].sort(),
  );
});

test("scrub finds a manifest that the authority accepted and that is not the one in the chain", async (t) => {
  const bench = await prepare(t);
  const { store, env } = bench;
  const [snapshot] = await listSnapshots(env.vault.catalog);
  assert.ok(snapshot);
  const name = env.vault.names.manifest(snapshot.id);
  const good = Buffer.from(await store.get(name));
  // Without acceptance and the authority's signature.
  const draft = good.subarray(0, good.length - 25 - 64);
  const accepted = { at: env.ctx.now(), retention: noRetention };
  const other = acceptManifest(env.vault.authority, draft, {
    ...accepted,
    retention: { ...noRetention, expiresAt: 1 },
  });
  await store.put(name, other);
  const { manifests } = await scrubbed(bench);
  assert.deepEqual(
    manifests.map((finding) => [finding.name, finding.kind, finding.reason]),
    [[name, "damaged", "another manifest than the chain has"]],
  );
  await store.put(name, good);
  assert.deepEqual((await scrubbed(bench)).manifests, []);
});

test("a restore of damaged content names file and pack, and restores everything else", async (t) => {
  const bench = await prepare(t);
  const snapshot = (await listSnapshots(bench.env.vault.catalog)).at(-1);
  assert.ok(snapshot);
  let found = 0;
  for (const name of bench.packs) {
    const good = await bench.store.get(name);
    const bad = Buffer.from(good);
    const at = 1400 + 200;
    bad[at] = (bad[at] ?? 0) ^ 1;
    await bench.store.put(name, bad);
    const to = path.join(bench.folder, "to");
    const outcome: RestoreResult | Error = await bench.env.restore(snapshot, to).catch((error: Error) => error);
    if (outcome instanceof Error) assert.match(outcome.message, new RegExp(short(name)));
    else for (const failure of outcome.failures) assert.equal(failure.pack, short(name));
    found += outcome instanceof Error ? 1 : outcome.failures.length;
    rmSync(to, { recursive: true, force: true });
    await bench.store.put(name, good);
  }
  assert.ok(found > 0);
});

test("verify finds and names the damage that scrub finds", async (t) => {
  const bench = await prepare(t);
  const snapshots = await listSnapshots(bench.env.vault.catalog);
  const data = (await bench.env.vault.catalog.frames([2 ** 24 + 1]))[0];
  assert.ok(data);
  const name = bench.env.vault.names.pack(data.pack);
  const bad = Buffer.from(await bench.store.get(name));
  bad[data.offset + 60] = (bad[data.offset + 60] ?? 0) ^ 4;
  await bench.store.put(name, bad);
  const report = await verifySnapshots({ pool: inlineRestorePool, vault: bench.env.vault, snapshots, readData: true });
  assert.ok(report.findings.length > 0);
  for (const finding of report.findings) assert.equal(finding.pack, data.pack);
  assert.deepEqual(report.damagedFrames, [{ frame: data.frame, pack: data.pack, generation: 0 }]);
});

test("a backup heals what its source still has: old snapshots restore again, and recipes do not change", async (t) => {
  const bench = await prepare(t);
  const { env, store, from, folder } = bench;
  const old = (await listSnapshots(env.vault.catalog)).at(-1);
  assert.ok(old);
  const recipes = new Map<number, string>();
  for await (const item of env.vault.catalog.allItems())
    recipes.set(item.ordinal, Buffer.from(item.recipe).toString("hex"));
  const lines = describeTree(from);
  for (const name of bench.packs) {
    const bad = Buffer.from(await store.get(name));
    bad.fill(0, 1500, Math.min(bad.length - 200, 40_000));
    if ((await env.vault.catalog.frames([2 ** 24 + 1]))[0]?.pack === short(name)) await store.put(name, bad);
  }
  const damage = (await scrubbed(bench)).findings.flatMap(({ frames }) => frames);
  assert.ok(damage.length > 0);
  await env.vault.catalog.setDamaged(damage, true);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  const report = await heal(env.vault);
  assert.deepEqual(report.stillDamaged, []);
  assert.deepEqual([...report.healed].sort(), damage.map(({ frame }) => frame).sort());
  const to = path.join(folder, "healed");
  const result = await env.restore(old, to);
  assert.deepEqual(result.failures, []);
  assert.deepEqual(describeTree(to), lines);
  for (const [ordinal, recipe] of recipes) {
    const [item] = await env.vault.catalog.itemsByOrdinal([ordinal]);
    assert.equal(Buffer.from(item?.recipe ?? []).toString("hex"), recipe);
  }
});

test("a lost data pack is healed too, also if the catalog was lost with it", async (t) => {
  const bench = await prepare(t);
  const { env, store, from, folder } = bench;
  const old = (await listSnapshots(env.vault.catalog)).at(-1);
  const data = (await env.vault.catalog.frames([2 ** 24 + 1]))[0];
  assert.ok(old && data);
  await store.delete(env.vault.names.pack(data.pack));
  const report = await rebuild(env.vault);
  assert.ok(report.lostFrames.length > 0);
  env.ctx.advance(1000);
  await env.backup(from, { settings });
  assert.deepEqual((await heal(env.vault)).stillDamaged, []);
  const to = path.join(folder, "healed");
  assert.deepEqual((await env.restore(old, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("a marked metadata frame with a node that does not match its id keeps its mark", async (t) => {
  const { env } = await prepare(t);
  const { catalog } = env.vault;
  for (const [bytes, isTrue] of [
    [Buffer.from("a node"), true],
    [Buffer.from("another"), false],
  ] as const) {
    const id = nodeId(nodeKeyOf(env.vault.keys), Buffer.from("a node"));
    const rows = await withUpkeepSession(env.vault, async (session) => {
      session.putRecord({ kind: "node", ordinal: 100_000, id, bytes });
      const { packs, header } = await session.flush();
      const frames = rowsOf(session, packs, new Map());
      await catalog.addUnit(session.upload, env.ctx.now(), { ...packsUnit(session, packs, header), frames });
      return frames;
    });
    await catalog.setDamaged(rows, true);
    assert.equal((await recheckDamagedFrames(env.vault, rows)).length, isTrue ? 1 : 0);
    assert.equal((await catalog.frames(rows.map(({ frame }) => frame)))[0]?.damaged, !isTrue);
  }
});

test("a damaged metadata frame stops no rewriting: it is marked, its pack stays, and the other packs are rewritten", async (t) => {
  const { env, store, from, folder } = await prepare(t);
  const { catalog, names } = env.vault;
  const frames = await Array.fromAsync(catalog.allFrames());
  const damaged = frames.find(({ kind }) => kind === "meta");
  assert.ok(damaged);
  const name = names.pack(damaged.pack);
  const whole = await store.get(name);
  const bad = Buffer.from(whole);
  bad[damaged.offset + 60] = (bad[damaged.offset + 60] ?? 0) ^ 4;
  await store.put(name, bad);
  const others = new Set(frames.map(({ pack }) => pack));
  others.delete(damaged.pack);
  const { rewritten, refused } = await rewritePacks(env.vault, -1);
  assert.deepEqual([[...rewritten].sort(), refused], [[...others].sort(), [damaged.pack]]);
  assert.deepEqual(await catalog.damagedFrames(), [damaged.frame]);
  await store.put(name, whole);
  assert.deepEqual((await rewritePacks(env.vault, -1)).refused, []);
  const newest = (await listSnapshots(catalog)).at(-1);
  assert.ok(newest);
  const to = path.join(folder, "rewritten");
  assert.deepEqual((await env.restore(newest, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("a pack whose header or footer is damaged is written again: a rebuild would have lost its intact frames", async (t) => {
  const { env, store, from, folder, packs } = await prepare(t);
  const bench = { env, store, from, folder, packs };
  for (const [i, name] of packs.entries()) {
    const bad = Buffer.from(await store.get(name));
    const at = i % 2 === 0 ? 40 : bad.length - 40;
    bad[at] = (bad[at] ?? 0) ^ 1;
    await store.put(name, bad);
  }
  const damaged = packsToRewrite((await scrubbed(bench)).findings);
  assert.deepEqual(damaged.sort(), packs.map(short).sort());
  const { rewritten } = await rewritePacks(env.vault, 1, { damagedPacks: damaged });
  assert.deepEqual([...rewritten].sort(), damaged);
  assert.deepEqual((await scrubbed(bench)).findings, []);
  const report = await rebuild(env.vault);
  assert.deepEqual([report.refused, report.incomplete, report.lostFrames], [[], [], []]);
  const newest = (await listSnapshots(env.vault.catalog)).at(-1);
  assert.ok(newest);
  const to = path.join(folder, "rebuilt");
  assert.deepEqual((await env.restore(newest, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});
