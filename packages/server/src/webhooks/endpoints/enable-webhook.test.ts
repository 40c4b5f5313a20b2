import assert from "node:assert/strict";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("200: what waited goes on; events of the time in between are sent by replay alone", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  env.receiver.answer = () => 503;
  await account.emit(1);
  await env.until(async () => (await account.deliveries(id))[0]?.status === "retrying");
  await account.call("POST", `/v1/webhooks/${id}/disable`);
  await account.emit(2);
  env.service.clock.advance(3_600_000);
  env.receiver.answer = () => 200;
  const enabled = await account.call("POST", `/v1/webhooks/${id}/enable`);
  assert.deepEqual([enabled.status, enabled.json?.status, enabled.json?.disabled_reason], [200, "enabled", null]);
  await env.until(async () => (await account.deliveries(id))[0]?.status === "delivered");
  assert.equal((await account.deliveries(id)).length, 1);
  const replayed = await account.call("POST", `/v1/webhooks/${id}/replay`, { from: "2026-01-01T00:00:00Z" });
  assert.deepEqual(replayed.json, { queued: 3 });
  await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 4);
});
