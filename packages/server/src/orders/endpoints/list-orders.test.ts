import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { manyRestores, readRestore } from "../../restores/testing.ts";
import { snapshotTest } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { orderTo, TestRun, writeOnlyAgent } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("list", { "d/a.txt": "merhaba", b: "2" });

test("200: what was ordered, with everything that the machine needs to know", async () => {
  const agent = await writeOnlyAgent(env);
  const run = new TestRun(env, agent);
  assert.deepEqual(await run.orders(), []);
  const target = { path: "/srv/geri/2026", on_conflict: "skip" };
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id, paths: ["d"], on_damage: "skip", target });
  const order = await run.until(id);
  const { created_at: created, expires_at: expires, ...rest } = order;
  assert.equal(Date.parse(String(expires)) - Date.parse(String(created)), 24 * 3_600_000);
  assert.deepEqual(rest, {
    ...{ id, vault_id: snapshot.vault_id, snapshot_id: snapshot.id, paths: ["d"], path: "/srv/geri/2026" },
    ...{ on_conflict: "skip", on_damage: "skip", status: "pending", run_id: null, warning_count: 0 },
    ...{ bytes_total: 7, files_total: 1, bytes_restored: 0, files_restored: 0 },
  });
  assert.equal((await readRestore(env, id)).status, "pending");
});

test("a request that waits is answered as soon as there is an order, and marks the agent as seen", async () => {
  const agent = await writeOnlyAgent(env);
  const run = new TestRun(env, agent);
  const waiting = run.orders(30);
  await env.until(async () => {
    const { json } = await env.get(agent.target);
    return json?.online === true ? true : null;
  });
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  assert.deepEqual(
    (await waiting).map((order) => order.id),
    [id],
  );
});

test("the oldest order is first; an order at work is not offered, one whose run was silent for two minutes is", async () => {
  const agent = await writeOnlyAgent(env);
  const [first, second] = [new TestRun(env, agent), new TestRun(env, agent)];
  const old = await orderTo(env, agent, { snapshot_id: snapshot.id });
  const young = await orderTo(env, agent, { snapshot_id: snapshot.id });
  const ids = async (run: TestRun) => (await run.orders()).map(({ id }) => id);
  assert.deepEqual(await ids(first), [old, young]);
  await first.take(old);
  assert.deepEqual(await ids(first), [young]);
  assert.deepEqual(await ids(second), [young]);
  env.service.clock.advance(2 * 60_000);
  assert.deepEqual(await ids(second), [old, young]);
  assert.deepEqual(await ids(first), [young], "its own order is not offered to a run that works on it");
});

test("404: another agent of the account, a person, a program without an agent, another account", async () => {
  const agent = await writeOnlyAgent(env);
  const neighbour = await writeOnlyAgent(env);
  const owner = await tokenFor(env.service, { accountId: env.accountId });
  const stranger = await tokenFor(env.service, { as: "client" });
  for (const { auth } of [neighbour, owner, env, stranger]) {
    const answer = await env.service.send("GET", `/v1/agents/${agent.id}/orders?wait=30`, { headers: auth });
    assert.equal(codeOf(answer), "404 not_found");
  }
});

test("an agent without the vault of an order is not offered it", async () => {
  const agent = await writeOnlyAgent(env);
  await orderTo(env, agent, { snapshot_id: snapshot.id });
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("PATCH", agent.target, { json: { vaults: [] }, headers })).status, 422);
  await env.rows("update emanet.agent_vaults set removed_at = now() where agent_id = $1", [agent.id]);
  assert.deepEqual(await new TestRun(env, agent).orders(), []);
});

test("the wait of a revoked agent ends at the next check of its rights, and later ones are refused", async () => {
  const agent = await writeOnlyAgent(env);
  const run = new TestRun(env, agent);
  const waiting = env.service.send("GET", `/v1/agents/${agent.id}/orders?wait=30`, { headers: agent.auth });
  await env.until(async () => ((await env.get(agent.target)).json?.online === true ? true : null));
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", agent.target, { headers })).status, 204);
  // Without a check it would be answered 200 after 30 seconds. The wait itself may see first that the agent is gone.
  assert.match(codeOf(await waiting), /^(401 invalid_token|404 not_found)$/);
  await assert.rejects(run.orders(), /401/);
});
