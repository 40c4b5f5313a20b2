/**
 * Kills the real service while files of a snapshot are sent, in parts too, and while the snapshot is completed. The client goes on
 * where the service says it is. No byte that was acknowledged is sent again, none is lost, and in the end nothing is left over.
 *
 * `npm run test:heavy` kills 60 times. EMANET_KILL_SEED chooses other moments.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { FileSender } from "./testing/file-sender.ts";
import { findLeftovers, nothingLeft } from "./testing/leftovers.ts";
import { until } from "./testing/service-under-test.ts";
import { World } from "./testing/world.ts";

const random = seededRandom(Number(process.env.EMANET_KILL_SEED ?? "23"));
const rounds = 30;
const smallFiles = 40;
/** More than a stripe of 64 MiB: a killed PATCH keeps its first stripe. */
const largeBytes = 70 * 1024 * 1024;

/** Kills the service some time after the work has begun, and starts it again. */
async function killDuring(world: World, longestMs: number, work: Promise<unknown>): Promise<void> {
  await delay(random.integer(longestMs));
  world.main.signal("SIGKILL");
  await world.main.ended();
  await work;
  await world.ensureUp();
}

async function round(world: World, number: number): Promise<FileSender> {
  const sender = await FileSender.begin(world, `kaynak-${number % 3}`, { smallFiles, largeBytes, seed: number });
  await killDuring(world, 1500, Promise.all([sender.sendSmall(), sender.sendLarge(1_000_000)]));
  await sender.sendSmall();
  await sender.sendLarge(largeBytes);
  await killDuring(world, 150, sender.complete());
  // The process that had the completion counts as dead after a minute, by the time of the database.
  await world.rows(
    "update emanet.snapshots set alive_at = alive_at - interval '61 seconds' where closed_at is not null",
  );
  const done = await until("the snapshot is completed", async () => {
    const answer = await sender.complete();
    return answer?.status === 200 ? answer : null;
  });
  assert.equal(JSON.parse(done.body.toString()).file_count, smallFiles + 1);
  return sender;
}

test(`${2 * rounds} kills while files are sent and completed: nothing acknowledged is lost, nothing is left over`, async (t) => {
  if (scaled(0, 1) === 0) return t.skip("only in the long form; the short one is the fault harness");
  const cleanup = inReverse(t);
  const world = await World.open(cleanup, await temporaryFolder(cleanup));
  const senders: FileSender[] = [];
  for (let number = 0; number < rounds; number++) senders.push(await round(world, number));
  for (const sender of senders) await sender.assertWhole();
  await world.ageTemporaryFiles(8 * 24 * 3600);
  // Leases end, and what killed processes stored and never registered is removed.
  await world.advance(9 * 24 * 3600);
  const quiet = async () => {
    const rows = await world.rows<{ count: number }>(
      `select (select count(*) from emanet.snapshot_files) + (select count(*) from emanet.snapshot_file_parts)
         + (select count(*) from emanet.file_uploads) + (select count(*) from emanet.file_sessions) as count`,
    );
    return { ...(await findLeftovers(world)), fileRows: Number(rows[0]?.count) };
  };
  const expected = { ...nothingLeft, fileRows: 0 };
  // A moment later the daily upkeep may write again.
  const left = await until("nothing is left over", async () => {
    const found = await quiet();
    return isDeepStrictEqual(found, expected) ? found : null;
  }).catch(quiet);
  assert.deepEqual(left, expected);
  await world.stop();
});
