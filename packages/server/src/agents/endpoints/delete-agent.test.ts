import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { jobsDone, settledMessages } from "../../testing/sent-messages.ts";
import { codeOf, deviceGrant, keyOf, makeAgent, proofOf } from "../testing.ts";

const service = await startTestService({ after });

test("a revoked agent: its token is refused at once, the chain of its vault has the record, its key never comes back", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const agent = await makeAgent(service, accountId);
  assert.equal((await service.send("DELETE", agent.target, { headers: owner.auth })).status, 204);
  assert.equal(codeOf(await service.send("GET", `${agent.target}/keys`, { headers: agent.auth })), "401 invalid_token");
  assert.equal(codeOf(await service.send("GET", agent.target, { headers: owner.auth })), "404 not_found");
  await jobsDone(service, "agents.record_revocation");
  const mails = (await settledMessages(service)).filter(({ template }) => template === "agent_removed");
  assert.ok(mails.some(({ to }) => to === `${owner.personId}@test.example`));
  const vault = await service.running.services?.vaults.open(accountId, agent.keys[0]?.vault_id ?? "");
  assert.ok(vault !== undefined);
  assert.notEqual(await vault.catalog.revokedFrom(Buffer.from(agent.key.id).toString("hex")), null);
  const revoked = [...(await vault.chain.read()).revoked.keys()];
  assert.deepEqual(revoked, [Buffer.from(agent.key.id).toString("hex")]);
  const [row] = await storedRows<{ recorded: Date | null }>(
    service.database,
    "select revocation_recorded_at as recorded from emanet.agent_vaults where agent_id = $1",
    [agent.id],
  );
  assert.notEqual(row?.recorded, null);
  const grant = await deviceGrant(service, accountId);
  const json = { name: "Geri", ...proofOf(accountId, { kind: "agent", id: grant.sessionId }, keyOf(1)) };
  assert.equal(codeOf(await service.send("POST", "/v1/agents", { json, headers: grant.auth })), "409 state_conflict");
});

test("403: operators, programs and the agent itself cannot revoke; also an old second factor is not enough", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const agent = await makeAgent(service, accountId, { seed: 2 });
  const by = async (bearer: Parameters<typeof tokenFor>[1]) => {
    const { auth: headers } = await tokenFor(service, { accountId, ...bearer });
    return codeOf(await service.send("DELETE", agent.target, { headers }));
  };
  assert.equal(await by({ role: "operator" }), "403 insufficient_role");
  assert.equal(await by({ as: "client" }), "403 insufficient_scope");
  assert.equal(await by({ factorAgeMs: 3_600_000 }), "403 step_up_required");
  const itself = await service.send("DELETE", agent.target, { headers: agent.auth });
  assert.equal(codeOf(itself), "403 insufficient_scope");
  assert.equal(await by({ role: "manager" }), "204");
});
