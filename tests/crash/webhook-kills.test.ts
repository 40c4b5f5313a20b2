// long: 25 s
/**
 * Kills workers, the process that answers requests, the process that emits, and PostgreSQL with SIGKILL at random moments while events are sent
 * to three webhooks. In the end every event that was committed has reached every webhook; each webhook saw new events in the order of the
 * stream; and what came twice had the same `webhook-id` and body. A client that follows the events by long polling misses none.
 *
 * `npm run test:heavy` sends 100 000 events and kills 30 times. EMANET_KILL_SEED chooses other moments, EMANET_KILL_EVENTS
 * another number of events.
 */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { WebhookWorld } from "./testing/webhook-world.ts";

const random = seededRandom(Number(process.env.EMANET_KILL_SEED ?? "27"));
const wanted = scaled(400, Number(process.env.EMANET_KILL_EVENTS ?? "100000"));
const kills = scaled(4, 30);
const workers = 2;
/** Between two commits of the emitting process, and the longest time between two kills. */
const pauseMs = scaled(20, 5);
const longestWaitMs = scaled(500, 6_000);
/** Some leases of 15 s after the last kill, and the backlog. */
const patienceMs = scaled(180_000, 1_800_000);

type Victim = keyof WebhookWorld["kill"];

/** Each of them at least once, then by chance, workers most often. */
const victims: readonly Victim[] = ["worker", "postgres", "api", "emitter"];
const later: readonly Victim[] = [...victims, "worker", "worker"];

async function killAll(world: WebhookWorld): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (let kill = 0; kill < kills; kill += 1) {
    await delay(random.integer(longestWaitMs));
    const victim = victims[kill] ?? later[random.integer(later.length)] ?? "worker";
    counts[victim] = (counts[victim] ?? 0) + 1;
    await world.kill[victim](random.integer(workers));
  }
  return counts;
}

async function until(isDone: () => boolean): Promise<void> {
  for (let waited = 0; waited < patienceMs && !isDone(); waited += 100) await delay(100);
}

/** Where two lists begin to differ, and how; null when they are the same. To show all of 100 000 numbers would take all memory. */
function difference(actual: readonly number[], expected: readonly number[]): string | null {
  const at = expected.findIndex((value, index) => actual[index] !== value);
  if (at < 0 && actual.length === expected.length) return null;
  const near = (list: readonly number[]) => list.slice(Math.max(0, at - 2), at + 10).join(" ");
  return `at ${at} of ${actual.length} and ${expected.length}: ${near(actual)} in place of ${near(expected)}`;
}

test(`${wanted} events, three webhooks, ${kills} kills: none lost, in order, repeated ones unchanged`, async (t) => {
  const world = await WebhookWorld.open(inReverse(t), ["a", "b", "c"]);
  for (let count = 0; count < workers; count += 1) await world.addWorker();
  const following = world.follow();
  world.emit(wanted, pauseMs);
  const counts = await killAll(world);
  await world.emitted();
  const events = await world.storedEvents();
  assert.ok(world.acknowledged >= wanted && events.length >= world.acknowledged, `${events.length} events`);
  await until(() => [...world.seen.values()].every(({ bodies }) => bodies.size >= events.length));
  await until(() => world.followed.length >= events.length);
  world.stopFollowing();
  await following;
  const sequences = events.map(({ sequence }) => sequence);
  for (const [name, { bodies, firsts, different, repeated }] of world.seen) {
    const lost = events.filter(({ id }) => !bodies.has(id));
    assert.equal(lost.length, 0, `${name} has lost ${lost.length}`);
    assert.equal(difference(firsts, sequences), null, `${name}: the order of first attempts`);
    assert.equal(different, 0, `${name}: a repeated delivery has another body`);
    for (const { id, payload } of events) assert.equal(bodies.get(id), hash("sha256", payload), id);
    t.diagnostic(`${name}: ${firsts.length} events, ${repeated} repeated`);
  }
  assert.equal(difference(world.followed, sequences), null, "what the client of long polling has read");
  t.diagnostic(`kills: ${JSON.stringify(counts)}`);
});
