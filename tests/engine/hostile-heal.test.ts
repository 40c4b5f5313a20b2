/** Heal with copies of blocks that a lying client has stored. A rebuild after it takes nothing from the snapshots of others. */

import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { mock } from "node:test";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import type { UploadTarget } from "../../packages/engine/src/backup/upload-target.ts";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { emptyBlockList, encodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { PackBuilder, sessionOfPack } from "../../packages/engine/src/format/pack.ts";
import { MetadataWriter } from "../../packages/engine/src/packing/metadata-writer.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  registeredWriter,
  scratch,
  seededBytes,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { keepPacks, pieces } from "../../packages/engine/src/testing/upload-target-client.ts";
import { heal } from "../../packages/engine/src/upkeep/heal.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { dataFrames } from "./testing/lying-client.ts";

type Test = { after(fn: () => void): void; readonly mock: { method: typeof mock.method } };

const files = 20;
/** Files that other clients have too. */
const shared = 5;

/** Data and metadata are in different packs. */
const settings = { packBytes: 30_000, unitBytes: 60_000 };

interface LostFrame {
  readonly env: TestEnvironment;
  /** All files, and those that other clients have too. */
  readonly from: string;
  readonly some: string;
  readonly honest: SnapshotRow;
  readonly frame: number;
  putBack(): void;
}

/** A snapshot whose files are all in one frame. Its pack is missing and marked. */
async function lostFrame(t: Test): Promise<LostFrame> {
  const folder = scratch(t);
  const [from, some] = [path.join(folder, "from"), path.join(folder, "some")];
  mkdirSync(from);
  mkdirSync(some);
  const bytes = seededBytes(31);
  for (let i = 0; i < files; i++) writeFileSync(path.join(from, `f${i + 10}`), bytes(4000));
  for (let i = 0; i < shared; i++) cpSync(path.join(from, `f${i + 10}`), path.join(some, `f${i + 10}`));
  settleTimes(from);
  settleTimes(some);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const { snapshot: honest } = await env.backup(from, { settings, owner: "honest" });
  const [row, ...more] = await dataFrames(env);
  assert.ok(row !== undefined && more.length === 0, "one data frame");
  const pack = env.vault.names.pack(row.pack);
  const stored = await store.get(pack);
  store.objects.delete(pack);
  await env.vault.catalog.setDamaged([row], true);
  env.ctx.advance(1000);
  return { env, from, some, honest, frame: row.frame, putBack: () => void store.objects.set(pack, stored) };
}

/** A client that stores a second version of its data frames, in a pack that it never registers and that is listed first. */
function storingTwice(env: TestEnvironment): UploadTarget {
  const target = new LocalTarget({
    access: env.vault,
    upload: "liar",
    owner: "liar",
    authority: env.vault.authority,
  });
  const packs = new Map<string, Buffer>();
  let name = 0;
  return {
    ...keepPacks(target, packs),
    register: async (unit) => {
      await target.register(unit);
      const [bytes] = packs.values();
      const pack = new PackBuilder("data", Buffer.alloc(16, name++), sessionOfPack(bytes ?? assert.fail("no pack")));
      const junk = Buffer.alloc(100, 5);
      for (const { frame } of unit.blockLists) pack.add("data", frame, 0, junk);
      const body = [pack.head, ...unit.blockLists.map(() => junk), pack.finish(liarOf(env))];
      await target.putPack(pack.name, pieces(Buffer.concat(body)));
    },
  };
}

const liarOf = ({ vault }: TestEnvironment) => registeredWriter(vault, 10);

async function backUpTwice({ env, some }: LostFrame): Promise<void> {
  const target = storingTwice(env);
  await env.backup(some, { settings, target, owner: "liar", signer: liarOf(env) });
}

/** The client registers right block lists and records empty ones. */
async function backUpWithFalseRecords(t: Test, { env, some }: LostFrame): Promise<void> {
  const { add } = MetadataWriter.prototype;
  const blockList = encodeBlockList(emptyBlockList);
  const mocked = t.mock.method(
    MetadataWriter.prototype,
    "add",
    function (this: MetadataWriter, ...[to, item]: Parameters<typeof add>) {
      return add.call(this, to, item.kind === "blockList" ? { ...item, blockList } : item);
    },
  );
  await env.backup(some, { settings, owner: "liar", signer: liarOf(env) });
  mocked.mock.restore();
}

/** Restores the honest snapshot. Returns how many files failed. The others are byte for byte the same. */
async function failuresOf(t: Test, { env, from, honest }: LostFrame): Promise<number> {
  const row = (await listSnapshots(env.vault.catalog)).find(({ id }) => id === honest.id);
  const to = path.join(scratch(t), "to");
  const { failures } = await env.restore(row ?? assert.fail("no row"), to);
  const expected = new Set(describeTree(from));
  const restored = describeTree(to).filter((line) => !line.endsWith("directory"));
  assert.deepEqual(
    restored.filter((line) => !expected.has(line)),
    [],
  );
  assert.equal(failures.length + restored.length, files);
  return failures.length;
}

const lies: Readonly<Record<string, (t: Test, lost: LostFrame) => Promise<void>>> = {
  "has stored a second version of its data": (_t, lost) => backUpTwice(lost),
  "has recorded false block lists": backUpWithFalseRecords,
};

for (const [lie, backUp] of Object.entries(lies))
  test(`healed recipes name no frame of a client that ${lie}: after a rebuild the returned pack has everything`, async (t) => {
    const lost = await lostFrame(t);
    const { env, frame } = lost;
    await backUp(t, lost);
    assert.deepEqual((await heal(env.vault)).stillDamaged, [frame]);
    lost.putBack();
    await rebuild(env.vault);
    assert.equal(await failuresOf(t, lost), 0);
  });

test("heal names the copy of another client, also if a liar's copy of the same block comes first", async (t) => {
  const lost = await lostFrame(t);
  const { env, some } = lost;
  await backUpTwice(lost);
  env.ctx.advance(1000);
  await env.backup(some, { settings, owner: "other" });
  await heal(env.vault);
  assert.equal(await failuresOf(t, lost), files - shared);
  await rebuild(env.vault);
  assert.equal(await failuresOf(t, lost), files - shared);
});

test("after prune has deleted the second version, heal uses what it doubled", async (t) => {
  const lost = await lostFrame(t);
  const { env } = lost;
  await backUpTwice(lost);
  await heal(env.vault);
  assert.ok((await prune(env.vault)).orphanPacks.length > 0);
  await heal(env.vault);
  assert.equal(await failuresOf(t, lost), files - shared);
  await rebuild(env.vault);
  assert.equal(await failuresOf(t, lost), files - shared);
});

test("a whole frame is healed from any right copy: it is written again, so a second version of the copy does not matter", async (t) => {
  const lost = await lostFrame(t);
  const { env, from, frame } = lost;
  await backUpTwice({ ...lost, some: from });
  assert.deepEqual((await heal(env.vault)).healed, [frame]);
  await rebuild(env.vault);
  assert.equal(await failuresOf(t, lost), 0);
});
