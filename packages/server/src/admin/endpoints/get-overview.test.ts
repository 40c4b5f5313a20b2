import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, get, apply } = await startStaffBench({ after });

test("accounts and applications are counted by state", async () => {
  await tokenFor(service, { state: "suspended" });
  await apply("bir@ornek.example");
  const { json } = await get("/overview");
  assert.deepEqual(json, { accounts: { active: 1, suspended: 1 }, applications: { submitted: 1 } });
});
