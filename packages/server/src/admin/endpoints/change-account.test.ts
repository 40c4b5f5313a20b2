import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const staff = await tokenFor(service, { as: "staff" });
const owner = await tokenFor(service, { package: "starter" });
const apiToken = await tokenFor(service, { accountId: owner.accountId ?? "", kind: "api" });

async function act(verb: string, json: object) {
  const target = `/v1/admin/accounts/${owner.accountId}/${verb}`;
  return service.send("POST", target, { json: { reason: "test gerekçesi", ...json }, headers: staff.auth });
}

async function clients(): Promise<string> {
  const answer = await service.send("GET", "/v1/oauth-clients", { headers: apiToken.auth });
  return `${answer.status} ${answer.json?.code ?? ""}`;
}

describe("changes of an account by staff", () => {
  test("a suspension counts from the next request on, is told of by an event, and ends by resuming", async () => {
    const rename = () => service.send("PATCH", "/v1/account", { json: { name: "Ad" }, headers: owner.auth });
    assert.equal((await rename()).status, 200);
    assert.equal((await act("suspend", { cause: "unpaid" })).json?.state, "suspended");
    assert.equal((await rename()).json?.code, "account_suspended");
    assert.equal((await service.send("GET", "/v1/account", { headers: owner.auth })).status, 200);
    assert.equal((await act("suspend", { cause: "unpaid" })).status, 409);
    const events = await storedRows<{ payload: string }>(
      service.database,
      "select payload from emanet.events where account_id = $1",
      [owner.accountId],
    );
    assert.deepEqual(
      events.map(({ payload }) => JSON.parse(payload).event),
      ["account.suspended"],
    );
    assert.equal(JSON.parse(events[0]?.payload ?? "{}").reason, "unpaid");
    assert.equal((await act("resume", {})).json?.state, "active");
    assert.equal((await rename()).status, 200);
  });

  test("package and entitlement decide about the API at once; 403 says what is needed and what there is", async () => {
    const refused = await service.send("GET", "/v1/oauth-clients", { headers: apiToken.auth });
    assert.deepEqual(
      [refused.json?.code, refused.json?.required, refused.json?.current],
      ["package_required", "accountant", "starter"],
    );
    await act("package", { package: "accountant" });
    assert.equal(await clients(), "200 ");
    await act("entitlements", { entitlement: "api", enabled: false });
    assert.equal(await clients(), "403 package_required");
    await act("package", { package: "starter" });
    await act("entitlements", { entitlement: "api", enabled: true });
    assert.equal(await clients(), "200 ");
    await act("entitlements", { entitlement: "api", enabled: null });
    assert.equal(await clients(), "403 package_required");
  });

  test("early access is shown in the account; every act is in the account's own chain, with its reason", async () => {
    await act("early-access", { early_access: true });
    const account = await service.send("GET", "/v1/account", { headers: owner.auth });
    assert.equal(account.json?.early_access, true);
    const rows = await storedRows<{ action: string; actor: { kind: string }; metadata: { reason?: string } }>(
      service.database,
      "select action, actor, metadata from emanet.audit_records where account_id = $1 and actor->>'kind' = 'staff'",
      [owner.accountId],
    );
    assert.ok(rows.length >= 7);
    assert.ok(rows.every(({ metadata }) => metadata.reason === "test gerekçesi"));
  });
});
