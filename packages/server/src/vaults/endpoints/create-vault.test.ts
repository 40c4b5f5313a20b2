import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { auditedActions, makeVault } from "../testing.ts";

const service = await startTestService({ after });

describe("POST /v1/vaults", () => {
  test("201: a vault of the account, audited, and usable at once", async () => {
    const owner = await tokenFor(service);
    const id = await makeVault(service, owner.auth, "Muhasebe", { quota_bytes: 0, quota_warning_bytes: null });
    assert.match(id, /^.{14}7/);
    assert.deepEqual(await auditedActions(service, owner.accountId), ["vault.created"]);
    const vault = await service.running.services?.vaults.open(owner.accountId ?? "", id);
    assert.equal(Buffer.from(vault?.keys.vaultId ?? []).toString("hex"), id.replaceAll("-", ""));
  });

  test("422: a name of control characters or of nothing, a quota below zero or with a fraction", async () => {
    const { auth } = await tokenFor(service);
    for (const json of [
      { name: "" },
      { name: "iki\nsatır" },
      { name: "x".repeat(201) },
      { name: "x", quota_bytes: -1 },
      { name: "x", quota_bytes: 1.5 },
      { name: "x", quota_warning_bytes: 2 ** 53 },
      { name: "x", kind: "default" },
      {},
    ]) {
      assert.equal(
        (await service.send("POST", "/v1/vaults", { json, headers: auth })).status,
        422,
        JSON.stringify(json),
      );
    }
  });

  test("403: an operator and programs; a manager may", async () => {
    const owner = await tokenFor(service);
    const accountId = owner.accountId ?? "";
    const make = async (bearer: Parameters<typeof tokenFor>[1]) => {
      const { auth } = await tokenFor(service, { accountId, ...bearer });
      const answer = await service.send("POST", "/v1/vaults", { json: { name: "x" }, headers: auth });
      return answer.json?.code ?? answer.status;
    };
    assert.equal(await make({ role: "operator" }), "insufficient_role");
    assert.equal(await make({ as: "client" }), "insufficient_scope");
    assert.equal(await make({ as: "grant", kind: "agent" }), "insufficient_scope");
    assert.equal(await make({ role: "manager", factorAgeMs: 601_000 }), "step_up_required");
    assert.equal(await make({ role: "manager" }), 201);
  });

  test("409: the account has as many as there may be", async () => {
    const { auth, accountId } = await tokenFor(service);
    await storedRows(
      service.database,
      `insert into emanet.vaults (id, account_id, name, name_order, kind, created_at, updated_at)
       select gen_random_uuid(), $1, 'x', 'X', 'other', $2, $2 from generate_series(1, 4998)`,
      [accountId, service.clock.now()],
    );
    await makeVault(service, auth, "sonuncu");
    const answer = await service.send("POST", "/v1/vaults", { json: { name: "x" }, headers: auth });
    assert.deepEqual([answer.status, answer.json?.code], [409, "quota_exceeded"]);
  });
});
