import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, staff, get } = await startStaffBench({ after });

test("staff resume an export of staff; that of an account is not theirs, and theirs is not the account's", async () => {
  const whole = await get("/audit/export?format=csv");
  const id = whole.headers["x-export-id"];
  const headers = { ...staff.auth, range: "bytes=10-" };
  const part = await service.send("GET", `/v1/admin/audit/export/${id}`, { headers });
  assert.deepEqual([part.status, part.body], [206, whole.body.subarray(10)]);
  const owner = await tokenFor(service);
  assert.equal((await service.send("GET", `/v1/audit/export/${id}`, { headers: owner.auth })).status, 404);
  const own = await service.send("GET", "/v1/audit/export", { headers: owner.auth });
  assert.equal((await get(`/audit/export/${own.headers["x-export-id"]}`)).status, 404);
});
