import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { makeVault } from "../../vaults/testing.ts";
import { codeOf, makeAgent, type TestAgent } from "../testing.ts";

const service = await startTestService({ after });

async function prepare() {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const own = await makeVault(service, owner.auth, "Taşınan");
  const old = await makeAgent(service, accountId, { seed: 1, json: { vaults: [own] } });
  const source = await service.send("POST", "/v1/snapshots", {
    ...{ json: { source: "sunucu", vault_id: own }, headers: old.auth },
  });
  assert.equal(source.status, 201, source.body.toString());
  const fresh = await makeAgent(service, accountId, { seed: 2 });
  const replace = (auth: Readonly<Record<string, string>>, id = fresh.id, agentId = old.id) =>
    service.send("POST", `/v1/agents/${id}/replace`, { json: { agent_id: agentId }, headers: auth });
  return { owner, accountId, own, old, fresh, replace };
}

const upload = (agent: TestAgent, vaultId: string) =>
  service.send("POST", "/v1/snapshots", { json: { source: "sunucu", vault_id: vaultId }, headers: agent.auth });

test("200: the new agent has the vaults and the sources of the old one, which is revoked", async () => {
  const { owner, accountId, own, old, fresh, replace } = await prepare();
  assert.notEqual((await upload(fresh, own)).status, 201);
  const answer = await replace(owner.auth);
  assert.equal(answer.status, 200, answer.body.toString());
  const { vaults } = answer.json as unknown as { vaults: readonly string[] };
  assert.ok(vaults.includes(own) && vaults.length === 2);
  assert.equal((await upload(fresh, own)).status, 201);
  assert.equal(codeOf(await upload(old, own)), "401 invalid_token");
  assert.equal(codeOf(await service.send("GET", old.target, { headers: owner.auth })), "404 not_found");
  const keys = await service.send("GET", `${fresh.target}/keys`, { headers: fresh.auth });
  assert.equal((keys.json as unknown as { keys: readonly object[] }).keys.length, 2);
  const [record] = await storedRows<{ targets: readonly { id: string }[] }>(
    service.database,
    "select targets from emanet.audit_records where account_id = $1 and action = 'agent.replaced'",
    [accountId],
  );
  assert.deepEqual(
    record?.targets.map(({ id }) => id),
    [old.id, fresh.id],
  );
  assert.equal(codeOf(await replace(owner.auth)), "422 validation_failed", "the old one is gone");
});

test("of two replacements at the same time, crosswise too, one happens", async () => {
  const { owner, old, fresh, replace } = await prepare();
  const answers = await Promise.all([replace(owner.auth), replace(owner.auth, old.id, fresh.id), replace(owner.auth)]);
  assert.equal(answers.filter(({ status }) => status === 200).length, 1, answers.map(codeOf).join(", "));
});

test("403 and 422: who may, and which agents", async () => {
  const { owner, accountId, old, fresh, replace } = await prepare();
  const as = async (bearer: Parameters<typeof tokenFor>[1]) =>
    codeOf(await replace((await tokenFor(service, { accountId, ...bearer })).auth));
  assert.equal(await as({ role: "operator" }), "403 insufficient_role");
  assert.equal(await as({ factorAgeMs: 3_600_000 }), "403 step_up_required");
  assert.equal(await as({ as: "client" }), "403 insufficient_scope");
  assert.equal(codeOf(await replace(fresh.auth)), "403 insufficient_scope");
  const stranger = await tokenFor(service);
  const theirs = await makeAgent(service, stranger.accountId ?? "", { seed: 9 });
  assert.equal(codeOf(await replace(stranger.auth)), "404 not_found");
  for (const wrong of [fresh.id, theirs.id, randomUUID()])
    assert.equal(codeOf(await replace(owner.auth, fresh.id, wrong)), "422 validation_failed");
  assert.equal(codeOf(await service.send("GET", old.target, { headers: owner.auth })), "200");
});
