import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { objectIn } from "../../testing/lists.ts";
import { startTestService } from "../../testing/running.ts";
import { auditedActions, defaultVaultId } from "../../vaults/testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const staff = await tokenFor(service, { as: "staff" });

test("staff pause and resume; the customer sees it in the vault and in the audit trail; others may not", async () => {
  const id = await defaultVaultId(service, owner.auth);
  const call = (paused: boolean, headers = staff.auth) =>
    service.send("POST", `/v1/admin/vaults/${id}/upkeep`, { json: { paused, reason: "inceleme" }, headers });
  const isPaused = async () =>
    objectIn<{ paused: boolean }>(await service.send("GET", `/v1/vaults/${id}`, { headers: owner.auth }), "upkeep")
      .paused;
  assert.equal((await call(true, owner.auth)).json?.code, "admin_required");
  assert.deepEqual((await call(true)).json, { paused: true });
  assert.equal(await isPaused(), true);
  assert.deepEqual((await call(false)).json, { paused: false });
  assert.equal(await isPaused(), false);
  const actions = await auditedActions(service, owner.accountId);
  assert.deepEqual(actions.slice(-2), ["vault.upkeep_paused", "vault.upkeep_resumed"]);
  const unknown = "/v1/admin/vaults/0199c0de-0000-7000-8000-00000000dead/upkeep";
  const json = { paused: true, reason: "inceleme" };
  assert.equal((await service.send("POST", unknown, { json, headers: staff.auth })).status, 404);
});
