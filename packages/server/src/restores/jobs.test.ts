/** The jobs of restores: they go on after a crash, and end restores whose snapshot or time has ended. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { endMark, eventsOf, member, runTask, type SnapshotJson, snapshotTest } from "../snapshots/testing.ts";
import { endRestores, prepareRestore } from "./jobs.ts";
import { backTo, download, manyRestores, readRestore, restored, startRestore } from "./testing.ts";

const env = await snapshotTest({ after }, manyRestores);

/** Two parts; a file with two names, the second in another part than the first. */
const made = (
  await env.upload(
    "source=jobs",
    Buffer.concat([
      member({ name: "a/first" }, "x".repeat(5_000)),
      ...Array.from({ length: 1_100 }, (_, at) => member({ name: `b/${String(at).padStart(4, "0")}` }, `${at}`)),
      member({ name: "c/second", type: "1", linkName: "a/first" }),
      endMark,
    ]),
  )
).json as SnapshotJson;

for (const format of ["tar", "zip"])
  test(`a job that a crash ended goes on with the next part, and the ${format} is the same`, async () => {
    const before = await restored(env, { snapshot_id: made.id, target: { kind: "download", format } });
    const { body } = await download(env, before.id);
    const parts = "select part, xmin::text as written from emanet.restore_parts where restore_id = $1 order by part";
    let written = await env.rows<{ written: string }>(parts, [before.id]);
    assert.equal(written.length, 2);
    for (const kept of format === "tar" ? [1, 2] : [1]) {
      await backTo(env, before.id, kept);
      await runTask(env, prepareRestore, { accountId: env.accountId, restoreId: before.id });
      const restore = await readRestore(env, before.id);
      assert.deepEqual(
        [restore.status, restore.files_restored, restore.bytes_restored],
        ["completed", restore.files_total, restore.bytes_total],
      );
      const again = await env.rows<{ written: string }>(parts, [before.id]);
      // What was finished is not written again.
      assert.deepEqual(again.slice(0, Math.min(kept, 1)), written.slice(0, Math.min(kept, 1)));
      written = again;
      assert.ok((await download(env, before.id)).body.equals(body), `${kept} parts kept`);
    }
  });

test("a repeated run of a restore that has ended changes nothing", async () => {
  const restore = await restored(env, { snapshot_id: made.id });
  const events = (await eventsOf(env)).length;
  await runTask(env, prepareRestore, { accountId: env.accountId, restoreId: restore.id });
  assert.deepEqual(await readRestore(env, restore.id), restore);
  assert.equal((await eventsOf(env)).length, events);
});

test("a restore whose job is gone fails as internal; one whose snapshot was deleted says so", async () => {
  const gone = await restored(env, { snapshot_id: made.id });
  await backTo(env, gone.id, 1);
  await runTask(env, endRestores, {});
  assert.equal((await readRestore(env, gone.id)).failure?.code, "internal");
  const { id: snapshot } = await env.completed("deleted", { a: "1" });
  const open = await restored(env, { snapshot_id: snapshot });
  await backTo(env, open.id, 0);
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", `/v1/snapshots/${snapshot}`, { headers })).status, 204);
  await runTask(env, prepareRestore, { accountId: env.accountId, restoreId: open.id });
  assert.equal((await readRestore(env, open.id)).status, "running");
  await runTask(env, endRestores, {});
  assert.equal((await readRestore(env, open.id)).failure?.code, "snapshot_deleted");
  const { event, failure } = (await eventsOf(env)).at(-1) ?? {};
  assert.deepEqual([event, failure], ["restore.failed", "snapshot_deleted"]);
});

test("a restore that waits for its job is left alone; parts are deleted when nobody can download them", async () => {
  const id = await startRestore(env, { snapshot_id: made.id });
  await runTask(env, endRestores, {});
  const kept = await restored(env, { snapshot_id: made.id });
  assert.notEqual((await readRestore(env, id)).status, "failed");
  const count = async (of: string) =>
    (await env.rows("select 1 from emanet.restore_parts where restore_id = $1", [of])).length;
  assert.equal(await count(kept.id), 2);
  await env.rows("update emanet.restores set expires_at = $2 where id = $1", [kept.id, env.service.clock.now()]);
  await runTask(env, endRestores, {});
  assert.equal(await count(kept.id), 0);
});
