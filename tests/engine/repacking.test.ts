import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { TestContext } from "node:test";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { appendToChain, chainWriter } from "../../packages/engine/src/catalog/vault-chain.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { frameNumber, sessionOfFrame } from "../../packages/engine/src/format/frame.ts";
import { decodeRecipe, encodeRecipe } from "../../packages/engine/src/format/recipe.ts";
import { noRetention } from "../../packages/engine/src/format/snapshot.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import { allFrameRows, listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { agedDump } from "./testing/aged-dump.ts";
import { dump, pageBytes } from "./testing/dump.ts";

test("repack gathers scattered segments: fewer frames are read, and the same bytes are restored", async (t) => {
  const { folder, from, env, newest } = await agedDump(t, 4);
  const report = await repack(env.vault);
  assert.ok(report.segments > 0);
  assert.equal((await repack(env.vault)).segments, 0);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(newest, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("a restore during which repack and prune run restores everything", async (t) => {
  const { folder, from, env, newest, vault, moved } = await overtakenDump(t);
  const to = path.join(folder, "to");
  const { failures, damagedFrames } = await env.restore(newest, to, { port: new LocalReadPort(vault) });
  assert.deepEqual([failures, damagedFrames], [[], []]);
  assert.ok(moved() > 0, "segments were repacked meanwhile");
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("a verification during which repack and prune run checks again and has no finding", async (t) => {
  const { newest, vault, moved } = await overtakenDump(t);
  const report = await verifySnapshots({ pool: inlineRestorePool, vault, snapshots: [newest], readData: true });
  assert.ok(moved() > 0, "segments were repacked meanwhile");
  assert.deepEqual([report.findings, report.damagedFrames], [[], []]);
});

/** A dump of many backups, and a vault in which frames move after a window was planned. */
async function overtakenDump(t: TestContext) {
  const { folder, from, env, newest } = await agedDump(t, 5);
  const { store } = env.vault;
  const older = (await listSnapshots(env.vault.catalog)).filter(({ id }) => id !== newest.id);
  let moved = 0;
  const overtaken = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "get") return value.bind(target) as unknown;
      return async (...args: unknown[]) => {
        // The window is planned before the first data frame is read.
        const isData = String(args[0]).includes("/packs/") && planned;
        if (isData && moved === 0) {
          moved = 1;
          for (const { id } of older) await deleteSnapshot(env.vault, id);
          moved = (await repack(env.vault)).segments;
          await prune(env.vault);
        }
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  let planned = false;
  const catalog = new Proxy(env.vault.catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        // Only the planner asks for many frames at once.
        if (name === "frames" && (args[0] as unknown[]).length > 1) planned = true;
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return { folder, from, env, newest, vault: { ...env.vault, store: overtaken, catalog }, moved: () => moved };
}

test("a segment that another run has repacked since the plan is not repacked again", async (t) => {
  const { env } = await agedDump(t, 4);
  // An upload pins all frames, so the old recipe can still be read.
  const frames: number[] = [];
  for await (const { frame } of allFrameRows(env.vault.catalog)) frames.push(frame);
  const holder = { upload: "holder", owner: "holder", leaseUntil: Number.MAX_SAFE_INTEGER, base: null };
  await env.vault.catalog.beginUpload(holder);
  await env.vault.catalog.acquireFrames(holder.upload, frames);
  let other = 0;
  const catalog = new Proxy(env.vault.catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        // Frames are pinned after the plan.
        if (name === "acquireFrames" && other === 0) {
          other = 1;
          other = (await repack(env.vault)).segments;
        }
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const streams = {
    allItems: () => env.vault.catalog.allItems(),
    allFrames: () => env.vault.catalog.allFrames(),
    allPacks: () => env.vault.catalog.allPacks(),
    allReach: () => env.vault.catalog.allReach(),
  };
  const overtaken = new Proxy(catalog, {
    get: (target, name) => Reflect.get(name in streams ? streams : target, name) as unknown,
  });
  assert.equal((await repack({ ...env.vault, catalog: overtaken })).segments, 0);
  assert.ok(other > 0, "the other run repacked them");
});

test("segments with blocks in frames that are marked as damaged are left as they are, for heal", async (t) => {
  const { env } = await agedDump(t, 4);
  const { catalog } = env.vault;
  const frames = (await Array.fromAsync(catalog.allFrames())).filter(({ kind }) => kind === "data");
  await catalog.setDamaged(frames, true);
  assert.equal((await repack(env.vault)).segments, 0);
  await catalog.setDamaged(frames, false);
  assert.ok((await repack(env.vault)).segments > 0);
});

test("a frame that another run moves while its pack is rewritten stays there; the other frames of the pack move", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const bytes = dump(new SeededRandom(41), 400);
  writeFileSync(path.join(from, "a.bak"), bytes);
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot: old } = await env.backup(from);
  for (let page = 0; page < 400; page++)
    if (page % 2 === 0) new SeededRandom(page).bytes(600).copy(bytes, page * pageBytes + 96);
  writeFileSync(path.join(from, "a.bak"), bytes);
  settleTimes(from);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from);
  await deleteSnapshot(env.vault, old.id);
  const { catalog, store, names } = env.vault;
  const [first] = await catalog.frames([frameNumber(old.session, 1)]);
  assert.ok(first);
  const copy = "cd".repeat(16);
  const healed = new Proxy(catalog, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "beginUpload") return value.bind(target);
      return async (...args: unknown[]) => {
        // Like heal does: the same frame in another pack.
        const row = { pack: copy, session: old.session, size: 1, state: "live" } as const;
        const unit = { packs: [row], header: Buffer.alloc(0), items: [], hooks: [], follows: [] };
        await store.put(names.pack(copy), await store.get(names.pack(first.pack)));
        if ((await catalog.frames([first.frame]))[0]?.pack === first.pack)
          await catalog.addRebuilt({ unit: { ...unit, frames: [{ ...first, pack: copy }] } });
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const { rewritten, refused } = await rewritePacks({ ...env.vault, catalog: healed }, 0.2);
  assert.deepEqual([rewritten, refused], [[first.pack], []]);
  assert.equal((await catalog.frames([first.frame]))[0]?.pack, copy);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("after repack a restore opens no frame of which it needs less than half, and few bytes were stored for that", async (t) => {
  const pages = 600;
  // Most changes are in the newest pages, as in the database of an accounting program.
  const pick = (random: SeededRandom) => (random.chance(60) ? pages - 1 - random.below(100) : random.below(pages));
  const { folder, from, env, newest } = await agedDump(t, 6, { pages, nights: 12, changes: 20, pick });
  const before = await opened(env, newest);
  assert.ok(Math.min(...before.shares) < 0.3, "a restore needs little of some frames");
  const { segments } = await repack(env.vault);
  const after = await opened(env, newest);
  assert.ok(segments > 0 && after.shares.length < before.shares.length);
  assert.ok(Math.min(...after.shares) >= 0.5, `${Math.min(...after.shares)} of a frame is needed`);
  assert.ok(after.newBytes < pages * pageBytes * 0.4, `${after.newBytes} bytes were copied`);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(newest, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
  // A rebuilt catalog has the same result, and all older snapshots restore.
  assert.deepEqual((await rebuild(env.vault)).refused, []);
  for (const [i, row] of (await listSnapshots(env.vault.catalog)).entries())
    assert.deepEqual((await env.restore(row, path.join(folder, String(i)))).failures, []);
});

test("blocks that many segments share are not moved, in however many frames they are", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const sheets: string[] = [];
  const invoice = (name: string, issuer: number) =>
    writeFileSync(path.join(from, name), `<Invoice><ID>${name}</ID><Sheet>${sheets[issuer]}</Sheet></Invoice>`);
  const env = await openTestEnvironment(new MemoryStore());
  for (let night = 0; night < 24; night++) {
    // A new issuer in every backup. In the end one folder has invoices of all of them.
    sheets.push(new SeededRandom(200 + night).bytes(20_000).toString("base64"));
    for (let i = 0; i < 3; i++) invoice(`${night}-${i}.xml`, night);
    if (night === 23) for (const issuer of sheets.keys()) invoice(`z-${issuer}.xml`, issuer);
    settleTimes(from);
    await env.backup(from);
    env.ctx.advance(1000);
  }
  const newest = (await listSnapshots(env.vault.catalog)).at(-1);
  assert.ok(newest);
  assert.ok((await opened(env, newest)).mostFrames > 8, "a segment reads from many frames");
  await repack(env.vault);
  const { newBytes } = await opened(env, newest);
  assert.ok(newBytes < sheets.join("").length / 4, `${newBytes} bytes were copied`);
});

test("sources that share frames are repacked together: a second run has nothing to do", async (t) => {
  const folder = scratch(t);
  const env = await openTestEnvironment(new MemoryStore());
  const random = new SeededRandom(7);
  const bytes = dump(random, 300);
  // The second source has a part of the files of the first. It needs little of the frames that both need.
  const sources = [
    { name: "one", from: path.join(folder, "one"), pages: 300 },
    { name: "two", from: path.join(folder, "two"), pages: 75 },
  ];
  for (const { from } of sources) mkdirSync(from);
  for (let night = 0; night < 10; night++) {
    for (let i = 0; i < 20; i++) random.bytes(300).copy(bytes, random.below(300) * pageBytes + 200);
    for (const { name, from, pages } of sources) {
      writeFileSync(path.join(from, "db.bak"), bytes.subarray(0, pages * pageBytes));
      settleTimes(from);
      await env.backup(from, { sourceName: name });
      env.ctx.advance(1000);
    }
  }
  assert.ok((await repack(env.vault)).segments > 0);
  assert.equal((await repack(env.vault)).segments, 0);
  for (const { name, from } of sources) {
    const newest = (await listSnapshots(env.vault.catalog)).filter(({ source }) => source === name).at(-1);
    assert.ok(newest);
    const to = path.join(folder, `to ${name}`);
    assert.deepEqual((await env.restore(newest, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
  }
});

test("after a rebuild a segment is verified only if upkeep has moved all of it; otherwise it belongs to its writer, unverified", async (t) => {
  const { env, newest } = await agedDump(t, 8);
  await repack(env.vault);
  await rebuild(env.vault);
  const found = { moved: 0, mixed: 0 };
  for (const item of await env.vault.catalog.itemsByOrdinal([...Bitmap.decode(newest.reach)])) {
    if (item?.kind !== "segment") continue;
    const sessions = decodeRecipe(item.recipe).flatMap((run) =>
      run.kind === "stored" ? [sessionOfFrame(run.frame)] : [],
    );
    const isMoved = sessions.every((session) => session > newest.session);
    const isMixed = !isMoved && sessions.some((session) => session > newest.session);
    assert.equal(item.verified, isMoved);
    if (!isMoved) assert.equal(item.owner, hex(env.writer.id));
    found.moved += isMoved ? 1 : 0;
    found.mixed += isMixed ? 1 : 0;
  }
  assert.ok(found.mixed > 0, JSON.stringify(found));
});

test("repack does not bring back dropped slots of packs that are deleted or rewritten meanwhile", async (t) => {
  const { folder, from, env } = await agedDump(t, 9);
  const file = path.join(from, "db.bak");
  const before = readFileSync(file);
  const { catalog: real } = env.vault;
  let overtaken = false;
  const overtake = async () => {
    const random = new SeededRandom(90);
    const bytes = Buffer.from(before);
    for (let page = 0; page < 300; page++) if (random.chance(25)) random.bytes(300).copy(bytes, page * pageBytes + 200);
    writeFileSync(file, bytes);
    settleTimes(from);
    const { snapshot } = await env.backup(from);
    env.ctx.advance(1000);
    for (const { id } of await listSnapshots(real)) if (id !== snapshot.id) await deleteSnapshot(env.vault, id);
    const { rewrittenPacks } = await repack(env.vault);
    const { rewritten } = await rewritePacks(env.vault, 0.01);
    assert.ok(rewrittenPacks.length + rewritten.length > 0, "slots were dropped meanwhile");
  };
  const catalog = new Proxy(real, {
    get(target, name: keyof typeof real) {
      if (name !== "acquireFrames")
        return typeof target[name] === "function" ? target[name].bind(target) : target[name];
      return async (...args: Parameters<typeof real.acquireFrames>) => {
        if (!overtaken) {
          overtaken = true;
          await overtake();
        }
        return target.acquireFrames(...args);
      };
    },
  });
  await repack({ ...env.vault, catalog });
  assert.ok(overtaken);
  for (const bytes of [readFileSync(file), before]) {
    writeFileSync(file, bytes);
    settleTimes(from);
    const { snapshot } = await env.backup(from);
    env.ctx.advance(1000);
    const to = path.join(folder, snapshot.id);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
  }
});

test("a recipe that names slots which its frame does not have is left alone and stops nothing", async (t) => {
  const { env, newest } = await agedDump(t, 10);
  const { catalog } = env.vault;
  const own = (await catalog.itemsByOrdinal([...Bitmap.decode(newest.reach)])).find((item) => item?.kind === "segment");
  const [run] = decodeRecipe(own?.recipe ?? new Uint8Array(0));
  assert.ok(own && run?.kind === "stored");
  const recipe = encodeRecipe([
    { kind: "stored", frame: run.frame, slot: 0, count: 1, bytes: pageBytes },
    { kind: "stored", frame: run.frame, slot: 5000, count: 3, bytes: 3 * pageBytes },
  ]);
  const ordinal = await catalog.reserveOrdinals(1);
  await catalog.beginUpload({ upload: "liar", owner: "liar", leaseUntil: env.ctx.now() + 1000, base: null });
  await catalog.acquireFrames("liar", [run.frame, own.recordFrame]);
  const lie = { ...own, ordinal, id: Buffer.alloc(32, 9), recipe, owner: "liar", verified: false };
  const unit = { packs: [], header: new Uint8Array(0), frames: [], items: [lie], hooks: [], follows: [] };
  await catalog.addUnit("liar", env.ctx.now(), unit);
  const reach = new Bitmap();
  reach.add(ordinal);
  const id = "ab".repeat(16);
  const entry = { kind: "completed", snapshot: id, manifestHash: Buffer.alloc(32), retention: noRetention } as const;
  const changes = await appendToChain(chainWriter(env.vault, env.vault.authority), () => entry);
  const row = { ...newest, id, source: "liar", changes, reach: reach.encode() };
  await catalog.commit("liar", env.ctx.now(), row);
  assert.ok((await repack(env.vault)).segments > 0);
  const [after] = await catalog.itemsByOrdinal([ordinal]);
  assert.ok(Buffer.from(after?.recipe ?? []).equals(lie.recipe));
});

/** What a restore opens: which share of each frame it needs, and the largest number of frames of one segment. */
async function opened(
  env: TestEnvironment,
  snapshot: SnapshotRow,
): Promise<{ readonly shares: readonly number[]; readonly mostFrames: number; readonly newBytes: number }> {
  const needed = new Map<number, Set<number>>();
  let mostFrames = 0;
  for (const item of await env.vault.catalog.itemsByOrdinal([...Bitmap.decode(snapshot.reach)])) {
    if (item?.kind !== "segment") continue;
    const frames = new Set<number>();
    for (const run of decodeRecipe(item.recipe)) {
      if (run.kind !== "stored") continue;
      const slots = needed.get(run.frame) ?? new Set();
      for (let i = 0; i < run.count; i++) slots.add(run.slot + i);
      needed.set(run.frame, slots);
      frames.add(run.frame);
    }
    mostFrames = Math.max(mostFrames, frames.size);
  }
  const shares: number[] = [];
  let newBytes = 0;
  for (const row of await env.vault.catalog.frames([...needed.keys()])) {
    if (row === null) continue;
    const { lengths } = decodeBlockList(row.blockList);
    shares.push((needed.get(row.frame)?.size ?? 0) / lengths.length);
    if (row.session > snapshot.session) newBytes += lengths.reduce((sum, length) => sum + length, 0);
  }
  return { shares, mostFrames, newBytes };
}
