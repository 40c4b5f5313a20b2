import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { manyRestores, readRestore } from "../../restores/testing.ts";
import { auditOf, snapshotTest } from "../../snapshots/testing.ts";
import { orderTo, TestRun, writeOnlyAgent } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("start", { "d/a.txt": "merhaba", b: "2" });
const agent = await writeOnlyAgent(env);

test("200: the order runs, the same run may repeat it, and the audit names the agent", async () => {
  const run = new TestRun(env, agent);
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  const { status, run_id: by } = await run.take(id);
  assert.deepEqual([status, by], ["running", run.runId]);
  assert.equal((await auditOf(env)).at(-1), "restore.taken by agent");
  const before = await auditOf(env);
  assert.equal((await run.start(id)).status, 200);
  assert.deepEqual(await auditOf(env), before, "a repetition is no second act");
  const shown = await readRestore(env, id);
  assert.deepEqual([shown.status, shown.download, shown.verification], ["running", null, null]);
  assert.deepEqual(shown.target, { kind: "agent", agent_id: agent.id, path: null, on_conflict: "rename" });
});

test("of many runs that take an order at the same time, one gets it", async () => {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  const runs = Array.from({ length: 6 }, () => new TestRun(env, agent));
  const answers = await Promise.all(runs.map((run) => run.start(id)));
  assert.deepEqual(answers.map(codeOf).sort(), ["200", ...Array.from({ length: 5 }, () => "409 state_conflict")]);
});

test("a run that was silent for two minutes is replaced, and its later reports are refused", async () => {
  const [killed, next] = [new TestRun(env, agent), new TestRun(env, agent)];
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  await killed.take(id);
  env.service.clock.advance(60_000);
  assert.equal((await killed.report(id)).status, 200);
  env.service.clock.advance(119_000);
  assert.equal(codeOf(await next.start(id)), "409 state_conflict");
  env.service.clock.advance(1_000);
  assert.equal(codeOf(await next.start(id)), "200");
  assert.equal(codeOf(await killed.report(id)), "409 state_conflict");
  assert.equal(codeOf(await killed.finish(id)), "409 state_conflict");
  assert.equal(codeOf(await killed.start(id)), "409 state_conflict");
  assert.equal(codeOf(await next.report(id)), "200");
});

test("409: an order that was canceled, whose snapshot was deleted, or whose day has passed", async () => {
  const run = new TestRun(env, agent);
  const canceled = await orderTo(env, agent, { snapshot_id: snapshot.id });
  assert.equal((await env.send("POST", `/v1/restore/${canceled}/cancel`)).status, 200);
  assert.equal(codeOf(await run.start(canceled)), "409 state_conflict");
  const { id: gone } = await env.completed("gone", { a: "1" });
  const deleted = await orderTo(env, agent, { snapshot_id: gone });
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", `/v1/snapshots/${gone}`, { headers })).status, 204);
  assert.equal(codeOf(await run.start(deleted)), "409 state_conflict");
  const late = await orderTo(env, agent, { snapshot_id: snapshot.id });
  env.service.clock.advance(24 * 3_600_000);
  const fresh = new TestRun(env, { ...agent, ...(await sameAgent()) });
  assert.equal(codeOf(await fresh.start(late)), "409 state_conflict");
  assert.deepEqual(await fresh.orders(), []);
});

/** A new access token of the agent's session. */
async function sameAgent() {
  const { token } = await env.service.tokens.issue({
    ...{ subject: agent.personId ?? "", sessionId: agent.sessionId, clientId: "test", accountId: env.accountId },
    ...{ scopes: ["snapshots:write"], amr: ["pwd"], authTime: env.service.clock.now() },
  });
  return { auth: { authorization: `Bearer ${token}` } };
}

test("404: another agent of the account, a download, an order that is not there", async () => {
  const headers = (await sameAgent()).auth;
  const start = (id: string, auth: Readonly<Record<string, string>> = headers) =>
    env.service.send("POST", `/v1/orders/${id}/start`, { json: { run_id: randomUUID() }, headers: auth });
  const answer = await env.service.send("POST", "/v1/restore", {
    json: { snapshot_id: snapshot.id, target: { kind: "download", format: "tar" } },
    headers: await env.as({ as: "client", kind: "api" }),
  });
  assert.equal(codeOf(await start(String(answer.json?.id))), "404 not_found");
  assert.equal(codeOf(await start(randomUUID())), "404 not_found");
});
