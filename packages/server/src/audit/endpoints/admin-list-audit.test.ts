import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, get } = await startStaffBench({ after });

test("the audit trail of every chain, newest first, by account and by act", async () => {
  const owner = await tokenFor(service);
  await service.send("PATCH", "/v1/account", { json: { name: "Ad" }, headers: owner.auth });
  const answer = await get(`/audit?account_id=${owner.accountId}&action=account.changed`);
  const records = listIn<{ chain: string; actor: { id: string } }>(answer, "data");
  assert.deepEqual(
    records.map(({ chain, actor }) => [chain, actor.id]),
    [[owner.accountId, owner.personId]],
  );
  const all = await get("/audit?limit=1");
  assert.equal(listIn<unknown>(all, "data").length, 1);
  assert.equal(all.json?.has_more, true);
});
