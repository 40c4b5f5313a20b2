/** Which blocks a restore hashes and compares with their ids (docs/decisions/0119). */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { FrameRow } from "../../packages/engine/src/catalog/catalog.ts";
import { allFrameRows } from "../../packages/engine/src/testing/catalog-content.ts";
import { sealFalseFrames } from "../../packages/engine/src/testing/false-frames.ts";
import {
  describeTree,
  openTestEnvironment,
  registeredWriter,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

/** More than what is always hashed. Incompressible, so that a frame that is encrypted again has the same length. */
const fileBytes = 3 * 1024 * 1024;

/** Backs up three files. `lie` then encrypts every data frame again with one changed byte, as a lying writer could. */
async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 51), Buffer.alloc(16));
  for (const name of ["a", "b", "c"]) writeFileSync(path.join(from, name), noise.update(Buffer.alloc(fileBytes)));
  settleTimes(from);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const { snapshot } = await env.backup(from);
  const lie = () => sealFalseFrames(env.vault);
  return { folder, from, env, store, snapshot, lie };
}

test("a restore hashes content that is not verified, and names a bit that flipped before sealing", async (t) => {
  const { folder, env, snapshot, lie } = await prepare(t);
  await lie();
  const { failures, damagedFrames } = await env.restore(snapshot, path.join(folder, "to"));
  assert.equal(failures.length, 3);
  assert.ok(damagedFrames.length > 0);
  for (const { kind, reason, pack } of failures) {
    assert.deepEqual([kind, pack === null], ["damage", false]);
    assert.match(reason, /does not match its id/);
  }
});

test("what another writer sealed is hashed too, also where the snapshot added nothing itself", async (t) => {
  const { folder, from, env, lie } = await prepare(t);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from, { signer: registeredWriter(env.vault, 61) });
  assert.ok(snapshot.storedBytes < fileBytes, "the other writer's snapshot uses the first one's frames");
  await lie();
  assert.equal((await env.restore(snapshot, path.join(folder, "to"))).failures.length, 3);
});

test("a whole restore verifies what it has read: the next one need not hash it, unless it is asked to", async (t) => {
  const { folder, from, env, snapshot, lie } = await prepare(t);
  const first = path.join(folder, "first");
  assert.deepEqual((await env.restore(snapshot, first)).failures, []);
  assert.deepEqual(describeTree(first), describeTree(from));
  for await (const item of env.vault.catalog.allItems())
    assert.equal(item.verified, item.kind === "segment", `${item.kind} ${item.ordinal}`);
  // From here on a change of the frames is not a bit that flipped: it shows what is hashed and what is not.
  await lie();
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "second"))).failures, []);
  assert.equal((await env.restore(snapshot, path.join(folder, "all"), { hashAll: true })).failures.length, 3);
});

test("a restore of one file verifies its segments and no others; a file that failed verifies nothing", async (t) => {
  const { folder, env, snapshot, lie } = await prepare(t);
  const verified = async () => {
    let count = 0;
    for await (const item of env.vault.catalog.allItems()) count += item.verified ? 1 : 0;
    return count;
  };
  await env.restore(snapshot, path.join(folder, "one"), { paths: [Buffer.from("b")] });
  const some = await verified();
  assert.ok(some > 0);
  await lie();
  const { failures } = await env.restore(snapshot, path.join(folder, "all"));
  // A frame that also holds blocks of the others is hashed as a whole.
  assert.ok(failures.length >= 2, "the two that were not verified");
  assert.equal(await verified(), some);
});

test("a frame in the place of another fails by its header, a changed byte by decryption; both failures name the pack", async (t) => {
  const { folder, env, store, snapshot } = await prepare(t);
  const rows: FrameRow[] = [];
  for await (const row of allFrameRows(env.vault.catalog)) if (row.kind === "data") rows.push(row);
  const [first, second] = rows;
  assert.ok(first && second);
  const name = env.vault.names.pack(first.pack);
  const good = Buffer.from(await store.get(name));
  const frame = good.subarray(first.offset, first.offset + first.length);
  const cases: [RegExp, (pack: Buffer) => void][] = [
    [
      /another frame/,
      (pack) => pack.fill(0).set(good.subarray(second.offset, second.offset + second.length), first.offset),
    ],
    [/does not decrypt/, (pack) => pack.writeUInt8(frame.readUInt8(100) ^ 1, first.offset + 100)],
    [
      /does not decrypt/,
      (pack) => pack.writeUInt8(frame.readUInt8(first.length - 1) ^ 128, first.offset + first.length - 1),
    ],
  ];
  assert.equal(second.pack, first.pack);
  for (const [i, [reason, damage]] of cases.entries()) {
    const pack = Buffer.from(good);
    damage(pack);
    await store.put(name, pack);
    const { failures } = await env.restore(snapshot, path.join(folder, `to${i}`));
    assert.ok(failures.length > 0);
    assert.ok(
      failures.some((failure) => reason.test(failure.reason)),
      failures.map((failure) => failure.reason).join("; "),
    );
    for (const failure of failures) assert.equal(failure.pack, first.pack);
  }
});
