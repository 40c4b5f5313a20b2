/** No key encrypts two frames, in a backup or in upkeep. Frames decrypt as the format says. */

import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { FrameRow } from "../../packages/engine/src/catalog/catalog.ts";
import { readFrameHeader } from "../../packages/engine/src/format/frame.ts";
import {
  frameKey,
  openContentKey,
  parseSessionHeader,
  sessionBinding,
} from "../../packages/engine/src/format/session-header.ts";
import { allFrameRows } from "../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import { openTestEnvironment, scratch, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";

const headerLength = 40;
const tagLength = 16;

/** Decrypts a frame as FORMAT.md section 6 describes, with standard tools only. Returns the key. */
async function opened(env: TestEnvironment, row: FrameRow): Promise<string> {
  const { store, names, catalog, keys } = env.vault;
  const sealed = Buffer.from(
    await store.get(names.pack(row.pack), { range: { offset: row.offset, length: row.length } }),
  );
  const name = readFrameHeader(sealed);
  const header = parseSessionHeader((await catalog.session(name.session))?.header ?? Buffer.alloc(0));
  const key = frameKey(openContentKey(keys, header), name);
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.alloc(12));
  decipher.setAAD(Buffer.concat([sealed.subarray(0, headerLength), sessionBinding(header)]));
  decipher.setAuthTag(sealed.subarray(-tagLength));
  decipher.update(sealed.subarray(headerLength, -tagLength));
  decipher.final();
  return key.toString("hex");
}

test("no two frames of data or metadata share a key, and each frame decrypts", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 5), Buffer.alloc(16));
  for (let i = 0; i < 8; i++) writeFileSync(path.join(from, `big${i}`), noise.update(Buffer.alloc(1 << 20)));
  // Long names, so that the tree needs several metadata frames.
  for (let i = 0; i < 3000; i++) writeFileSync(path.join(from, `${"ad".repeat(100)}-${i}`), `${i}`);
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  for (let i = 1; i < 8; i++) rmSync(path.join(from, `big${i}`));
  for (let i = 10; i < 3000; i++) rmSync(path.join(from, `${"ad".repeat(100)}-${i}`));
  settleTimes(from);
  env.ctx.advance(1000);
  await env.backup(from);
  const before: FrameRow[] = [];
  for await (const row of allFrameRows(env.vault.catalog)) before.push(row);
  const seen = new Set<string>();
  for (const row of before) seen.add(await opened(env, row));
  assert.equal(seen.size, before.length, "in backups");
  for (const kind of ["data", "meta"] as const) {
    const count = before.filter((row) => row.kind === kind && row.session === snapshot.session).length;
    assert.ok(count >= 3, `${count} frames of ${kind}`);
  }
  await deleteSnapshot(env.vault, snapshot.id);
  const { rewritten } = await rewritePacks(env.vault, 0.2);
  assert.ok(rewritten.length > 0);
  const after: FrameRow[] = [];
  for await (const row of allFrameRows(env.vault.catalog)) if (row.generation > 0) after.push(row);
  assert.ok(after.length >= 2, `${after.length} frames were rewritten`);
  const again = new Set<string>();
  for (const row of after) again.add(await opened(env, row));
  assert.equal(again.size, after.length, "in upkeep");
});
