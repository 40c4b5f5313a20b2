import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditOf, eventsOf, snapshotTest } from "../../snapshots/testing.ts";
import { backTo, download, manyRestores, readRestore, restored } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("cancel", { a: "1" });

test("200: a restore that waits ends, with its job, its event and its audit record", async () => {
  const { id } = await restored(env, { snapshot_id: snapshot.id });
  await backTo(env, id, 1);
  const answer = await env.send("POST", `/v1/restore/${id}/cancel`);
  assert.deepEqual([answer.status, answer.json?.status], [200, "canceled"]);
  assert.equal((await readRestore(env, id)).failure?.code, "canceled");
  const { event, failure, restore_id: of } = (await eventsOf(env)).at(-1) ?? {};
  assert.deepEqual([event, failure, of], ["restore.failed", "canceled", id]);
  assert.equal((await auditOf(env)).at(-1), "restore.canceled by client");
  assert.equal((await download(env, id)).status, 409);
});

test("409: one that has ended; what it has stays", async () => {
  const { id } = await restored(env, { snapshot_id: snapshot.id });
  const answer = await env.send("POST", `/v1/restore/${id}/cancel`);
  assert.deepEqual([answer.status, answer.json?.code], [409, "state_conflict"]);
  assert.equal((await download(env, id)).status, 200);
});

test("403: a viewer", async () => {
  const { id } = await restored(env, { snapshot_id: snapshot.id });
  const headers = await env.as({ role: "viewer" });
  assert.equal((await env.service.send("POST", `/v1/restore/${id}/cancel`, { headers })).status, 403);
});
