import assert from "node:assert/strict";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("202: one call sends all that did not arrive, and nothing else", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  await account.emit(1);
  await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 1);
  env.receiver.answer = () => 503;
  await account.emit(3);
  await env.until(async () => (await account.deliveries(id, "&status=retrying")).length === 3);
  env.receiver.answer = () => 200;
  const asked = await account.call("POST", `/v1/webhooks/${id}/retry-failed`);
  assert.deepEqual([asked.status, asked.json], [202, { queued: 3 }]);
  await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 4);
  assert.equal(env.receiver.requests.length, 7);
  assert.deepEqual((await account.call("POST", `/v1/webhooks/${id}/retry-failed`)).json, { queued: 0 });
});
