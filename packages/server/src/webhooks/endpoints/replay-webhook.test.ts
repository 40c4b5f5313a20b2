import assert from "node:assert/strict";
import { after, test } from "node:test";
import { storedRows } from "../../testing/rows.ts";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("202: events of the range come again in their order, with the same id and body", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  await account.emit(2);
  await env.receiver.has(2);
  env.service.clock.advance(60_000);
  const from = env.service.clock.now().toISOString();
  await account.emit(3);
  await env.receiver.has(5);
  env.service.clock.advance(60_000);
  const to = env.service.clock.now().toISOString();
  await account.emit(1);
  await env.receiver.has(6);
  const replayed = await account.call("POST", `/v1/webhooks/${id}/replay`, { from, to });
  assert.deepEqual([replayed.status, replayed.json], [202, { queued: 3 }]);
  await env.receiver.has(9);
  const shown = env.receiver.requests.map(({ headers, body }) => `${headers["webhook-id"]} ${body}`);
  assert.deepEqual(shown.slice(6), shown.slice(2, 5));
  const none = await account.call("POST", `/v1/webhooks/${id}/replay`, { from, events: ["billing.charged"] });
  assert.deepEqual(none.json, { queued: 0 });
});

test("a replay sends only what the webhook may have: its types and its vaults", async () => {
  const vaultId = "0199c0de-0000-7000-8000-0000000000aa";
  const owner = await env.account();
  const held = await env.account({ accountId: owner.accountId, vaultIds: [vaultId] });
  await owner.emit(2);
  await owner.emit(1, { vaultId });
  const from = "2026-01-01T00:00:00Z";
  const of = async (account: typeof held, more: Readonly<Record<string, unknown>>) => {
    const { id } = await account.webhook(more);
    return (await account.call("POST", `/v1/webhooks/${id}/replay`, { from })).json;
  };
  assert.deepEqual(await of(held, {}), { queued: 1 });
  assert.deepEqual(await of(owner, {}), { queued: 3 });
  assert.deepEqual(await of(owner, { events: ["snapshot.failed"] }), { queued: 0 });
});

test("409: replays do not pile up beyond 100 000 first attempts that wait", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  await account.emit(2);
  await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 2);
  const replay = () => account.call("POST", `/v1/webhooks/${id}/replay`, { from: "2026-01-01T00:00:00Z" });
  assert.deepEqual((await replay()).json, { queued: 2 });
  await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 4);
  // No row of a queue becomes due by this, so nothing of it is sent.
  await storedRows(
    env.service.database,
    `insert into emanet.webhook_deliveries
       (id, account_id, webhook_id, event_id, sequence, event_type, kind, due_at, next_attempt_at, created_at)
     select gen_random_uuid(), account_id, webhook_id, event_id, sequence, event_type, 'replay', created_at, created_at, created_at
     from emanet.webhook_deliveries cross join generate_series(1, 99999) where webhook_id = $1 and sequence = 1 and kind = 'event'`,
    [id],
  );
  const refused = await replay();
  assert.deepEqual([refused.status, refused.json?.code], [409, "quota_exceeded"]);
});

test("422: an end before the beginning", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  const answer = await account.call("POST", `/v1/webhooks/${id}/replay`, {
    ...{ from: "2026-11-02T00:00:00Z", to: "2026-11-01T00:00:00Z" },
  });
  assert.deepEqual([answer.status, answer.json?.code], [422, "validation_failed"]);
});
