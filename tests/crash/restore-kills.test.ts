/**
 * Kills the real service while a restore is prepared and while it is downloaded. The job goes on where it was, the client asks for the
 * rest, and the archive is the same as if nothing had happened.
 *
 * `npm run test:heavy` kills 40 times. EMANET_KILL_SEED chooses other moments.
 */
// long: 10 s

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { until } from "./testing/service-under-test.ts";
import { World } from "./testing/world.ts";

const random = seededRandom(Number(process.env.EMANET_KILL_SEED ?? "24"));
const rounds = scaled(1, 10);
/** In each round: while the job runs, and while the archive is downloaded. A start costs more than all the rest. */
const jobKills = scaled(1, 2);
const downloadKills = scaled(0, 2);
const files = scaled(300, 6_000);
const largeBytes = scaled(3_000_000, 200_000_000);

function noise(bytes: number, seed: number): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

async function kill(world: World, longestMs: number): Promise<void> {
  await delay(random.integer(longestMs));
  world.main.signal("SIGKILL");
  await world.main.ended();
  await world.ensureUp();
}

/** Asks for the rest of the archive until all of it is there. Every other request is killed midway. */
async function downloadWithKills(world: World, id: string, size: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let at = 0;
  for (let count = 0; at < size; count++) {
    const end = Math.min(size, at + 1 + random.integer(Math.ceil(size / 3)));
    const range = { range: `bytes=${at}-${end - 1}` };
    const asked = world.send("GET", `/v1/restore/${id}/download`, { headers: range }).catch(() => null);
    if (count < downloadKills) await kill(world, 100);
    const answer = await asked;
    if (answer?.status !== 206) continue;
    pieces.push(answer.body);
    at = end;
  }
  return Buffer.concat(pieces);
}

test(`${(jobKills + downloadKills) * rounds} kills while restores are prepared and downloaded: each goes on, and has the same bytes`, async (t) => {
  const cleanup = inReverse(t);
  const world = await World.open(cleanup, await temporaryFolder(cleanup));
  const small = Array.from({ length: files }, (_, at) => [`k/${at}.xml`, noise(200 + (at % 900), at)] as const);
  const body = tarOf(Object.fromEntries([...small, ["büyük.bak", noise(largeBytes, 7)]]));
  const headers = { "content-type": "application/x-tar" };
  const made = await world.send("POST", "/v1/snapshots?source=kills", { body, headers });
  assert.equal(made.status, 201, made.body.toString());
  const { id: snapshot } = JSON.parse(made.body.toString());
  const expected = await world.send("GET", `/v1/snapshots/${snapshot}/archive`);
  for (let round = 0; round < rounds; round++) {
    const json = { snapshot_id: snapshot, target: { kind: "download", format: "tar" } };
    const accepted = await world.send("POST", "/v1/restore", { json });
    assert.equal(accepted.status, 202, accepted.body.toString());
    const { id } = JSON.parse(accepted.body.toString());
    for (let count = 0; count < jobKills; count++) await kill(world, scaled(150, 1_500));
    const done = await until("the restore is completed", async () => {
      const read = JSON.parse((await world.send("GET", `/v1/restore/${id}`)).body.toString());
      assert.notEqual(read.status, "failed", JSON.stringify(read.failure));
      return read.status === "completed" ? read : null;
    });
    assert.deepEqual([done.files_restored, done.bytes_restored], [done.files_total, done.bytes_total]);
    const got = await downloadWithKills(world, id, done.download.size_bytes);
    assert.ok(got.equals(expected.body), "the archive is another one");
  }
  const events = await world.rows<{ type: string }>(
    "select type from emanet.events where type like 'restore.%' order by sequence",
  );
  const each = ["restore.started", "restore.completed"];
  assert.deepEqual(
    events.map(({ type }) => type),
    Array.from({ length: rounds }, () => each).flat(),
  );
  await world.stop();
});
