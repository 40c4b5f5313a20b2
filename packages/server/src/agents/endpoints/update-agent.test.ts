import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { codeOf, makeAgent } from "../testing.ts";

const service = await startTestService({ after });

async function prepare() {
  const owner = await tokenFor(service);
  const agent = await makeAgent(service, owner.accountId ?? "");
  const patch = (auth: Readonly<Record<string, string>>, json: object) =>
    service.send("PATCH", agent.target, { json, headers: auth });
  return { owner, agent, patch };
}

test("an agent reports its machine and what the machine permits, and is seen by it", async () => {
  const { owner, agent, patch } = await prepare();
  const facts = { host: "yeni", os: "Windows 11", version: "2.0", allow_overwrite: true, roots: ["/srv/geri"] };
  assert.equal((await patch(agent.auth, facts)).status, 200);
  const { json } = await service.send("GET", agent.target, { headers: owner.auth });
  const { host, os, version, allow_overwrite, roots } = json ?? {};
  assert.deepEqual({ host, os, version, allow_overwrite, roots }, facts);
  assert.equal(json?.online, true);
});

test("422: an agent gives itself no vaults, and people do not say what a machine permits", async () => {
  const { owner, agent, patch } = await prepare();
  assert.equal(codeOf(await patch(agent.auth, { vaults: [] })), "422 validation_failed");
  for (const json of [{ allow_overwrite: true }, { roots: ["/"] }, { host: "x" }, { os: "x" }, { version: "x" }])
    assert.equal(codeOf(await patch(owner.auth, json)), "422 validation_failed", JSON.stringify(json));
});

test("people rename an agent: managers and owners with a fresh factor; other agents find nothing", async () => {
  const { owner, patch } = await prepare();
  const accountId = owner.accountId ?? "";
  const as = async (bearer: Parameters<typeof tokenFor>[1]) =>
    codeOf(await patch((await tokenFor(service, { accountId, ...bearer })).auth, { name: "Yeni ad" }));
  assert.equal(await as({ role: "operator" }), "403 insufficient_role");
  assert.equal(await as({ factorAgeMs: 3_600_000 }), "403 step_up_required");
  assert.equal(await as({ as: "client" }), "404 not_found");
  assert.equal(
    codeOf(await patch((await makeAgent(service, accountId, { seed: 2 })).auth, { name: "Ben" })),
    "404 not_found",
  );
  assert.equal(await as({ role: "manager" }), "200");
});

test("412: an agent that has changed since it was read", async () => {
  const { owner, agent } = await prepare();
  const headers = { ...owner.auth, "if-match": '"other"' };
  assert.equal(
    codeOf(await service.send("PATCH", agent.target, { json: { name: "x" }, headers })),
    "412 precondition_failed",
  );
});
