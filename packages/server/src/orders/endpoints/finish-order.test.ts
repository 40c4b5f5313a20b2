import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { manyRestores, readRestore } from "../../restores/testing.ts";
import { auditOf, eventsOf, snapshotTest } from "../../snapshots/testing.ts";
import { orderTo, TestRun, writeOnlyAgent } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("finish", { "d/a.txt": "merhaba", b: "2" });
const agent = await writeOnlyAgent(env);
const run = new TestRun(env, agent);

async function taken(json: object = {}): Promise<string> {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id, ...json });
  await run.take(id);
  return id;
}

test("200: completed, with its event, its audit record and its verification; repeated, it changes nothing", async () => {
  const id = await taken();
  const warnings = { first: 0, data: [{ path: "b", code: "renamed" }] };
  const done = { bytes_restored: 8, files_restored: 2, warnings };
  assert.equal((await run.finish(id, done)).json?.status, "completed");
  const of = async () => (await eventsOf(env)).filter((event) => event.restore_id === id);
  const [started, completed, ...more] = await of();
  assert.deepEqual([started?.event, completed?.event, more], ["restore.started", "restore.completed", []]);
  assert.deepEqual([completed?.files_restored, completed?.bytes_restored, completed?.warning_count], [2, 8, 1]);
  assert.equal((await auditOf(env)).at(-1), "restore.completed by agent");
  const shown = await readRestore(env, id);
  const { checked_files: checked, failed } = shown.verification as Record<string, unknown>;
  assert.deepEqual([shown.status, shown.failure, shown.download, checked, failed], ["completed", null, null, 2, 0]);
  assert.equal((await run.finish(id, done)).json?.status, "completed");
  assert.equal((await of()).length, 2);
  assert.equal(codeOf(await run.finish(id, { result: "failed", failure: "internal" })), "409 state_conflict");
  assert.equal(codeOf(await env.get(`/v1/restore/${id}/download`)), "409 state_conflict");
});

test("200: failed, with its reason and its event; later reports are refused", async () => {
  const id = await taken();
  assert.equal((await run.finish(id, { result: "failed", failure: "target_refused" })).json?.status, "failed");
  const shown = await readRestore(env, id);
  assert.deepEqual([shown.status, shown.failure?.code], ["failed", "target_refused"]);
  const { event, failure } = (await eventsOf(env)).at(-1) ?? {};
  assert.deepEqual([event, failure], ["restore.failed", "target_refused"]);
  assert.equal(codeOf(await run.report(id)), "409 state_conflict");
  assert.equal(codeOf(await run.finish(id)), "409 state_conflict");
});

test("damaged content ends it as failed, unless it was to be left out", async () => {
  const warnings = { first: 0, data: [{ path: "b", code: "content_damaged" }] };
  const strict = await taken();
  assert.equal(codeOf(await run.finish(strict, { warnings })), "409 state_conflict");
  assert.equal((await run.finish(strict, { warnings, result: "failed", failure: "content_damaged" })).status, 200);
  const lenient = await taken({ on_damage: "skip" });
  assert.equal((await run.finish(lenient, { warnings, files_restored: 1 })).status, 200);
  const shown = await readRestore(env, lenient);
  assert.deepEqual(shown.verification && { ...shown.verification, completed_at: "" }, {
    ...{ checked_files: 1, failed: 1, completed_at: "" },
  });
});

test("422: a failure without its reason, a reason without a failure, one that only the service gives", async () => {
  const id = await taken();
  for (const json of [
    { result: "failed" },
    { result: "completed", failure: "internal" },
    { result: "failed", failure: "agent_absent" },
    { result: "canceled" },
  ])
    assert.equal(codeOf(await run.finish(id, json)), "422 validation_failed", JSON.stringify(json));
});

test("404: another agent; 409: another run, and an order that nobody has taken", async () => {
  const id = await taken();
  assert.equal(codeOf(await new TestRun(env, await writeOnlyAgent(env)).finish(id)), "404 not_found");
  assert.equal(codeOf(await new TestRun(env, agent).finish(id)), "409 state_conflict");
  const waiting = await orderTo(env, agent, { snapshot_id: snapshot.id });
  assert.equal(codeOf(await run.finish(waiting)), "409 state_conflict");
});
