import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act } = await startStaffBench({ after });

test("a resumed account writes again from the next request on; 409 for one that is not suspended", async () => {
  const owner = await tokenFor(service, { state: "suspended" });
  const rename = () => service.send("PATCH", "/v1/account", { json: { name: "Ad" }, headers: owner.auth });
  assert.equal((await rename()).json?.code, "account_suspended");
  assert.equal((await act(`/accounts/${owner.accountId}/resume`)).json?.state, "active");
  assert.deepEqual((await auditOf(service, owner.accountId)).at(-1), ["account.resumed", "staff", reason]);
  assert.equal((await rename()).status, 200);
  assert.equal((await act(`/accounts/${owner.accountId}/resume`)).status, 409);
});
