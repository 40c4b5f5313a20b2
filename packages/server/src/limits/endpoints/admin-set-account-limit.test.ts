import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { limitedEndpoints } from "../../testing/limited.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after }, { extra: limitedEndpoints });

const staff = await tokenFor(service, { as: "staff" });

const act = (path: string, json: unknown) => service.send("POST", `/v1/admin${path}`, { json, headers: staff.auth });

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
