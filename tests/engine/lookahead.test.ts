/** How much an upload asks before answers come (`UploadSettings.lookahead`). */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { LocalTarget } from "../../packages/engine/src/backup/local-target.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { withCalls } from "../../packages/engine/src/testing/target-doubles.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

const mebibyte = 1024 * 1024;

/** More than the buffers of any lookahead below, and a file more than jobs that are given out at once. */
function writeTree(from: string): void {
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 47), Buffer.alloc(16));
  mkdirSync(from);
  writeFileSync(path.join(from, "dump"), noise.update(Buffer.alloc(48 * mebibyte)));
  for (let i = 0; i < 24; i++) writeFileSync(path.join(from, `large${i}`), noise.update(Buffer.alloc(300_000)));
  // Small enough for bundles, which use the other buffers.
  for (let i = 0; i < 160; i++) writeFileSync(path.join(from, `small${i}`), noise.update(Buffer.alloc(200_000)));
  settleTimes(from);
}

/** Waits until a number has not changed for so many turns that nothing is left but what waits for an answer. */
async function settled(count: () => number): Promise<number> {
  for (let turns = 0, last = count(); turns < 1000; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (count() !== last) [turns, last] = [0, count()];
  }
  return count();
}

for (const { lookahead, offers } of [
  { lookahead: 1, offers: 2 },
  { lookahead: 2, offers: 4 },
])
  test(`with a lookahead of ${lookahead}, ${offers} offers are asked before the first is answered, and everything is stored`, async (t) => {
    const from = path.join(scratch(t), "from");
    writeTree(from);
    const env = await openTestEnvironment(new MemoryStore());
    const { vault, writer } = env;
    const local = new LocalTarget({
      access: vault,
      upload: "far",
      owner: hex(writer.id),
      authority: vault.authority,
    });
    const answers = Promise.withResolvers<void>();
    let asked = 0;
    const target = withCalls(local, {
      offer: async (queries) => {
        asked++;
        await answers.promise;
        return local.offer(queries);
      },
    });
    const backup = env.backup(from, { target, settings: { lookahead } });
    const askedAhead = await settled(() => asked);
    answers.resolve();
    const { snapshot } = await backup;
    assert.equal(askedAhead, offers);
    const to = path.join(scratch(t), "to");
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
  });
