import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const staff = await tokenFor(service, { as: "staff" });

test("the requests of all accounts are listed with their account; state narrows them", async () => {
  const owner = await tokenFor(service);
  const json = { policy: "package", limit: 6000, window_s: 60, burst: 9000, reason: "for a test" };
  const asked = await service.send("POST", "/v1/rate-limits/requests", { json, headers: owner.auth });
  const listed = async (state: string) => {
    const target = `/v1/admin/rate-limit-requests?state=${state}`;
    const { data } = (await service.send("GET", target, { headers: staff.auth })).json ?? assert.fail();
    return (data as { id: string; account_id: string }[]).map(({ id, account_id }) => [id, account_id]);
  };
  assert.deepEqual(await listed("pending"), [[asked.json?.id, owner.accountId]]);
  assert.deepEqual(await listed("approved"), []);
});
