import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, get } = await startStaffBench({ after });

test("staff read any account, its tax number masked; 404 for what is none", async () => {
  const owner = await tokenFor(service);
  const read = await get(`/accounts/${owner.accountId}`);
  assert.deepEqual([read.status, read.json?.id, read.json?.tax_id], [200, owner.accountId, "******7808"]);
  assert.equal((await get(`/accounts/${owner.personId}`)).status, 404);
});
