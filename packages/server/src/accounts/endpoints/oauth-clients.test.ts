import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { systemRandom } from "../../kernel/clock.ts";
import { createTransactions } from "../../kernel/tx.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { silentLog } from "../../testing/database.ts";
import { listIn } from "../../testing/lists.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { verifyClientSecret } from "../clients.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const { auth } = owner;

/** The check that the token endpoint makes, with the service's own keys. */
async function isGood(clientId: string, secret: string): Promise<boolean> {
  const transactions = createTransactions(service.database.app, service.clock, systemRandom, silentLog);
  const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
  const tx: Parameters<typeof verifyClientSecret>[0]["tx"] = (scope, work) =>
    transactions.run(context, scope, (open) => work(open.tx));
  return verifyClientSecret({ tx, secrets: service.running.secrets }, clientId, secret);
}

async function create(json: object) {
  return service.send("POST", "/v1/oauth-clients", { json, headers: auth });
}

describe("/v1/oauth-clients", () => {
  test("201: the secret is shown once and kept as a hash", async () => {
    const made = await create({ name: "Gece yedeği", scopes: ["snapshots:write"] });
    assert.equal(made.status, 201, made.body.toString());
    const { client, secret } = made.json as { client: { id: string }; secret: string };
    const read = await service.send("GET", `/v1/oauth-clients/${client.id}`, { headers: auth });
    assert.deepEqual(read.json, client);
    assert.doesNotMatch(read.body.toString(), new RegExp(secret));
    const rows = await storedRows(service.database, "select * from emanet.oauth_client_secrets where client_id = $1", [
      client.id,
    ]);
    assert.doesNotMatch(JSON.stringify(rows), new RegExp(secret.slice(4)));
    assert.ok(await isGood(client.id, secret));
    assert.ok(!(await isGood(client.id, `${secret}x`)));
    const list = await service.send("GET", "/v1/oauth-clients", { headers: auth });
    assert.deepEqual(
      listIn<{ id: string; last_used_at: string | null }>(list, "data").map(({ id }) => id),
      [client.id],
    );
    assert.ok(listIn<{ last_used_at: string | null }>(list, "data")[0]?.last_used_at, "the use was noted");
  });

  test("a rotation overlaps: both secrets are good until the old one's time is over", async () => {
    const made = await create({ name: "Döner", scopes: ["snapshots:read"] });
    const { client, secret: old } = made.json as { client: { id: string }; secret: string };
    const target = `/v1/oauth-clients/${client.id}/rotate-secret`;
    const rotated = await service.send("POST", target, { json: { overlap_s: 300 }, headers: auth });
    const fresh = String(rotated.json?.secret);
    assert.deepEqual([await isGood(client.id, old), await isGood(client.id, fresh)], [true, true]);
    service.clock.advance(301_000);
    assert.deepEqual([await isGood(client.id, old), await isGood(client.id, fresh)], [false, true]);
  });

  test("422: a machine without a secret, a code flow without an address, a key set without its method", async () => {
    const later = await tokenFor(service, { accountId: owner.accountId ?? "" });
    for (const wrong of [
      { auth_method: "none" },
      { grant_types: ["authorization_code"] },
      { redirect_uris: ["https://app.example/cb"] },
      { auth_method: "private_key_jwt" },
      { grant_types: ["authorization_code"], redirect_uris: ["http://app.example/cb"] },
    ]) {
      const json = { name: "Yanlış", scopes: ["snapshots:read"], ...wrong };
      const answer = await service.send("POST", "/v1/oauth-clients", { json, headers: later.auth });
      assert.equal(answer.status, 422, JSON.stringify(wrong));
    }
  });

  test("PATCH narrows, DELETE ends: the client is gone and its secret is good for nothing", async () => {
    const later = await tokenFor(service, { accountId: owner.accountId ?? "" });
    const made = await service.send("POST", "/v1/oauth-clients", {
      json: { name: "Kısa", scopes: ["snapshots:read", "audit:read"] },
      headers: later.auth,
    });
    const { client, secret } = made.json as { client: { id: string }; secret: string };
    const target = `/v1/oauth-clients/${client.id}`;
    const vault = "0199c0de-0000-7000-8000-00000000beef";
    const json = { scopes: ["audit:read"], vault_ids: [vault] };
    const narrowed = await service.send("PATCH", target, { json, headers: later.auth });
    assert.deepEqual([narrowed.json?.scopes, narrowed.json?.vault_ids], [["audit:read"], [vault]]);
    assert.equal((await service.send("DELETE", target, { headers: later.auth })).status, 204);
    assert.equal((await service.send("GET", target, { headers: later.auth })).status, 404);
    assert.ok(!(await isGood(client.id, secret)));
  });
});
