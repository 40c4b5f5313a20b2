import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act } = await startStaffBench({ after });

test("early access is shown in the account, and switching it is in the account's own chain", async () => {
  const owner = await tokenFor(service);
  for (const early_access of [true, false]) {
    assert.equal((await act(`/accounts/${owner.accountId}/early-access`, { early_access })).status, 200);
    const account = await service.send("GET", "/v1/account", { headers: owner.auth });
    assert.equal(account.json?.early_access, early_access);
  }
  const acts = await auditOf(service, owner.accountId);
  assert.deepEqual(acts.slice(-2), [
    ["account.early_access_set", "staff", reason],
    ["account.early_access_set", "staff", reason],
  ]);
});
