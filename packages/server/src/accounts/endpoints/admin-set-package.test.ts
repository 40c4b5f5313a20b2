import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act } = await startStaffBench({ after });

test("the package decides about the API at once; 403 says what is needed and what there is", async () => {
  const { accountId, auth } = await tokenFor(service, { package: "starter", kind: "api" });
  const ask = () => service.send("GET", "/v1/oauth-clients", { headers: auth });
  const { code, required, current } = (await ask()).json ?? {};
  assert.deepEqual([code, required, current], ["package_required", "accountant", "starter"]);
  assert.equal((await act(`/accounts/${accountId}/package`, { package: "accountant" })).json?.package, "accountant");
  assert.equal((await ask()).status, 200);
  await act(`/accounts/${accountId}/package`, { package: "professional" });
  assert.equal((await ask()).status, 403);
  assert.deepEqual((await auditOf(service, accountId)).at(-1), ["account.package_set", "staff", reason]);
});
