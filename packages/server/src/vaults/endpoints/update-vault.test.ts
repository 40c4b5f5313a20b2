import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { auditedActions, defaultVaultId, namesIn } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const id = await defaultVaultId(service, owner.auth);
const change = (json: object) => service.send("PATCH", `/v1/vaults/${id}`, { json, headers: owner.auth });
const warnings = () =>
  storedRows(service.database, "select 1 from emanet.events where account_id = $1 and type = 'vault.quota_warning'", [
    owner.accountId,
  ]);

describe("PATCH /v1/vaults/{id}", () => {
  test("200: another name, also of the default vault, and it is sorted by it", async () => {
    const answer = await change({ name: "Ana kasa" });
    assert.deepEqual([answer.status, answer.json?.name, answer.json?.version], [200, "Ana kasa", 2]);
    await service.send("POST", "/v1/vaults", { json: { name: "Bodrum" }, headers: owner.auth });
    assert.deepEqual(await namesIn(service, owner.auth, "/v1/vaults?sort=name"), ["Ana kasa", "Bodrum"]);
    assert.deepEqual(await auditedActions(service, owner.accountId), ["vault.changed", "vault.created"]);
  });

  test("200: a warning that is reached already is sent at once, and once", async () => {
    await storedRows(service.database, "update emanet.vaults set stored_bytes = 500 where id = $1", [id]);
    await change({ quota_bytes: 600, quota_warning_bytes: 501 });
    assert.equal((await warnings()).length, 0);
    await change({ quota_warning_bytes: 500 });
    await change({ quota_warning_bytes: 400 });
    assert.equal((await warnings()).length, 1);
    const raised = await change({ quota_warning_bytes: null, quota_bytes: null });
    assert.deepEqual([raised.json?.quota_bytes, raised.json?.quota_warning_bytes], [null, null]);
    await change({ quota_warning_bytes: 100 });
    assert.equal((await warnings()).length, 2);
  });

  test("200: a quota below what is stored deletes nothing", async () => {
    const answer = await change({ quota_bytes: 1 });
    assert.deepEqual([answer.status, answer.json?.stored_bytes, answer.json?.quota_bytes], [200, 500, 1]);
  });
});
