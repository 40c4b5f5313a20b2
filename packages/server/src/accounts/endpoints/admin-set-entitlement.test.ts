import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act, get } = await startStaffBench({ after });

test("an entitlement is more or less than the package says, and null goes back to it", async () => {
  for (const [name, byPackage] of [
    ["starter", 403],
    ["corporate", 200],
  ] as const) {
    const { accountId, auth } = await tokenFor(service, { package: name, kind: "api" });
    const ask = async () => (await service.send("GET", "/v1/oauth-clients", { headers: auth })).status;
    const set = (enabled: boolean | null) =>
      act(`/accounts/${accountId}/entitlements`, { entitlement: "api", enabled });
    const shown = async () => (await get(`/accounts/${accountId}`)).json?.entitlements as string[];
    const included = await shown();
    assert.deepEqual(included, included.toSorted());
    assert.equal(await ask(), byPackage, name);
    await set(byPackage !== 200);
    assert.equal(await ask(), byPackage === 200 ? 403 : 200, name);
    const without = included.filter((entitlement) => entitlement !== "api");
    assert.deepEqual(await shown(), byPackage === 200 ? without : [...without, "api"].toSorted());
    await set(null);
    assert.equal(await ask(), byPackage, name);
    assert.deepEqual(await shown(), included);
    assert.deepEqual((await auditOf(service, accountId)).at(-1), ["account.entitlement_set", "staff", reason]);
  }
});
