/** Orders from the side of those who give them, and their end without the agent. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { codeOf, makeAgent } from "../agents/testing.ts";
import { orderTo, TestRun, writeOnlyAgent } from "../orders/testing.ts";
import { auditOf, eventsOf, runTask, snapshotTest } from "../snapshots/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { listIn } from "../testing/lists.ts";
import { endRestores } from "./jobs.ts";
import { manyRestores, readRestore } from "./testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("orders", { "d/a.txt": "merhaba", b: "2" });
const agent = await writeOnlyAgent(env);

type Headers = Readonly<Record<string, string>>;

function order(target: object, headers: Headers = env.auth) {
  const json = { snapshot_id: snapshot.id, target: { kind: "agent", agent_id: agent.id, ...target } };
  return env.service.send("POST", "/v1/restore", { json, headers });
}

test("202: accepted, with its event, its audit record and its target", async () => {
  const answer = await order({ path: "/srv/geri/x", on_conflict: "skip" });
  assert.equal(answer.status, 202, answer.body.toString());
  const target = { kind: "agent", agent_id: agent.id, path: "/srv/geri/x", on_conflict: "skip" };
  assert.deepEqual([answer.json?.target, answer.json?.status], [target, "pending"]);
  const { event, restore_id: of } = (await eventsOf(env)).at(-1) ?? {};
  assert.deepEqual([event, of], ["restore.started", answer.json?.id]);
  assert.equal((await auditOf(env)).at(-1), "restore.created by client");
  const list = await env.get("/v1/restore");
  assert.ok(listIn<{ id: string; target: object }>(list, "data").some(({ id }) => id === answer.json?.id));
});

test("422: what the machine does not permit, an agent that is not there or lacks the vault, fields of other targets", async () => {
  const stranger = await tokenFor(env.service, { as: "client", kind: "api" });
  const other = await makeAgent(env.service, stranger.accountId ?? "", { seed: 200 });
  const poor = await writeOnlyAgent(env);
  await env.rows("update emanet.agent_vaults set removed_at = now() where agent_id = $1", [poor.id]);
  const wrong: readonly (readonly [object, string])[] = [
    [{ path: "/etc" }, "/target/path"],
    [{ path: "/srv/geri/../x" }, "/target/path"],
    [{ on_conflict: "overwrite" }, "/target/on_conflict"],
    [{ agent_id: randomUUID() }, "/target/agent_id"],
    [{ agent_id: other.id }, "/target/agent_id"],
    [{ agent_id: poor.id }, "/target/agent_id"],
    [{ agent_id: undefined }, "/target/agent_id"],
    [{ format: "tar" }, "/target/format"],
    [{ kind: "download", format: "tar" }, "/target/agent_id"],
    [{ kind: "storage" }, "/target/kind"],
  ];
  for (const [target, pointer] of wrong) {
    const answer = await order(target);
    assert.equal(answer.status, 422, JSON.stringify(target));
    assert.equal(listIn<{ pointer: string }>(answer, "errors")[0]?.pointer, pointer, JSON.stringify(target));
  }
  const noFormat = await env.send("POST", "/v1/restore", { snapshot_id: snapshot.id, target: { kind: "download" } });
  assert.equal(listIn<{ pointer: string }>(noFormat, "errors")[0]?.pointer, "/target/format");
});

test("overwriting is ordered where the machine permits it", async () => {
  const open = await writeOnlyAgent(env, { roots: ["/srv"], allow_overwrite: true });
  assert.equal((await order({ agent_id: open.id, on_conflict: "overwrite", path: "/srv/x" })).status, 202);
});

test("403: without the scope for agents, without a fresh second factor; the scope alone suffices for orders", async () => {
  const client = (scopes: readonly string[]) => env.as({ as: "client", kind: "api", scopes });
  assert.equal(codeOf(await order({}, await client(["restores:read", "restores:write"]))), "403 insufficient_scope");
  assert.equal(codeOf(await order({}, await client(["restores:agent"]))), "202");
  const json = { snapshot_id: snapshot.id, target: { kind: "download", format: "tar" } };
  const download = (headers: Headers) => env.service.send("POST", "/v1/restore", { json, headers });
  assert.equal(codeOf(await download(await client(["restores:agent"]))), "403 insufficient_scope");
  assert.equal(
    codeOf(await order({}, await env.as({ role: "operator", factorAgeMs: 700_000 }))),
    "403 step_up_required",
  );
  assert.equal(codeOf(await order({}, await env.as({ role: "operator" }))), "202");
  assert.equal(codeOf(await order({}, await env.as({ role: "viewer" }))), "403 insufficient_role");
});

test("404: a client that is held to other vaults orders nothing of this one", async () => {
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  assert.equal(codeOf(await order({}, held)), "404 not_found");
});

test("409: the hundred and first open order of an agent", async () => {
  const busy = await writeOnlyAgent(env);
  const first = await orderTo(env, busy, { snapshot_id: snapshot.id });
  await env.rows(
    `with made as (
       insert into emanet.restores (id, account_id, vault_id, snapshot_id, target_kind, on_damage, state, bytes_total, files_total,
         created_by_kind, created_by_id, created_at)
       select gen_random_uuid(), account_id, vault_id, snapshot_id, target_kind, on_damage, state, 0, 0, created_by_kind, created_by_id,
         created_at from emanet.restores, generate_series(1, 99) where id = $1 returning id, account_id)
     insert into emanet.restore_orders (restore_id, account_id, agent_id, on_conflict) select id, account_id, $2, 'rename' from made`,
    [first, busy.id],
  );
  assert.equal(codeOf(await order({ agent_id: busy.id })), "409 quota_exceeded");
  assert.equal((await env.send("POST", `/v1/restore/${first}/cancel`)).status, 200);
  assert.equal((await order({ agent_id: busy.id })).status, 202);
});

const failureOf = async (id: string) => (await readRestore(env, id)).failure?.code ?? null;

test("an order whose agent is revoked, or lost the vault, fails; others of the account go on", async () => {
  const [kept, revoked, poor] = [await writeOnlyAgent(env), await writeOnlyAgent(env), await writeOnlyAgent(env)];
  const ids = [];
  for (const one of [kept, revoked, poor]) ids.push(await orderTo(env, one, { snapshot_id: snapshot.id }));
  await new TestRun(env, revoked).take(ids[1] ?? "");
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", revoked.target, { headers })).status, 204);
  await env.rows("update emanet.agent_vaults set removed_at = now() where agent_id = $1", [poor.id]);
  await runTask(env, endRestores, {});
  assert.deepEqual(await Promise.all(ids.map(failureOf)), [null, "agent_revoked", "agent_revoked"]);
});

test("an agent that has not taken an order, or not reported, for 24 hours fails it; one that reports does not", async () => {
  const fresh = await writeOnlyAgent(env);
  const run = new TestRun(env, fresh);
  const waiting = await orderTo(env, fresh, { snapshot_id: snapshot.id });
  const working = await orderTo(env, fresh, { snapshot_id: snapshot.id });
  await run.take(working);
  const hour = 3_600_000;
  await env.rows("update emanet.restores set created_at = created_at - interval '23 hours' where id = any ($1)", [
    [waiting, working],
  ]);
  await runTask(env, endRestores, {});
  assert.deepEqual([await failureOf(waiting), await failureOf(working)], [null, null]);
  await env.rows("update emanet.restores set created_at = created_at - interval '1 hour' where id = any ($1)", [
    [waiting, working],
  ]);
  await runTask(env, endRestores, {});
  assert.deepEqual([await failureOf(waiting), await failureOf(working)], ["agent_absent", null]);
  await env.rows("update emanet.restore_orders set reported_at = $2 where restore_id = $1", [
    ...[working, new Date(env.service.clock.now().getTime() - 24 * hour)],
  ]);
  await runTask(env, endRestores, {});
  assert.equal(await failureOf(working), "agent_absent");
  const { event, failure } = (await eventsOf(env)).at(-1) ?? {};
  assert.deepEqual([event, failure], ["restore.failed", "agent_absent"]);
});

test("an order of a deleted snapshot fails", async () => {
  const { id: gone } = await env.completed("gone", { a: "1" });
  const id = await orderTo(env, agent, { snapshot_id: gone });
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", `/v1/snapshots/${gone}`, { headers })).status, 204);
  await runTask(env, endRestores, {});
  assert.equal(await failureOf(id), "snapshot_deleted");
});
