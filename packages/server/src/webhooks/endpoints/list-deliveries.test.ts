import assert from "node:assert/strict";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("200: deliveries by status, type and event, with the last attempt", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  const isEven = (body: Buffer) => JSON.parse(body.toString()).sequence % 2 === 0;
  env.receiver.answer = ({ body }) => (isEven(body) ? 200 : 503);
  await account.emit(4);
  await env.until(async () => (await account.deliveries(id, "&status=pending")).length === 0);
  const sequences = async (query: string) =>
    (await account.deliveries(id, query)).map(({ sequence }) => sequence).sort();
  assert.deepEqual(await sequences(""), [1, 2, 3, 4]);
  assert.deepEqual(await sequences("&status=delivered"), [2, 4]);
  assert.deepEqual(await sequences("&status=undelivered"), [1, 3]);
  assert.deepEqual(await sequences("&status=failed"), []);
  assert.deepEqual(await sequences("&event=snapshot.failed"), []);
  const all = await account.deliveries(id);
  const second = all.find(({ sequence }) => sequence === 2);
  assert.deepEqual(await sequences(`&event_id=${second?.event_id}`), [2]);
  const first = all.find(({ sequence }) => sequence === 1);
  assert.deepEqual([first?.last_attempt?.status, first?.last_attempt?.error, first?.attempt_count], [503, "status", 1]);
});

test("404: of another account's webhook", async () => {
  const { id } = await (await env.account()).webhook();
  const other = await env.account();
  assert.equal((await other.call("GET", `/v1/webhooks/${id}/deliveries`)).status, 404);
});
