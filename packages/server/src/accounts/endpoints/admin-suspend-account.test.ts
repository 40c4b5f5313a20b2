import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act } = await startStaffBench({ after });

test("a suspension counts from the next request on, emits an event, and is in the account's own chain", async () => {
  const owner = await tokenFor(service);
  const suspend = () => act(`/accounts/${owner.accountId}/suspend`, { cause: "unpaid" });
  const rename = () => service.send("PATCH", "/v1/account", { json: { name: "Ad" }, headers: owner.auth });
  assert.equal((await rename()).status, 200);
  assert.equal((await suspend()).json?.state, "suspended");
  assert.equal((await rename()).json?.code, "account_suspended");
  assert.equal((await service.send("GET", "/v1/account", { headers: owner.auth })).status, 200);
  assert.equal((await suspend()).status, 409);
  const query = "select payload from emanet.events where account_id = $1";
  const events = await storedRows<{ payload: string }>(service.database, query, [owner.accountId]);
  const told = events.map(({ payload }) => JSON.parse(payload) as { event: string; reason: string });
  assert.deepEqual(
    told.map((one) => [one.event, one.reason]),
    [["account.suspended", "unpaid"]],
  );
  assert.deepEqual((await auditOf(service, owner.accountId)).at(-1), ["account.suspended", "staff", reason]);
});
