import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act } = await startStaffBench({ after });

test("an entitlement is more or less than the package says, and null goes back to it", async () => {
  for (const [name, byPackage] of [
    ["starter", 403],
    ["corporate", 200],
  ] as const) {
    const { accountId, auth } = await tokenFor(service, { package: name, kind: "api" });
    const ask = async () => (await service.send("GET", "/v1/oauth-clients", { headers: auth })).status;
    const set = (enabled: boolean | null) =>
      act(`/accounts/${accountId}/entitlements`, { entitlement: "api", enabled });
    assert.equal(await ask(), byPackage, name);
    await set(byPackage !== 200);
    assert.equal(await ask(), byPackage === 200 ? 403 : 200, name);
    await set(null);
    assert.equal(await ask(), byPackage, name);
    assert.deepEqual((await auditOf(service, accountId)).at(-1), ["account.entitlement_set", "staff", reason]);
  }
});
