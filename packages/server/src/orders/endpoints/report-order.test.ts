import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { manyRestores, readRestore } from "../../restores/testing.ts";
import { snapshotTest } from "../../snapshots/testing.ts";
import { orderTo, TestRun, writeOnlyAgent } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("report", { "d/a.txt": "merhaba", b: "2" });
const agent = await writeOnlyAgent(env);
const run = new TestRun(env, agent);

async function taken(): Promise<string> {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  await run.take(id);
  return id;
}

test("200: progress and warnings are shown; the time until the order fails begins again", async () => {
  const id = await taken();
  env.service.clock.advance(60_000);
  const warnings = { first: 0, data: [{ path: "b", code: "renamed" }] };
  const { json } = await run.report(id, { bytes_restored: 7, files_restored: 1, warnings });
  assert.deepEqual([json?.bytes_restored, json?.files_restored, json?.warning_count], [7, 1, 1]);
  assert.equal(Date.parse(String(json?.expires_at)), env.service.clock.now().getTime() + 24 * 3_600_000);
  const shown = await readRestore(env, id);
  assert.deepEqual(
    [shown.bytes_restored, shown.files_restored, shown.warnings],
    [7, 1, [{ path: "b", code: "renamed" }]],
  );
});

test("a report that is repeated adds no warning twice; one whose predecessor is missing is refused", async () => {
  const id = await taken();
  const warning = (path: string) => ({ path, code: "skipped" });
  const send = (first: number, ...paths: string[]) => run.report(id, { warnings: { first, data: paths.map(warning) } });
  assert.equal((await send(0, "1", "2")).status, 200);
  assert.equal((await send(0, "1", "2")).status, 200);
  assert.equal((await send(1, "2", "3")).status, 200);
  assert.equal(codeOf(await send(4, "5")), "409 state_conflict");
  assert.deepEqual(
    (await readRestore(env, id)).warnings.map(({ path }) => path),
    ["1", "2", "3"],
  );
});

test("an agent cannot report more than was asked for", async () => {
  const id = await taken();
  const { json } = await run.report(id, { bytes_restored: 9e15, files_restored: 1e9 });
  assert.deepEqual([json?.bytes_restored, json?.files_restored], [8, 2]);
});

test("409: before it was taken, by another run, after it was canceled", async () => {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  assert.equal(codeOf(await run.report(id)), "409 state_conflict");
  await run.take(id);
  assert.equal(codeOf(await new TestRun(env, agent).report(id)), "409 state_conflict");
  assert.equal((await env.send("POST", `/v1/restore/${id}/cancel`)).status, 200);
  assert.equal(codeOf(await run.report(id)), "409 state_conflict");
});

test("404: another agent; 422: an unknown code, a path that is too long", async () => {
  const id = await taken();
  const neighbour = new TestRun(env, await writeOnlyAgent(env));
  assert.equal(codeOf(await neighbour.report(id)), "404 not_found");
  for (const warning of [
    { path: "a", code: "lost" },
    { path: "ş".repeat(4_000), code: "renamed" },
  ])
    assert.equal(codeOf(await run.report(id, { warnings: { first: 0, data: [warning] } })), "422 validation_failed");
});
