import assert from "node:assert/strict";
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
});
