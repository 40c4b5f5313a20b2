import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { defaultVaultId, makeVault } from "../../vaults/testing.ts";
import { isGoodSecret, makeClient } from "../testing.ts";

const service = await startTestService({ after });
const { auth } = await tokenFor(service);

describe("POST /v1/oauth-clients", () => {
  test("201: the secret is shown once and kept as a hash", async () => {
    const { client, secret, target } = await makeClient(service, auth, { scopes: ["snapshots:write"] });
    const read = await service.send("GET", target, { headers: auth });
    assert.deepEqual(read.json, client);
    assert.doesNotMatch(read.body.toString(), new RegExp(secret));
    const query = "select * from emanet.oauth_client_secrets where client_id = $1";
    const rows = await storedRows(service.database, query, [client.id]);
    assert.equal(rows.length, 1);
    assert.doesNotMatch(JSON.stringify(rows), new RegExp(secret.slice(4)));
    assert.ok(await isGoodSecret(service, client.id, secret));
    assert.ok(!(await isGoodSecret(service, client.id, `${secret}x`)));
  });

  test("201: without a role it gets the narrowest that may use its scopes, never that of an owner", async () => {
    for (const [scopes, role] of [
      [["snapshots:write"], "operator"],
      [["snapshots:read", "restores:read"], "viewer"],
      [["audit:read"], "auditor"],
      [["audit:read", "snapshots:write"], "manager"],
      [["account:write"], "manager"],
    ] as const) {
      const { client } = await makeClient(service, auth, { scopes });
      assert.equal(client.role, role, scopes.join(" "));
    }
    assert.equal((await makeClient(service, auth, { role: "owner" })).client.role, "owner");
  });

  test("403: a client never has a wider role than the member who makes it", async () => {
    const manager = await tokenFor(service, { role: "manager" });
    const json = { name: "Geniş", scopes: ["account:write"], role: "owner" };
    const answer = await service.send("POST", "/v1/oauth-clients", { json, headers: manager.auth });
    assert.equal(answer.json?.code, "insufficient_role");
    const { client } = await makeClient(service, manager.auth, { scopes: ["account:write"] });
    assert.deepEqual([client.role, client.responsible_id], ["manager", manager.personId]);
  });

  test("403: a session that holds fewer scopes than its person gives no more than it holds", async () => {
    const narrow = await tokenFor(service, { scopes: ["account:write"] });
    const make = (scopes: readonly string[]) =>
      service.send("POST", "/v1/oauth-clients", { json: { name: "Dar", scopes }, headers: narrow.auth });
    assert.equal((await make(["account:write", "audit:read"])).json?.code, "insufficient_role");
    assert.equal((await make(["account:write"])).status, 201);
  });

  test("422: vaults that do not exist, are deleted or belong to another account, all alike; no client is made", async () => {
    const headers = (await tokenFor(service)).auth;
    const own = await defaultVaultId(service, headers);
    const deleted = await makeVault(service, headers);
    await storedRows(service.database, "update emanet.vaults set deleted_at = now() where id = $1", [deleted]);
    const foreign = await defaultVaultId(service, auth);
    const json = { name: "Kasalı", scopes: ["snapshots:read"], vault_ids: [foreign, own, randomUUID(), deleted] };
    const answer = await service.send("POST", "/v1/oauth-clients", { json, headers });
    const { code, errors } = (answer.json ?? {}) as { code?: string; errors?: { pointer: string; code: string }[] };
    assert.deepEqual([answer.status, code], [422, "validation_failed"]);
    assert.deepEqual(
      errors?.map((error) => [error.pointer, error.code]),
      [0, 2, 3].map((at) => [`/vault_ids/${at}`, "not_allowed"]),
    );
    assert.deepEqual((await service.send("GET", "/v1/oauth-clients", { headers })).json?.data, []);
    const { target } = await makeClient(service, headers, { vault_ids: [own] });
    assert.deepEqual((await service.send("GET", target, { headers })).json?.vault_ids, [own]);
  });

  test("422: a machine without a secret, a code flow without an address, a key set without its method", async () => {
    for (const wrong of [
      { auth_method: "none" },
      { grant_types: ["authorization_code"] },
      { redirect_uris: ["https://app.example/cb"] },
      { auth_method: "private_key_jwt" },
      { grant_types: ["authorization_code"], redirect_uris: ["http://app.example/cb"] },
    ]) {
      const json = { name: "Yanlış", scopes: ["snapshots:read"], ...wrong };
      const answer = await service.send("POST", "/v1/oauth-clients", { json, headers: auth });
      assert.equal(answer.status, 422, JSON.stringify(wrong));
    }
  });
});
