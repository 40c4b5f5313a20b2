import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isSignatureValid } from "../testing/receiver.ts";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("202: a signed event comes to this webhook alone, whatever it is subscribed to", async () => {
  const account = await env.account();
  const { id, secret } = await account.webhook({ events: ["billing.charged"], url: `${env.receiver.url}/one` });
  await account.webhook({ url: `${env.receiver.url}/two` });
  const sent = await account.call("POST", `/v1/webhooks/${id}/test`);
  assert.equal(sent.status, 202);
  const found = await env.until(async () => {
    const rows = await account.deliveries(id, `&event_id=${sent.json?.event_id}`);
    return rows[0]?.status === "delivered" && rows[0];
  });
  assert.equal(found.kind, "test");
  const [request, ...others] = env.receiver.requests;
  assert.deepEqual(
    others.map(({ path }) => path),
    [],
  );
  assert.ok(request);
  const payload = JSON.parse(request.body.toString());
  assert.deepEqual([payload.event, payload.webhook_id, payload.event_id], ["webhook.test", id, sent.json?.event_id]);
  assert.ok(isSignatureValid(secret, request, env.service.clock.now().getTime() / 1000));
});

test("429: more than ten a minute", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  const statuses: number[] = [];
  for (let sent = 0; sent < 11; sent += 1)
    statuses.push((await account.call("POST", `/v1/webhooks/${id}/test`)).status);
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 202), 429]);
});
