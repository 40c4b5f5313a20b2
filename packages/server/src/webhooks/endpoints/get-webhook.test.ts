import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });
const url = "https://hooks.example.com/";

test("404: an unknown webhook, another account's, a deleted one", async () => {
  const account = await env.account();
  const { id } = await account.webhook({ url });
  const other = await env.account();
  assert.equal((await other.call("GET", `/v1/webhooks/${id}`)).status, 404);
  assert.equal((await account.call("GET", `/v1/webhooks/${randomUUID()}`)).status, 404);
  await account.call("DELETE", `/v1/webhooks/${id}`);
  assert.equal((await account.call("GET", `/v1/webhooks/${id}`)).status, 404);
});

test("404: for a client that is held to vaults, a webhook that sends events of others", async () => {
  const vaultId = randomUUID();
  const owner = await env.account();
  const held = await env.account({ accountId: owner.accountId, vaultIds: [vaultId] });
  const [all, own] = [await owner.webhook({ url }), await held.webhook({ url })];
  for (const path of ["", "/deliveries", "/statistics"]) {
    assert.equal((await held.call("GET", `/v1/webhooks/${all.id}${path}`)).status, 404, path);
    assert.equal((await held.call("GET", `/v1/webhooks/${own.id}${path}`)).status, 200, path);
    assert.equal((await owner.call("GET", `/v1/webhooks/${own.id}${path}`)).status, 200, path);
  }
  const listed = (await held.call("GET", "/v1/webhooks")).json as unknown as { data: { id: string }[] };
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    [own.id],
  );
});
