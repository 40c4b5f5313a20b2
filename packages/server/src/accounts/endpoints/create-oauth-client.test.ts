import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
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
