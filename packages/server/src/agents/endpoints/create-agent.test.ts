import assert from "node:assert/strict";
import { after, test } from "node:test";
import { makeClient } from "../../accounts/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn, objectIn } from "../../testing/lists.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { settledMessages } from "../../testing/sent-messages.ts";
import { makeVault } from "../../vaults/testing.ts";
import { codeOf, deviceGrant, keyOf, makeAgent, proofOf } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";
const [defaultVault] = await storedRows<{ id: string }>(
  service.database,
  "select id from emanet.vaults where account_id = $1",
  [accountId],
);

test("a device grant registers its own key with the default vault and gets what it needs to write", async () => {
  const agent = await makeAgent(service, accountId, { json: { host: "sunucu-1", os: "Linux", version: "1.0" } });
  assert.deepEqual(
    agent.keys.map(({ vault_id }) => vault_id),
    [defaultVault?.id],
  );
  const [keys] = agent.keys;
  const registration = Buffer.from(keys?.registration ?? "", "base64");
  assert.deepEqual(registration.subarray(0, 32), Buffer.from(agent.key.publicKey), "the registration is of its key");
  assert.equal(keys?.epoch, 1);
  const { json } = await service.send("GET", agent.target, { headers: owner.auth });
  assert.deepEqual(
    [json?.host, json?.os, json?.version, json?.vaults, json?.online, json?.last_result, json?.writer],
    ["sunucu-1", "Linux", "1.0", [defaultVault?.id], false, null, { kind: "agent", id: agent.sessionId }],
  );
  const [record] = await storedRows<{ action: string; actor: { kind: string } }>(
    service.database,
    "select action, actor from emanet.audit_records where account_id = $1 and action = 'agent.created'",
    [accountId],
  );
  assert.equal(record?.actor.kind, "agent");
  const events = await storedRows<{ payload: string }>(
    service.database,
    "select payload from emanet.events where account_id = $1 and type = 'agent.registered'",
    [accountId],
  );
  assert.ok(
    events.some(({ payload }) => payload.includes(agent.id)),
    "the dashboard hears of it",
  );
  const mails = (await settledMessages(service)).filter(({ template }) => template === "agent_created");
  assert.ok(
    mails.some(({ to }) => to === `${owner.personId}@test.example`),
    "the owner is told",
  );
});

test("the same request again gets the same agent; another key of the same grant is refused", async () => {
  const agent = await makeAgent(service, accountId, { seed: 2 });
  const again = async (seed: number) => {
    const json = { name: "Sunucu", ...proofOf(accountId, { kind: "agent", id: agent.sessionId }, keyOf(seed)) };
    return service.send("POST", "/v1/agents", { json, headers: agent.auth });
  };
  const second = await again(2);
  assert.equal(objectIn<{ id: string }>(second, "agent").id, agent.id);
  assert.deepEqual(second.json?.keys, agent.keys);
  assert.equal(codeOf(await again(3)), "409 state_conflict");
});

test("422: a signature of another key, for another account, or for another grant is no proof", async () => {
  const grant = await deviceGrant(service, accountId);
  const key = keyOf(4);
  const writer = { kind: "agent", id: grant.sessionId } as const;
  const right = proofOf(accountId, writer, key);
  const proofs = [
    { ...right, signature: proofOf(accountId, writer, keyOf(5)).signature },
    proofOf(grant.sessionId, writer, key),
    proofOf(accountId, { kind: "agent", id: owner.sessionId }, key),
    { ...right, public_key: Buffer.alloc(32, 0xff).toString("base64") },
  ];
  for (const proof of proofs) {
    const answer = await service.send("POST", "/v1/agents", { json: { name: "X", ...proof }, headers: grant.auth });
    assert.equal(codeOf(answer), "422 validation_failed");
    assert.deepEqual(
      listIn<{ pointer: string }>(answer, "errors").map(({ pointer }) => pointer),
      ["/signature"],
    );
  }
});

test("409: a key belongs to one agent of the account for ever", async () => {
  await makeAgent(service, accountId, { seed: 6 });
  const grant = await deviceGrant(service, accountId);
  const json = { name: "Kopya", ...proofOf(accountId, { kind: "agent", id: grant.sessionId }, keyOf(6)) };
  assert.equal(codeOf(await service.send("POST", "/v1/agents", { json, headers: grant.auth })), "409 state_conflict");
});

test("422: vaults of another account and vaults that do not exist", async () => {
  const other = await tokenFor(service);
  const [theirs] = await storedRows<{ id: string }>(
    service.database,
    "select id from emanet.vaults where account_id = $1",
    [other.accountId],
  );
  for (const vaults of [[theirs?.id], [other.sessionId], [defaultVault?.id, theirs?.id], []]) {
    const grant = await deviceGrant(service, accountId);
    const proof = proofOf(accountId, { kind: "agent", id: grant.sessionId }, keyOf(7));
    const json = { name: "X", vaults, ...proof };
    const answer = await service.send("POST", "/v1/agents", { json, headers: grant.auth });
    assert.equal(codeOf(answer), "422 validation_failed", JSON.stringify(vaults));
  }
});

test("a person registers the key of an OAuth client: a manager or owner with a fresh factor, nobody else", async () => {
  const { client } = await makeClient(service, owner.auth, { scopes: ["snapshots:write"] });
  const proof = proofOf(accountId, { kind: "client", id: client.id }, keyOf(8));
  const json = { name: "Gece", client_id: client.id, ...proof };
  const by = async (bearer: Parameters<typeof tokenFor>[1]) => {
    const { auth: headers } = await tokenFor(service, { accountId, ...bearer });
    return codeOf(await service.send("POST", "/v1/agents", { json, headers }));
  };
  assert.equal(await by({ role: "operator" }), "403 insufficient_role");
  assert.equal(await by({ role: "viewer" }), "403 insufficient_role");
  assert.equal(await by({ factorAgeMs: 3_600_000 }), "403 step_up_required");
  assert.equal(await by({ as: "client" }), "422 validation_failed", "a client registers itself only");
  assert.equal(await by({ as: "grant" }), "403 insufficient_scope");
  assert.equal(await by({ role: "manager" }), "201");
  const { client_id: _unnamed, ...without } = json;
  const unnamed = await service.send("POST", "/v1/agents", { json: without, headers: owner.auth });
  assert.equal(codeOf(unnamed), "422 validation_failed");
});

test("422: a client of another account, and one that is held to other vaults", async () => {
  const other = await tokenFor(service);
  const theirs = await makeClient(service, other.auth, { scopes: ["snapshots:write"] });
  const vault = await makeVault(service, owner.auth);
  const held = await makeClient(service, owner.auth, { scopes: ["snapshots:write"], vault_ids: [vault] });
  for (const { client } of [theirs, held]) {
    const proof = proofOf(accountId, { kind: "client", id: client.id }, keyOf(9));
    for (const vaults of [undefined, [defaultVault?.id]]) {
      const json = { name: "X", client_id: client.id, ...(vaults && { vaults }), ...proof };
      const answer = await service.send("POST", "/v1/agents", { json, headers: owner.auth });
      assert.equal(codeOf(answer), "422 validation_failed");
    }
  }
});

test("an OAuth client registers its own first key; another key is refused; it adds vaults that it may use", async () => {
  const client = await tokenFor(service, { as: "client", accountId, scopes: ["snapshots:write"] });
  const ask = async (seed: number, more: object = {}) => {
    const proof = proofOf(accountId, { kind: "client", id: client.clientId ?? "" }, keyOf(seed));
    return service.send("POST", "/v1/agents", { json: { name: "Sunucu", ...proof, ...more }, headers: client.auth });
  };
  const first = await ask(10);
  assert.equal(first.status, 201, first.body.toString());
  assert.deepEqual(objectIn<{ vaults: string[] }>(first, "agent").vaults, [defaultVault?.id]);
  assert.equal(codeOf(await ask(11)), "409 state_conflict");
  const vault = await service.send("POST", "/v1/vaults", { json: { name: "Ek" }, headers: owner.auth });
  const added = await ask(10, { vaults: [vault.json?.id] });
  assert.equal(added.status, 201, added.body.toString());
  assert.deepEqual(
    listIn<{ vault_id: string }>(added, "keys").map(({ vault_id }) => vault_id),
    [defaultVault?.id, vault.json?.id],
  );
});

test("a client that is held to vaults registers with these and with no other", async () => {
  const vault = await service.send("POST", "/v1/vaults", { json: { name: "Tek" }, headers: owner.auth });
  const held = String(vault.json?.id);
  const client = await tokenFor(service, { as: "client", accountId, scopes: ["snapshots:write"], vaultIds: [held] });
  const proof = proofOf(accountId, { kind: "client", id: client.clientId ?? "" }, keyOf(12));
  const ask = (more: object) =>
    service.send("POST", "/v1/agents", { json: { name: "Sunucu", ...proof, ...more }, headers: client.auth });
  assert.equal(codeOf(await ask({ vaults: [defaultVault?.id] })), "422 validation_failed");
  const made = await ask({});
  assert.deepEqual(objectIn<{ vaults: string[] }>(made, "agent").vaults, [held]);
  assert.equal(codeOf(await ask({ vaults: [held, defaultVault?.id] })), "422 validation_failed");
});
