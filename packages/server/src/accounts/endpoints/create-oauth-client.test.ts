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
