import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openStore, type StoreContext } from "./open.ts";
import { rejectsWith, seededBytes } from "./testing/bodies.ts";

const context: StoreContext = {
  now: Date.now,
  random: Math.random,
  randomBytes,
  sleep: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
};

async function keeps(address: string): Promise<void> {
  const first = await openStore(address, context);
  await first.store.put("a/b", seededBytes(1, 10));
  await first.close();
  const second = await openStore(address, { ...context, create: false });
  assert.deepEqual(await second.store.stat("a/b"), { size: 10 });
  await second.close();
}

async function temporaryRoot(t: TestContext): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), "emanet-open-"));
  t.after(() => rm(root, { recursive: true }));
  return root;
}

test("file: opens a folder, with one slash or three, and finds it again", async (t) => {
  await keeps(`file:${await temporaryRoot(t)}`);
  await keeps(`file://${await temporaryRoot(t)}`);
});

test("file: may be told not to make a store", async (t) => {
  await rejectsWith("unsupported", openStore(`file:${await temporaryRoot(t)}`, { ...context, create: false }));
});

test("memory: opens an empty store each time", async () => {
  const { store, close } = await openStore("memory:", context);
  await store.put("a", seededBytes(1, 1));
  assert.equal(await (await openStore("memory:", context)).store.stat("a"), null);
  await close();
});

test("an address of no known kind is refused", async () => {
  for (const address of ["", "/var/lib/x", "ftp://x", "constructor:x", "file:", "s3://"]) {
    await rejectsWith("bad_name", openStore(address, context));
  }
});
