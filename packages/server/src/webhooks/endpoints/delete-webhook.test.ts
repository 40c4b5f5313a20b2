import assert from "node:assert/strict";
import { after, test } from "node:test";
import { storedRows } from "../../testing/rows.ts";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("204: nothing more is sent, another can take its place, and its rows are removed by a job", async () => {
  const account = await env.account();
  const ids: string[] = [];
  for (let made = 0; made < 10; made += 1) ids.push((await account.webhook()).id);
  await account.emit(1);
  await env.receiver.has(10);
  for (const id of ids) assert.equal((await account.call("DELETE", `/v1/webhooks/${id}`)).status, 204);
  assert.equal((await account.call("DELETE", `/v1/webhooks/${ids[0]}`)).status, 404);
  const { id: next } = await account.webhook();
  await account.emit(1);
  await env.receiver.has(11);
  assert.equal(env.receiver.requests.length, 11);
  env.service.clock.advance(3_600_000);
  const left = () => storedRows<{ id: string }>(env.service.database, "select id from emanet.webhooks");
  await env.until(async () => (await left()).length === 1);
  assert.deepEqual(await left(), [{ id: next }]);
});
