/** Clients that lie through the upload port. Nobody but the liar may lose anything, and upkeep must go on. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import type { ClientUnit, UploadTarget } from "../../packages/engine/src/backup/upload-target.ts";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { decodeBlockList, emptyBlockList, encodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { ByteWriter } from "../../packages/engine/src/format/bytes.ts";
import { sha256 } from "../../packages/engine/src/format/hash.ts";
import type { MetadataItem } from "../../packages/engine/src/format/metadata-items.ts";
import { PackBuilder, sessionOfPack } from "../../packages/engine/src/format/pack.ts";
import type { Run } from "../../packages/engine/src/format/recipe.ts";
import { decodeRecipe, encodeRecipe } from "../../packages/engine/src/format/recipe.ts";
import { startSession } from "../../packages/engine/src/format/session-header.ts";
import { FrameBuilder } from "../../packages/engine/src/packing/frame-builder.ts";
import { MetadataWriter } from "../../packages/engine/src/packing/metadata-writer.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { intercept } from "../../packages/engine/src/testing/target-doubles.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
} from "../../packages/engine/src/testing/test-environment.ts";
import { keepPacks, pieces } from "../../packages/engine/src/testing/upload-target-client.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { catalogs } from "./testing/chain-environment.ts";
import { dataFrames } from "./testing/lying-client.ts";

type Scope = { after(fn: () => void): void };

/** A folder with one file of seeded bytes. */
function folderOf(t: Scope, seed: number, bytes = 50_000): string {
  const folder = path.join(scratch(t), "from");
  mkdirSync(folder);
  writeFileSync(path.join(folder, "a"), seededBytes(seed)(bytes));
  settleTimes(folder);
  return folder;
}

function targetOf(env: TestEnvironment, upload: string, owner = "liar"): LocalTarget {
  return new LocalTarget({ access: env.vault, upload, owner, authority: env.vault.authority });
}

/** A target whose client changes its units. */
function lying(target: UploadTarget, change: (unit: ClientUnit) => ClientUnit): UploadTarget {
  return {
    ...intercept(
      () => target,
      (_name, call) => call(),
    ),
    register: (unit) => target.register(change(unit)),
  };
}

async function verifyAll({ vault }: TestEnvironment): Promise<void> {
  const snapshots = await listSnapshots(vault.catalog);
  await verifySnapshots({ pool: inlineRestorePool, vault, snapshots, readData: true });
}

async function assertRestores(t: Scope, env: TestEnvironment, { id }: SnapshotRow, from: string): Promise<void> {
  const row = (await listSnapshots(env.vault.catalog)).find((each) => each.id === id);
  const to = path.join(scratch(t), "to");
  assert.deepEqual((await env.restore(row ?? assert.fail("no row"), to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
}

/** The unit with other runs in the recipes of its segments. */
function withRuns({ items, ...unit }: ClientUnit, change: (run: Run & { kind: "stored" }) => Run): ClientUnit {
  const changed = items.map((item) => {
    const recipe = decodeRecipe(item.recipe).map((run) => (run.kind === "stored" ? change(run) : run));
    return item.kind === "segment" ? { ...item, recipe: encodeRecipe(recipe) } : item;
  });
  return { ...unit, items: changed };
}

/** The metadata frames that a unit names. */
function recordFramesOf({ items, blockLists }: ClientUnit): number[] {
  return [...new Set([...items, ...blockLists].map(({ recordFrame }) => recordFrame))];
}

for (const [kind, newCatalog] of Object.entries(catalogs)) {
  const open = () => openTestEnvironment(new MemoryStore(), { catalog: newCatalog(testContext(8)) });

  /** An upload of the liar that stays open. Another snapshot of the liar has its content, and a victim uses it. */
  const sharedContent = async (t: Scope) => {
    const env = await open();
    const from = folderOf(t, 5);
    const target = targetOf(env, "open");
    const units: ClientUnit[] = [];
    const packs = new Map<string, Buffer>();
    const stays: Partial<UploadTarget> = {
      complete: () => Promise.reject(new Error("stays open")),
      abandon: async () => {},
    };
    const keep = (unit: ClientUnit) => {
      units.push(unit);
      return unit;
    };
    const client = { ...keepPacks(lying(target, keep), packs), ...stays };
    await assert.rejects(env.backup(from, { target: client, owner: "liar" }), /stays open/);
    env.ctx.advance(1000);
    await env.backup(from, { owner: "liar" });
    await verifyAll(env);
    const items = await Array.fromAsync(env.vault.catalog.allItems());
    assert.ok(!items.some(({ verified }) => verified), "nothing is verified while its upload runs");
    await env.vault.catalog.setVerified(items.map(({ ordinal }) => ordinal));
    env.ctx.advance(1000);
    const { snapshot: victim } = await env.backup(from, { owner: "victim" });
    assert.ok(victim.storedBytes < 10_000, "the victim uses the liar's content");
    const [bytes] = packs.values();
    return { env, from, target, units, victim, header: sessionOfPack(bytes ?? assert.fail("no pack")) };
  };

  describe(`content that others use (${kind} catalog)`, () => {
    test("cannot be replaced by the client that stored it: items keep their ids and recipes", async (t) => {
      const { env, from, target, units, victim, header } = await sharedContent(t);
      const pack = new PackBuilder("data", Buffer.alloc(16, 7), header);
      await target.putPack(pack.name, pieces(Buffer.concat([pack.head, pack.finish(env.writer)])));
      const [first] = units;
      assert.ok(first !== undefined);
      const empty = { number: 50, packs: [pack.name], blockLists: [], hooks: [], follows: [] };
      const otherIds = first.items.map((item) => ({ ...item, id: Buffer.alloc(32, 1) }));
      await assert.rejects(target.register({ ...empty, items: otherIds }), { code: "conflict" });
      await assertRestores(t, env, victim, from);
    });

    test("cannot be replaced by the client that stored it: frames keep their packs", async (t) => {
      const { env, from, target, units, victim, header } = await sharedContent(t);
      const pack = new PackBuilder("data", Buffer.alloc(16, 7), header);
      const blockLists = units.flatMap((unit) => unit.blockLists);
      const junk = Buffer.alloc(100, 5);
      for (const { frame } of blockLists) pack.add("data", frame, 0, junk);
      const body = Buffer.concat([pack.head, ...blockLists.map(() => junk), pack.finish(env.writer)]);
      await target.putPack(pack.name, pieces(body));
      const unit = { number: 50, packs: [pack.name], blockLists, items: [], hooks: [], follows: [] };
      await assert.rejects(target.register(unit), { code: "conflict" });
      await assertRestores(t, env, victim, from);
    });
  });

  describe(`a second version of a client's frames, in packs that it never registers (${kind} catalog)`, () => {
    for (const [name, what] of Object.entries({ "00": "data", ff: "data", "01": "meta", fe: "meta" } as const))
      test(`others do not depend on what a rebuild takes: ${what}, listed ${name < "80" ? "first" : "last"}`, async (t) => {
        const env = await open();
        const from = folderOf(t, 5);
        const target = targetOf(env, "liar");
        const packs = new Map<string, Buffer>();
        const storesTwice: UploadTarget = {
          ...keepPacks(target, packs),
          register: async (unit) => {
            await target.register(unit);
            const [bytes] = packs.values();
            const pack = new PackBuilder(
              "data",
              Buffer.from(name.repeat(16), "hex"),
              sessionOfPack(bytes ?? Buffer.alloc(0)),
            );
            const frames = what === "data" ? unit.blockLists.map(({ frame }) => frame) : recordFramesOf(unit);
            for (const frame of frames) pack.add(what, frame, 0, Buffer.alloc(100, 5));
            const body = [pack.head, ...frames.map(() => Buffer.alloc(100, 5)), pack.finish(env.writer)];
            await target.putPack(pack.name, pieces(Buffer.concat(body)));
          },
        };
        await env.backup(from, { target: storesTwice, owner: "liar" });
        await verifyAll(env);
        await env.restore(
          (await listSnapshots(env.vault.catalog))[0] ?? assert.fail("no row"),
          path.join(scratch(t), "to"),
        );
        env.ctx.advance(1000);
        const { snapshot: victim } = await env.backup(from, { owner: "victim" });
        const { refused } = await rebuild(env.vault);
        assert.ok(refused.some(({ reason }) => /a second time in its session/.test(reason)));
        await assertRestores(t, env, victim, from);
        // The rebuild has taken one of them. Nobody depends on it either, and the other one is not deleted.
        await verifyAll(env);
        env.ctx.advance(1000);
        const { snapshot: other } = await env.backup(from, { owner: "other" });
        // It stops if the liar's own snapshot has lost its items.
        await prune(env.vault).catch((error: Error) => assert.equal(error.name, "IncompleteCatalogError"));
        const again = await rebuild(env.vault);
        assert.deepEqual(again.refused, refused);
        await assertRestores(t, env, other, from);
      });

    test("after prune has deleted it, what it doubled is verified and shared", async (t) => {
      const env = await open();
      const from = folderOf(t, 5);
      const target = targetOf(env, "liar");
      const packs = new Map<string, Buffer>();
      const { snapshot } = await env.backup(from, { target: keepPacks(target, packs), owner: "liar" });
      const [bytes] = packs.values();
      const pack = new PackBuilder("data", Buffer.alloc(16, 7), sessionOfPack(bytes ?? assert.fail("no pack")));
      await env.vault.store.put(env.vault.names.pack(pack.name), Buffer.concat([pack.head, pack.finish(env.writer)]));
      const verified = async () => {
        await verifyAll(env);
        await env.restore(snapshot, path.join(scratch(t), "to"));
        return (await Array.fromAsync(env.vault.catalog.allItems())).filter((item) => item.verified).length;
      };
      assert.equal(await verified(), 0);
      assert.deepEqual((await prune(env.vault)).orphanPacks, [pack.name]);
      assert.ok((await verified()) > 0);
    });

    test("cannot be stored by a request that ends after its upload", async (t) => {
      const env = await open();
      const packs = new Map<string, Buffer>();
      await env.backup(folderOf(t, 5), { target: keepPacks(targetOf(env, "first"), packs), owner: "liar" });
      const target = targetOf(env, "slow");
      const start = await target.begin(null);
      const { header } = startSession(env.ctx, env.vault.keys, env.writer, start);
      const pack = new PackBuilder("data", Buffer.alloc(16, 7), header);
      const slow = async function* () {
        yield pack.head;
        await target.abandon();
        yield pack.finish(env.writer);
      };
      await assert.rejects(target.putPack(pack.name, slow()), { code: "unknown_upload" });
      assert.equal(await env.vault.store.stat(env.vault.names.pack(pack.name)), null);
    });
  });

  describe(`recipes that name slots which do not exist (${kind} catalog)`, () => {
    test("are refused, and prune works for everybody", async (t) => {
      const env = await open();
      const from = folderOf(t, 1);
      const { snapshot } = await env.backup(from);
      const lies: ((run: Run & { kind: "stored" }) => Run)[] = [
        (run) => ({ ...run, slot: 2 ** 40 }),
        (run) => ({ ...run, slot: run.slot + 1 }),
        (run) => ({ ...run, bytes: run.bytes - 1 }),
        (run) => ({ ...run, slot: 1_000_000, count: 0, bytes: 10 }),
      ];
      for (const [i, lie] of lies.entries()) {
        const target = lying(targetOf(env, `liar ${i}`), (unit) => withRuns(unit, lie));
        const attempt = env.backup(folderOf(t, 20 + i), { target, owner: "liar" });
        await assert.rejects(attempt, { code: "not_closed" });
      }
      assert.equal((await listSnapshots(env.vault.catalog)).length, 1);
      await prune(env.vault);
      await assertRestores(t, env, snapshot, from);
    });

    test("are refused where upkeep has dropped the slots: prune would stop for all clients", async (t) => {
      const env = await open();
      const bytes = seededBytes(3);
      const files = Array.from({ length: 20 }, () => bytes(4000));
      const from = folderOf(t, 2);
      for (const [i, content] of files.entries()) writeFileSync(path.join(from, `f${i}`), content);
      settleTimes(from);
      const { snapshot: all } = await env.backup(from, { owner: "liar" });
      env.ctx.advance(1000);
      const { snapshot: few } = await env.backup(folderOf(t, 2), { owner: "liar" });
      await deleteSnapshot(env.vault, all.id);
      assert.ok((await rewritePacks(env.vault, 0.1)).rewritten.length > 0);
      const frames = [];
      for await (const row of env.vault.catalog.allFrames()) if (row.generation > 0) frames.push(row);
      const [rewritten] = frames.filter((row) => row.kind === "data");
      assert.ok(rewritten !== undefined, "a data frame was rewritten");
      const target = targetOf(env, "liar");
      const dropped = { kind: "stored", frame: rewritten.frame, slot: 15, count: 1, bytes: 4000 } as const;
      const client = lying(target, (unit) => ({
        ...unit,
        items: unit.items.map((item) =>
          item.kind === "segment" ? { ...item, recipe: encodeRecipe([...decodeRecipe(item.recipe), dropped]) } : item,
        ),
      }));
      env.ctx.advance(1000);
      const pinning: UploadTarget = {
        ...client,
        begin: async (base) => {
          const start = await client.begin(base);
          await env.vault.catalog.acquireFrames("liar", [rewritten.frame]);
          return start;
        },
      };
      const attempt = env.backup(folderOf(t, 30), { target: pinning, owner: "liar" });
      await assert.rejects(attempt, { code: "not_closed" });
      await prune(env.vault);
      assert.equal((await listSnapshots(env.vault.catalog))[0]?.id, few.id);
    });
  });
}

test("a unit that has a pack, a frame or an ordinal twice is refused", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const lies: ((unit: ClientUnit) => ClientUnit)[] = [
    (unit) => ({ ...unit, packs: [...unit.packs, ...unit.packs] }),
    (unit) => ({ ...unit, items: [...unit.items, ...unit.items] }),
    (unit) => ({ ...unit, packs: Array.from({ length: 2000 }, (_, i) => i.toString(16).padStart(32, "0")) }),
  ];
  for (const [i, lie] of lies.entries()) {
    const attempt = env.backup(folderOf(t, 40 + i), { target: lying(targetOf(env, `u${i}`), lie), owner: "liar" });
    await assert.rejects(attempt, { name: "FormatError", message: /twice|too many packs/ });
  }
  const target = targetOf(env, "twice");
  const start = await target.begin(null);
  const { header } = startSession(env.ctx, env.vault.keys, env.writer, start);
  const names: string[] = [];
  for (const id of [1, 2]) {
    const pack = new PackBuilder("data", Buffer.alloc(16, id), header);
    pack.add("meta", header.session * 2 ** 24 + 1, 0, Buffer.alloc(50));
    await target.putPack(pack.name, pieces(Buffer.concat([pack.head, Buffer.alloc(50), pack.finish(env.writer)])));
    names.push(pack.name);
  }
  const unit = { number: 1, packs: names, blockLists: [], items: [], hooks: [], follows: [] };
  await assert.rejects(target.register(unit), /a frame twice/);
  await target.register({ ...unit, packs: names.slice(0, 1) });
});

test("a client stores no pack of another session, also if it has the keys of that session", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const packs = new Map<string, Buffer>();
  const first = keepPacks(targetOf(env, "first"), packs);
  await env.backup(folderOf(t, 50), { target: first, owner: "liar" });
  const [bytes] = packs.values();
  const header = sessionOfPack(bytes ?? assert.fail("no pack"));
  const target = targetOf(env, "second");
  const start = await target.begin(null);
  const ended = new PackBuilder("data", Buffer.alloc(16), header);
  const later = startSession(env.ctx, env.vault.keys, env.writer, { session: 2 ** 28, nonce: 1 }).header;
  const guessed = startSession(env.ctx, env.vault.keys, env.writer, { ...start, nonce: start.nonce + 1 }).header;
  for (const pack of [ended, ...[later, guessed].map((each) => new PackBuilder("data", Buffer.alloc(16, 9), each))]) {
    const body = Buffer.concat([pack.head, pack.finish(env.writer)]);
    await assert.rejects(target.putPack(pack.name, pieces(body)), /does not belong to the upload/);
    assert.equal(await env.vault.store.stat(env.vault.names.pack(pack.name)), null);
  }
  await assert.rejects(target.putPack("00".repeat(16), pieces(Buffer.alloc(10))), /too short/);
});

test("a pack whose session header has a wrong signature is refused by the gate and by a rebuild, also if its footer is signed", async () => {
  const env = await openTestEnvironment(new MemoryStore());
  const target = targetOf(env, "liar");
  const { header } = startSession(env.ctx, env.vault.keys, env.writer, await target.begin(null));
  const forged = Buffer.from(header.bytes);
  forged.writeUInt8(forged.readUInt8(forged.length - 1) ^ 1, forged.length - 1);
  const pack = new PackBuilder("data", Buffer.alloc(16, 6), { ...header, bytes: forged });
  await target.putPack(pack.name, pieces(Buffer.concat([pack.head, pack.finish(env.writer)])));
  const unit = { number: 1, packs: [pack.name], blockLists: [], items: [], hooks: [], follows: [] };
  await assert.rejects(target.register(unit), /a session header's signature is wrong/);
  const { refused, packs } = await rebuild(env.vault);
  assert.deepEqual([refused.map(({ reason }) => reason), packs], [["a session header's signature is wrong"], 0]);
});

test("one request reserves no more ordinals than a client needs: they are one bit each in every bitmap", async () => {
  const env = await openTestEnvironment(new MemoryStore());
  const target = targetOf(env, "liar");
  await target.begin(null);
  await target.reserveOrdinals(1, 4096);
  await assert.rejects(target.reserveOrdinals(2, 4097), { name: "FormatError" });
});

test("a pack whose footer has an impossible frame number stops neither prune nor rebuild", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const from = folderOf(t, 60);
  const { snapshot } = await env.backup(from);
  const target = targetOf(env, "liar");
  const start = await target.begin(null);
  const { header } = startSession(env.ctx, env.vault.keys, env.writer, start);
  const pack = new PackBuilder("data", Buffer.alloc(16, 6), header);
  pack.add("meta", header.session * 2 ** 24 + 1, 0, Buffer.alloc(50));
  // A session has 2^24 frames. The number is in the footer as session and count.
  const [frame] = pack.frames;
  assert.ok(frame !== undefined);
  const footer = new ByteWriter(200)
    .varint(1)
    .raw(frame.frameId)
    .varint(50)
    .u8(1)
    .varint(1)
    .varint(2 ** 24)
    .varint(0);
  const signed = Buffer.concat([sha256(pack.head), footer.view()]);
  const tail = footer.raw(env.writer.sign("pack", signed)).u32(footer.length).raw(Buffer.from("EMANETPE"));
  await target.putPack(pack.name, pieces(Buffer.concat([pack.head, Buffer.alloc(50), tail.view()])));
  await target.abandon();
  assert.equal((await prune(env.vault)).unknownPacks.length, 1);
  assert.equal((await rebuild(env.vault)).refused.length, 1);
  await assertRestores(t, env, snapshot, from);
});

/** A snapshot of the liar, and one of a victim that would use its content if it were verified. */
async function storedBytesOfVictim(t: Scope, env: TestEnvironment, from: string): Promise<number> {
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from, { owner: "victim" });
  await assertRestores(t, env, snapshot, from);
  return snapshot.storedBytes;
}

test("a restore verifies no segment of a frame that has a false block beside it", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const from = folderOf(t, 61);
  const { snapshot } = await env.backup(from, { owner: "liar" });
  const [row] = await dataFrames(env);
  assert.ok(row !== undefined);
  // Another slot, which no segment of the snapshot needs: its id is that of a victim's block, its bytes are not.
  const { ids, lengths } = decodeBlockList(row.blockList);
  const more = { ids: Buffer.concat([ids, Buffer.alloc(16, 7)]), lengths: Uint32Array.from([...lengths, 4000]) };
  const nothing = { packs: [], header: Buffer.alloc(0), items: [], hooks: [], follows: [] };
  await env.vault.catalog.addRebuilt({ unit: { ...nothing, frames: [{ ...row, blockList: encodeBlockList(more) }] } });
  const { failures } = await env.restore(snapshot, path.join(scratch(t), "to"));
  assert.deepEqual(failures, []);
  for await (const item of env.vault.catalog.allItems()) assert.equal(item.kind === "segment" && item.verified, false);
  assert.ok((await storedBytesOfVictim(t, env, from)) > 40_000, "stored again");
});

test("content is verified only if its records are right: others would lose it with the catalog", async (t) => {
  const { add } = MetadataWriter.prototype;
  const lies: ((item: MetadataItem) => MetadataItem)[] = [
    (item) => (item.kind === "segment" ? { ...item, id: Buffer.alloc(32, 1) } : item),
    (item) => (item.kind === "segment" ? { ...item, recipe: encodeRecipe([]) } : item),
    (item) => (item.kind === "segment" ? { ...item, ordinal: item.ordinal + 1 } : item),
    (item) => (item.kind === "blockList" ? { ...item, blockList: encodeBlockList(emptyBlockList) } : item),
    (item) => (item.kind === "node" ? { ...item, id: Buffer.alloc(32, 1) } : item),
  ];
  for (const [i, lie] of lies.entries()) {
    const env = await openTestEnvironment(new MemoryStore());
    const from = folderOf(t, 70 + i);
    const mocked = t.mock.method(
      MetadataWriter.prototype,
      "add",
      function (this: MetadataWriter, ...args: Parameters<typeof add>) {
        return add.call(this, args[0], lie(args[1]));
      },
    );
    const { snapshot } = await env.backup(from, { owner: "liar" });
    mocked.mock.restore();
    if (i < 4) await env.restore(snapshot, path.join(scratch(t), "to"));
    await verifyAll(env);
    const stored = await storedBytesOfVictim(t, env, from);
    assert.ok(i === 4 || stored > 40_000, `lie ${i}: ${stored} bytes stored`);
    await rebuild(env.vault);
    const victim = (await listSnapshots(env.vault.catalog)).find(({ id }) => id !== snapshot.id);
    await assertRestores(t, env, victim ?? assert.fail("no snapshot"), from);
  }
});

test("a restore verifies no segment of a frame whose client has sealed a false block beside it, with right ids and records", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const from = scratch(t);
  const [kept, other] = [seededBytes(81)(300_000), seededBytes(82)(300_000)];
  for (const [name, bytes] of Object.entries({ kept, other })) writeFileSync(path.join(from, name), bytes);
  settleTimes(from);
  const { append } = FrameBuilder.prototype;
  const end = Buffer.from(other.subarray(-16));
  const mocked = t.mock.method(
    FrameBuilder.prototype,
    "append",
    function (this: FrameBuilder, ...[to, portion]: Parameters<typeof append>) {
      const at = Buffer.from(portion.bytes.buffer, portion.bytes.byteOffset, portion.bytes.length).indexOf(end);
      if (at >= 0) portion.bytes.fill(0, at, at + end.length);
      append.call(this, to, portion);
      if (at >= 0) portion.bytes.set(end, at);
    },
  );
  const { snapshot: both } = await env.backup(from, { owner: "liar" });
  mocked.mock.restore();
  assert.equal((await dataFrames(env)).length, 1, "both files are in one frame");
  rmSync(path.join(from, "other"));
  settleTimes(from);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from, { owner: "liar" });
  assert.deepEqual((await env.restore(snapshot, path.join(scratch(t), "to"))).failures, []);
  for await (const item of env.vault.catalog.allItems()) assert.equal(item.kind === "segment" && item.verified, false);
  const { failures } = await env.restore(both, path.join(scratch(t), "both"));
  assert.notEqual(failures.length, 0, "the false block is there");
  writeFileSync(path.join(from, "other"), other);
  settleTimes(from);
  assert.ok((await storedBytesOfVictim(t, env, from)) > 300_000, "stored again");
});
