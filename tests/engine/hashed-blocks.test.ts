/** Which blocks a restore hashes and compares with their ids (docs/decisions/0119). */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { FrameRow } from "../../packages/engine/src/catalog/catalog.ts";
import { parseDataFrame } from "../../packages/engine/src/format/data-frame.ts";
import { openFrame, readFrameHeader, sealFrame } from "../../packages/engine/src/format/frame.ts";
import {
  openContentKey,
  parseSessionHeader,
  sessionBinding,
  workerKey,
} from "../../packages/engine/src/format/session-header.ts";
import { signerFromSeed } from "../../packages/engine/src/format/signing.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { registerWriter } from "../../packages/engine/src/vault.ts";

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
  const lie = async () => {
    for await (const row of env.vault.catalog.allFrames())
      if (row.kind === "data") await replaceByFalseFrame(env, store, row);
  };
  return { folder, from, env, store, snapshot, lie };
}

async function replaceByFalseFrame(env: TestEnvironment, store: MemoryStore, row: FrameRow): Promise<void> {
  const name = env.vault.names.pack(row.pack);
  const pack = Buffer.from(await store.get(name));
  const sealed = pack.subarray(row.offset, row.offset + row.length);
  const header = readFrameHeader(sealed);
  const session = parseSessionHeader((await env.vault.catalog.session(row.session))?.header ?? Buffer.alloc(0));
  const key = workerKey(openContentKey(env.vault.keys.privateSeed, session), header.worker);
  const binding = sessionBinding(session);
  const plain = openFrame(sealed, key, binding);
  assert.ok(parseDataFrame(plain).blocks.length > 0);
  plain[0] = (plain[0] ?? 0) ^ 1;
  const again = sealFrame({ ...header, key, binding }, plain, header.codec === 0 ? "none" : "fast");
  assert.equal(again.length, row.length);
  pack.set(again, row.offset);
  await store.put(name, pack);
}

test("frames of the snapshot's own writer are not hashed, except when everything is to be hashed", async (t) => {
  const { folder, from, env, snapshot, lie } = await prepare(t);
  await lie();
  const plain = path.join(folder, "plain");
  assert.deepEqual((await env.restore(snapshot, plain)).failures, []);
  assert.notDeepEqual(describeTree(plain), describeTree(from));
  const { failures, damagedFrames } = await env.restore(snapshot, path.join(folder, "proved"), { hashAll: true });
  assert.equal(failures.length, 3);
  assert.ok(damagedFrames.length > 0);
  for (const { kind, reason, pack } of failures) {
    assert.deepEqual([kind, pack === null], ["damage", false]);
    assert.match(reason, /does not match its id/);
  }
});

test("a small restore hashes every block, whichever writer stored it", async (t) => {
  const { folder, env, snapshot, lie } = await prepare(t);
  await lie();
  const { failures } = await env.restore(snapshot, path.join(folder, "one"), { paths: [Buffer.from("b")] });
  assert.equal(failures.length, 1);
});

test("frames of another writer are hashed until they are verified, also if the snapshot stored nothing itself", async (t) => {
  const { folder, from, env, lie } = await prepare(t);
  const other = signerFromSeed(Buffer.alloc(32, 61));
  await registerWriter(env.vault, other.publicKey);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from, { signer: other });
  assert.ok(snapshot.storedBytes < fileBytes, "the snapshot of the other writer uses frames of the first");
  await lie();
  const { failures } = await env.restore(snapshot, path.join(folder, "claimed"));
  assert.equal(failures.length, 3);
  const ordinals: number[] = [];
  for await (const { ordinal } of env.vault.catalog.allItems()) ordinals.push(ordinal);
  await env.vault.catalog.setVerified(ordinals);
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "verified"))).failures, []);
});

test("the writer of a snapshot that stored nothing is read from its manifest; without a manifest every block is hashed", async (t) => {
  const { folder, from, env, store, lie } = await prepare(t);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from);
  const session = await env.vault.catalog.session(snapshot.session);
  assert.equal(session?.header.length ?? 0, 0, "nothing new: no pack, no header");
  await lie();
  assert.deepEqual((await env.restore(snapshot, path.join(folder, "trusted"))).failures, []);
  await store.delete(env.vault.names.manifest(snapshot.id));
  assert.equal((await env.restore(snapshot, path.join(folder, "doubted"))).failures.length, 3);
});

test("a frame in the place of another fails by its header, a changed byte by decryption; both failures name the pack", async (t) => {
  const { folder, env, store, snapshot } = await prepare(t);
  const rows: FrameRow[] = [];
  for await (const row of env.vault.catalog.allFrames()) if (row.kind === "data") rows.push(row);
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
