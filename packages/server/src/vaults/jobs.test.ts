/** Late backups are reported once, until they are good again. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventsOf, runTask, type SnapshotJson, snapshotTest } from "../snapshots/testing.ts";
import { reportOverdue } from "./jobs.ts";

const env = await snapshotTest({ after });
const report = () => runTask(env, reportOverdue, {});
const overdue = async (id: string) =>
  (await eventsOf(env)).filter(({ event, source_id: of }) => event === "source.overdue" && of === id);

async function sourceOf(name: string): Promise<{ readonly id: string; readonly created_at: string }> {
  const { json } = await env.send("POST", "/v1/sources", { name, expected_every: 3_600 });
  return json as unknown as { id: string; created_at: string };
}

/** As if everything of the source had happened so much earlier. */
const age = (id: string, hours: number) =>
  env.rows(
    `update emanet.sources set created_at = created_at - $2 * interval '1 hour', last_good_at = last_good_at - $2 * interval '1 hour',
       overdue_at = overdue_at - $2 * interval '1 hour' where id = $1`,
    [id, hours],
  );

test("a source without a snapshot, and one whose snapshot is too old, are reported once, with what was expected when", async () => {
  const never = await sourceOf("hiç");
  const { id } = await sourceOf("geç");
  const snapshot = (await env.upload(`source=${id}`)).json as SnapshotJson;
  await report();
  assert.deepEqual([await overdue(never.id), await overdue(id)], [[], []]);
  await age(never.id, 1.1);
  await age(id, 1.1);
  await report();
  await report();
  const [first, ...more] = await overdue(id);
  assert.deepEqual([first?.last_snapshot_id, more], [snapshot.id, []]);
  const [row] = await env.rows<{ due: Date }>(
    "select last_good_at + interval '1 hour' as due from emanet.sources where id = $1",
    [id],
  );
  assert.equal(first?.expected_at, row?.due.toISOString());
  const [unborn, ...others] = await overdue(never.id);
  assert.deepEqual([unborn?.last_snapshot_id, others], [null, []]);
});

test("after a good snapshot it is reported again when the next one is late", async () => {
  const { id } = await sourceOf("yine");
  await age(id, 2);
  await report();
  assert.equal((await overdue(id)).length, 1);
  const first = (await env.upload(`source=${id}`)).json as SnapshotJson;
  await report();
  assert.equal((await overdue(id)).length, 1);
  await age(id, 2);
  await report();
  assert.deepEqual(
    (await overdue(id)).map(({ last_snapshot_id: last }) => last),
    [null, first.id],
  );
});

test("sources without an expectation, and those of suspended accounts, are not reported", async () => {
  const { json } = await env.send("POST", "/v1/sources", { name: "serbest" });
  const { id } = await sourceOf("askıda");
  await age(String(json?.id), 1_000);
  await age(id, 1_000);
  await env.rows("update emanet.accounts set state = 'suspended' where id = $1", [env.accountId]);
  await report();
  await env.rows("update emanet.accounts set state = 'active' where id = $1", [env.accountId]);
  assert.deepEqual([await overdue(String(json?.id)), await overdue(id)], [[], []]);
  await report();
  assert.equal((await overdue(id)).length, 1);
});
