import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const staff = await tokenFor(service, { as: "staff" });

describe("GET /v1/admin/overview and audit", () => {
  test("counts by state", async () => {
    await tokenFor(service, { state: "suspended" });
    const answer = await service.send("GET", "/v1/admin/overview", { headers: staff.auth });
    assert.deepEqual(answer.json?.accounts, { active: 1, suspended: 1 });
  });

  test("the audit trail of every chain, newest first, by account and by act", async () => {
    const owner = await tokenFor(service);
    await service.send("PATCH", "/v1/account", { json: { name: "Ad" }, headers: owner.auth });
    const target = `/v1/admin/audit?account_id=${owner.accountId}&action=account.changed`;
    const answer = await service.send("GET", target, { headers: staff.auth });
    const [record] = listIn<{ chain: string; actor: { id: string } }>(answer, "data");
    assert.equal(record?.chain, owner.accountId);
    assert.equal(record?.actor.id, owner.personId);
    const all = await service.send("GET", "/v1/admin/audit?limit=1", { headers: staff.auth });
    assert.equal(listIn<unknown>(all, "data").length, 1);
    assert.equal(all.json?.has_more, true);
  });
});
