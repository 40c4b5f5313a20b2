import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { startStaffBench } from "../../../testing/staff.ts";

const { service, staff, get } = await startStaffBench({ after });

test("members of all accounts, and no staff among them", async () => {
  const [one, other] = [await tokenFor(service), await tokenFor(service, { state: "suspended" })];
  const data = listIn<{ id: string; account_id: string }>(await get("/members"), "data");
  for (const { accountId } of [one, other]) assert.ok(data.some(({ account_id: id }) => id === accountId));
  assert.ok(data.every(({ id }) => id !== staff.personId));
});
