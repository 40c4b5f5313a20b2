import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { limitedEndpoints } from "../../testing/limited.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { messageTo } from "../../testing/sent-messages.ts";

const service = await startTestService({ after }, { extra: limitedEndpoints });
const staff = await tokenFor(service, { as: "staff" });
const act = (path: string, json: unknown) => service.send("POST", `/v1/admin${path}`, { json, headers: staff.auth });
const read = (path: string) => service.send("GET", `/v1/admin${path}`, { headers: staff.auth });

async function audited(accountId: string | null): Promise<readonly string[]> {
  const text = "select action from emanet.audit_records where account_id = $1 order by seq";
  return (await storedRows<{ action: string }>(service.database, text, [accountId])).map(({ action }) => action);
}

describe("rates for one account", () => {
  test("count from the next request on, are audited, and can be put back", async () => {
    const { auth, accountId } = await tokenFor(service);
    const make = async () =>
      (await service.send("POST", "/v1/test-snapshots", { headers: auth })).headers["x-ratelimit-limit"];
    assert.equal(await make(), "10");
    const rate = { policy: "snapshots_create", limit: 25, window_s: 60, reason: "a benchmark" };
    const set = await act(`/accounts/${accountId}/limits`, rate);
    assert.deepEqual([set.status, set.json?.limit], [200, 25]);
    assert.equal(await make(), "25");
    const back = await act(`/accounts/${accountId}/limits/reset`, { policy: "snapshots_create", reason: "it is over" });
    assert.equal(back.status, 204);
    assert.equal(await make(), "10");
    assert.deepEqual(await audited(accountId), ["account.limit_set", "account.limit_reset"]);
    assert.equal((await act(`/accounts/${randomUUID()}/limits`, rate)).status, 404);
  });
});

describe("requests of accounts", () => {
  const ask = async (auth: Record<string, string>) => {
    const json = { policy: "package", limit: 6000, window_s: 60, burst: 9000, reason: "for a test" };
    return (await service.send("POST", "/v1/rate-limits/requests", { json, headers: auth })).json?.id;
  };

  test("are listed; approving sets the rate and tells the owners, and happens once", async () => {
    const owner = await tokenFor(service);
    const id = await ask(owner.auth);
    const listed = (await read("/rate-limit-requests?state=pending")).json?.data as { id: string }[];
    assert.ok(listed.some((row) => row.id === id));
    const decided = await act(`/rate-limit-requests/${id}/approve`, { reason: "paid for" });
    assert.deepEqual([decided.status, decided.json?.state], [200, "approved"]);
    const answer = await service.send("GET", "/v1/account", { headers: owner.auth });
    assert.equal(answer.headers["x-ratelimit-limit"], "9000");
    await messageTo(service.dataDir, `${owner.personId}@test.example`, "limit_decided");
    const again = await act(`/rate-limit-requests/${id}/reject`, { reason: "changed my mind" });
    assert.equal(again.json?.code, "state_conflict");
    assert.deepEqual(await audited(owner.accountId), ["rate_limit.requested", "rate_limit.request_approved"]);
  });

  test("rejecting leaves the rate as it was, and another may be asked for", async () => {
    const owner = await tokenFor(service);
    const id = await ask(owner.auth);
    assert.equal((await act(`/rate-limit-requests/${id}/reject`, { reason: "not needed" })).json?.state, "rejected");
    const answer = await service.send("GET", "/v1/account", { headers: owner.auth });
    assert.equal(answer.headers["x-ratelimit-limit"], "3000");
    assert.ok(await ask(owner.auth));
    assert.equal((await act(`/rate-limit-requests/${randomUUID()}/approve`, { reason: "none" })).status, 404);
  });
});

test("GET /v1/admin/rate-limits: the accounts nearest to a limit come first", async () => {
  const { auth, accountId } = await tokenFor(service);
  for (let count = 0; count < 9; count++) await service.send("POST", "/v1/test-snapshots", { headers: auth });
  const { data } = (await read("/rate-limits")).json ?? assert.fail();
  const [first] = data as Record<string, unknown>[];
  const { account_id, policy, remaining, used_percent } = first ?? {};
  assert.deepEqual(
    { account_id, policy, remaining, used_percent },
    { account_id: accountId, policy: "snapshots_create", remaining: 1, used_percent: 90 },
  );
});
