/**
 * Kills the real service while it puts snapshots into the projection, and while it takes one out. The next process goes on, and in the
 * end search and history have what the snapshots have, no more and no less.
 *
 * `npm run test:heavy` kills 24 times. EMANET_KILL_SEED chooses other moments.
 */

// long: 25 s

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { endMark, member } from "../../packages/server/src/archives/testing.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { until } from "./testing/service-under-test.ts";
import { World } from "./testing/world.ts";

const random = seededRandom(Number(process.env.EMANET_KILL_SEED ?? "23"));
const rounds = scaled(1, 8);
/** Each transaction of the projection has 2000. */
const files = scaled(2_500, 20_000);
const folders = 20;
const kept = Array.from({ length: files }, (_, i) => i).filter((i) => i % 10 !== 9);

function tarOfNight(indexes: readonly number[], content: (index: number) => string): Buffer {
  const members = indexes.map((i) => member({ name: `d${i % folders}/dosya-${i}.txt` }, content(i)));
  return Buffer.concat([...members, endMark]);
}

const all = tarOfNight(
  Array.from({ length: files }, (_, i) => i),
  () => "1",
);
/** A tenth of the files is gone, and every third of the others has changed. */
const second = tarOfNight(kept, (i) => (i % 3 === 0 ? "22" : "1"));
const changed = kept.filter((i) => i % 3 === 0).length;

async function upload(world: World, source: string, body: Buffer): Promise<string> {
  const headers = { "content-type": "application/x-tar" };
  const answer = await world.send("POST", `/v1/snapshots?source=${source}`, { body, headers });
  assert.equal(answer.status, 201, answer.body.toString());
  return JSON.parse(answer.body.toString()).id;
}

/** Kills the service when the projection of a snapshot has got somewhere, and starts it again. */
async function killWhile(world: World, snapshot: string, state: "applying" | "removing"): Promise<void> {
  await until(`the projection is ${state}, or done`, async () => {
    const [row] = await world.rows<{ state: string; done: number; wanted: boolean }>(
      "select state, done, wanted from emanet.projected_snapshots where snapshot_id = $1",
      [snapshot],
    );
    if (row === undefined || (row.state === "contained" && row.wanted)) return true;
    return row.state === state && (state === "removing" || row.done > 0) ? true : null;
  });
  await delay(random.integer(40));
  world.main.signal("SIGKILL");
  await world.main.ended();
  await world.ensureUp();
}

interface Page {
  readonly data: readonly { readonly first_snapshot: { id: string }; readonly last_snapshot: { id: string } }[];
  readonly projection: { readonly waiting: number };
}

/** An answer of search or history, as soon as nothing waits and nothing is being taken out. */
async function settled(world: World, target: string): Promise<Page> {
  return until("the projection has everything", async () => {
    const [open] = await world.rows<{ count: number }>(
      "select count(*)::int as count from emanet.projected_snapshots where state <> 'contained' or not wanted",
    );
    const answer = await world.send("GET", target);
    assert.equal(answer.status, 200, answer.body.toString());
    return open?.count === 0 ? (JSON.parse(answer.body.toString()) as Page) : null;
  });
}

async function countsOf(world: World, source: string) {
  const [row] = await world.rows<{ paths: number; versions: number; current: number }>(
    `select count(distinct p.path)::int as paths, count(*)::int as versions, count(*) filter (where v.until is null)::int as current
     from emanet.projected_paths p left join emanet.projected_versions v on v.vault = p.vault and v.path = p.path
     where p.source_id = (select id from emanet.sources where name = $1)`,
    [source],
  );
  return row;
}

async function round(world: World, number: number): Promise<void> {
  const source = `gece-${number}`;
  const first = await upload(world, source, all);
  await killWhile(world, first, "applying");
  const next = await upload(world, source, second);
  await killWhile(world, next, "applying");
  const history = (i: number) =>
    settled(world, `/v1/files/history?source=${source}&path=d${i % folders}/dosya-${i}.txt`);
  const runs = async (i: number) =>
    (await history(i)).data.map(({ first_snapshot: from, last_snapshot: to }) => [from.id, to.id]);
  assert.deepEqual(await runs(3), [
    [next, next],
    [first, first],
  ]);
  assert.deepEqual(await runs(4), [[first, next]]);
  assert.deepEqual(await runs(9), [[first, first]]);
  const entries = files + folders;
  // Folders whose files are all gone are gone too.
  const now = kept.length + new Set(kept.map((i) => i % folders)).size;
  assert.deepEqual(await countsOf(world, source), { paths: entries, versions: entries + changed, current: now });
  const answer = await world.client.send("DELETE", `/v1/snapshots/${first}`, { headers: await world.signIn("demo") });
  assert.ok(answer.status < 300, answer.body.toString());
  await killWhile(world, first, "removing");
  assert.deepEqual(await runs(9), []);
  assert.deepEqual(await runs(3), [[next, next]]);
  assert.deepEqual(await countsOf(world, source), { paths: now, versions: now, current: now });
  const { data } = await settled(world, `/v1/search?query=dosya-${files - 2}.txt`);
  assert.deepEqual(data.map(({ last_snapshot: { id } }) => id).includes(next), true);
}

test(`${3 * rounds} kills while the projection is made: search and history have what the snapshots have`, async (t) => {
  const cleanup = inReverse(t);
  const world = await World.open(cleanup, await temporaryFolder(cleanup));
  for (let number = 0; number < rounds; number++) await round(world, number);
  await world.stop();
});
