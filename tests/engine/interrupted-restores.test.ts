/** A restore that is ended by its signal, and the progress of a backup while nothing is walked. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { withCalls } from "../../packages/engine/src/testing/target-doubles.ts";
import {
  assertSameTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

function writeFiles(from: string, count: number, bytes: number): string {
  mkdirSync(from);
  for (let i = 0; i < count; i++) writeFileSync(path.join(from, `f${i}`), randomBytes(bytes));
  settleTimes(from);
  return from;
}

test("a restore ends with the reason of its signal, asks the store for no more, and goes on when it is called again", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const from = writeFiles(path.join(scratch(t), "from"), 50, 1000);
  const { snapshot } = await env.backup(from);
  const to = path.join(scratch(t), "to");
  const interrupt = new AbortController();
  let entries = 0;
  const onEntry = () => {
    if (++entries === 10) interrupt.abort(new Error("stop"));
  };
  await assert.rejects(env.restore(snapshot, to, { signal: interrupt.signal, onEntry }), /stop/);
  assert.equal(entries, 10);
  await env.restore(snapshot, to);
  assertSameTree(from, to);
});

test("a restore that waits for the store ends at once", async (t) => {
  const store = new MemoryStore();
  const env = await openTestEnvironment(store);
  const { snapshot } = await env.backup(writeFiles(path.join(scratch(t), "from"), 5, 100_000));
  const interrupt = new AbortController();
  t.mock.method(store, "get", () => {
    interrupt.abort(new Error("stop"));
    return new Promise(() => undefined);
  });
  await assert.rejects(env.restore(snapshot, path.join(scratch(t), "to"), { signal: interrupt.signal }), /stop/);
});

test("the progress of a backup is told every second while a pack is sent", async (t) => {
  const env = await openTestEnvironment(new MemoryStore());
  const { vault, writer } = env;
  const from = writeFiles(path.join(scratch(t), "from"), 1, 300_000);
  const local = new LocalTarget({ access: vault, upload: "slow", owner: hex(writer.id), authority: vault.authority });
  let told = 0;
  const toldWhileSent: number[] = [];
  t.mock.timers.enable({ apis: ["setInterval"] });
  const target = withCalls(local, {
    putPack: async (name, body) => {
      const before = told;
      t.mock.timers.tick(3000);
      toldWhileSent.push(told - before);
      return local.putPack(name, body);
    },
  });
  await env.backup(from, {
    target,
    onProgress: () => {
      told++;
    },
  });
  assert.deepEqual(toldWhileSent.slice(0, 1), [3]);
  const after = told;
  t.mock.timers.tick(3000);
  assert.equal(told, after, "nothing is told after the end");
});
