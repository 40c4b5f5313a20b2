import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, get } = await startStaffBench({ after });

test("staff see the state of a chain; before the first night it was not checked", async () => {
  const owner = await tokenFor(service);
  await service.send("PATCH", "/v1/account", { json: { name: "Ad" }, headers: owner.auth });
  const { json } = await get(`/audit/chains/${owner.accountId}`);
  assert.deepEqual([json?.records, json?.checked_at, json?.bad_seq], [1, null, null]);
  assert.equal((await get("/audit/chains/platform")).status, 200);
  assert.equal((await get("/audit/chains/Platform")).status, 422);
});
