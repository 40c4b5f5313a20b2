import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Account, webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

async function failing(account: Account) {
  const { id } = await account.webhook();
  env.receiver.answer = () => 503;
  await account.emit(1);
  const [row] = await env.until(async () => {
    const rows = await account.deliveries(id);
    return rows[0]?.status === "retrying" && rows;
  });
  return { id, row: row ?? assert.fail("no delivery") };
}

test("202: an attempt now, beside the schedule, with the same id and body", async () => {
  const account = await env.account();
  const { id, row } = await failing(account);
  assert.equal((await account.call("POST", `/v1/webhook-deliveries/${row.id}/retry`)).status, 202);
  const after = await env.until(async () => {
    const [found] = await account.deliveries(id);
    return found?.last_attempt?.is_manual === true && found;
  });
  assert.deepEqual(
    [after.status, after.attempt_count, after.next_attempt_at],
    ["retrying", 1, row.next_attempt_at],
    "the schedule is as before",
  );
  env.receiver.answer = () => 200;
  await account.call("POST", `/v1/webhook-deliveries/${row.id}/retry`);
  await env.until(async () => (await account.deliveries(id))[0]?.status === "delivered");
  const ids = new Set(env.receiver.requests.map(({ headers, body }) => `${headers["webhook-id"]} ${body}`));
  assert.deepEqual([env.receiver.requests.length, ids.size], [3, 1]);
});

test("what has arrived can be sent again, and stays delivered when that fails", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  env.receiver.answer = () => 200;
  await account.emit(1);
  const [row] = await env.until(async () => {
    const rows = await account.deliveries(id, "&status=delivered");
    return rows.length === 1 && rows;
  });
  env.receiver.answer = () => 500;
  await account.call("POST", `/v1/webhook-deliveries/${row?.id}/retry`);
  const again = await env.until(async () => {
    const [found] = await account.deliveries(id);
    return found?.last_attempt?.is_manual === true && found;
  });
  assert.deepEqual([again.status, again.last_attempt?.error], ["delivered", "status"]);
});

test("409: a webhook that is disabled", async () => {
  const account = await env.account();
  const { id, row } = await failing(account);
  await account.call("POST", `/v1/webhooks/${id}/disable`);
  const answer = await account.call("POST", `/v1/webhook-deliveries/${row.id}/retry`);
  assert.deepEqual([answer.status, answer.json?.code], [409, "state_conflict"]);
});
