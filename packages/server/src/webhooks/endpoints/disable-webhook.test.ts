import assert from "node:assert/strict";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("200: a disabled webhook says why, gets nothing, and refuses to send", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  const disabled = await account.call("POST", `/v1/webhooks/${id}/disable`);
  assert.deepEqual([disabled.json?.status, disabled.json?.disabled_reason], ["disabled", "requested"]);
  const { version } = disabled.json ?? {};
  assert.equal((await account.call("POST", `/v1/webhooks/${id}/disable`)).json?.version, version, "twice is once");
  await account.emit(1);
  assert.deepEqual(await account.deliveries(id), []);
  for (const [path, json] of [["test"], ["retry-failed"], ["replay", { from: "2026-01-01T00:00:00Z" }]] as const) {
    const answer = await account.call("POST", `/v1/webhooks/${id}/${path}`, json);
    assert.deepEqual([answer.status, answer.json?.code], [409, "state_conflict"], path);
  }
});
