/** What an interrupted backup sends again, with a bound on what is sent and not registered (`UploadSettings.maxUnregisteredBytes`). */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import type { UploadTarget } from "../../packages/engine/src/backup/upload-target.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { scaled } from "../../packages/engine/src/testing/scale.ts";
import { withCalls } from "../../packages/engine/src/testing/target-doubles.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

const mebibyte = 1024 * 1024;
/** A frame has 2 MiB, so a pack has one or two. */
const packBytes = 2.5 * mebibyte;
const maxUnregisteredBytes = 10 * mebibyte;
const settings = { packBytes, packsInFlight: 3, unitBytes: packBytes, maxUnregisteredBytes };
/** Of metadata packs. */
const otherBytes = 0.3 * mebibyte;

interface Line {
  /** Bytes of packs that were sent. */
  sent: number;
  /** Of those, what was not registered: now, and at most. */
  open: Map<string, number>;
  mostOpen: number;
  packs: number;
  units: number;
}

class Killed extends Error {}

/** A target that collects a pack before it sends it, as a client of the service does. After `isKilled` nothing arrives any more. */
function clientTarget(env: TestEnvironment, upload: string, isKilled: (line: Line) => boolean) {
  const { vault, writer } = env;
  const local = new LocalTarget({ access: vault, upload, owner: hex(writer.id), authority: vault.authority });
  const line: Line = { sent: 0, open: new Map(), mostOpen: 0, packs: 0, units: 0 };
  let killed = false;
  const check = () => {
    killed ||= isKilled(line);
    if (killed) throw new Killed("killed");
  };
  const target = withCalls(local, {
    putPack: async (name, body) => {
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(Buffer.from(chunk));
      check();
      const size = chunks.reduce((bytes, chunk) => bytes + chunk.length, 0);
      line.packs++;
      line.sent += size;
      line.open.set(name, size);
      line.mostOpen = Math.max(
        line.mostOpen,
        [...line.open.values()].reduce((sum, each) => sum + each, 0),
      );
      check();
      await local.putPack(
        name,
        (async function* () {
          yield* chunks;
        })(),
      );
    },
    register: async (unit) => {
      // Other packs are sent meanwhile.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      check();
      await local.register(unit);
      line.units++;
      for (const pack of unit.packs) line.open.delete(pack);
    },
    // A process that is killed ends nothing.
    abandon: async () => undefined,
  });
  return { target, line };
}

/** Large files that do not compress, and small ones of both kinds side by side: their segments have blocks in frames of two classes. */
function writeTree(from: string): void {
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 33), Buffer.alloc(16));
  const bytes = (count: number) => noise.update(Buffer.alloc(count));
  mkdirSync(path.join(from, "small"), { recursive: true });
  for (let i = 0; i < 400; i++) {
    // Hexadecimal digits of noise compress to half.
    const content = i % 20 === 0 ? bytes(20_000) : Buffer.from(bytes(20_000).toString("hex"));
    writeFileSync(path.join(from, "small", `${String(i).padStart(4, "0")}`), content);
  }
  for (let i = 0; i < 4; i++) writeFileSync(path.join(from, `large${i}`), bytes(5_000_000));
  settleTimes(from);
}

test("after whichever packs a backup is interrupted, it and the next one send at most the bound more than one that is not", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  writeTree(from);
  const first = await openTestEnvironment(new MemoryStore());
  const uninterrupted = clientTarget(first, "whole", () => false);
  await first.backup(from, { target: uninterrupted.target, settings });
  const { sent, packs, units, mostOpen } = uninterrupted.line;
  assert.ok(packs > 12 && units > 6, `${packs} packs, ${units} units`);
  assert.ok(
    mostOpen > 1.5 * packBytes,
    `${mostOpen} bytes were open at most: no pack was sent while another was registered`,
  );
  assert.ok(mostOpen <= maxUnregisteredBytes + otherBytes, `${mostOpen} bytes were open`);
  for (let at = 2; at < packs; at += scaled(6, 3)) {
    const again = await openTestEnvironment(new MemoryStore());
    const killed = clientTarget(again, "killed", ({ packs: sentPacks }) => sentPacks >= at);
    await assert.rejects(again.backup(from, { target: killed.target, settings }), Killed);
    again.ctx.advance(1000);
    const next = clientTarget(again, "next", () => false);
    const { snapshot } = await again.backup(from, { target: next.target, settings });
    const more = killed.line.sent + next.line.sent - sent;
    assert.ok(more <= maxUnregisteredBytes + otherBytes, `pack ${at}: ${more} bytes were sent again`);
    const to = path.join(folder, `to${at}`);
    assert.deepEqual((await again.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
  }
});

test("a bound smaller than a pack, and units of several packs: packs are sent one by one, and nothing waits for ever", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 34), Buffer.alloc(16));
  for (let i = 0; i < 2; i++) writeFileSync(path.join(from, `${i}`), noise.update(Buffer.alloc(5_000_000)));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const { target, line } = clientTarget(env, "u", () => false);
  const unitBytes = 64 * mebibyte;
  await env.backup(from, { target, settings: { packBytes, packsInFlight: 3, unitBytes, maxUnregisteredBytes: 1 } });
  assert.ok(line.mostOpen < 2 * packBytes, `${line.mostOpen} bytes were open`);
});

test("a unit that is refused while packs wait ends the backup with that error", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 35), Buffer.alloc(16));
  for (let i = 0; i < 2; i++) writeFileSync(path.join(from, `${i}`), noise.update(Buffer.alloc(5_000_000)));
  const env = await openTestEnvironment(new MemoryStore());
  const { target } = clientTarget(env, "u", () => false);
  const refusing: UploadTarget = { ...target, register: () => Promise.reject(new Error("refused")) };
  await assert.rejects(
    env.backup(from, { target: refusing, settings: { ...settings, maxUnregisteredBytes: 1 } }),
    /refused/,
  );
});
