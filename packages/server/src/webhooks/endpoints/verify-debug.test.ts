import assert from "node:assert/strict";
import { after, test } from "node:test";
import { storedRows } from "../../testing/rows.ts";
import { serviceDigest } from "../signatures.ts";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });
const account = await env.account();
const { id, secret } = await account.webhook();
await account.emit(1);
await env.receiver.has(1);
const [request] = env.receiver.requests;
assert.ok(request);
const signature = String(request.headers["x-service-signature"]);
const body = request.body.toString();
const now = env.service.clock.now();

/** The limit is ten a minute; this file asks more often. */
async function ask(question: object, webhookId = id) {
  env.service.clock.advance(7_000);
  const received_at = now.toISOString();
  const answer = await account.call("POST", `/v1/webhooks/${webhookId}/verify-debug`, {
    signature,
    body,
    received_at,
    ...question,
  });
  assert.equal(answer.status, 200, answer.body.toString());
  const digest = /v1=([0-9a-f]{64})/.exec(signature)?.[1] ?? "none";
  assert.ok(!answer.body.toString().includes(digest));
  return answer.json;
}

test("each cause has its name", async () => {
  const later = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
  const cases: [object, string][] = [
    [{}, "valid"],
    [{ secret }, "valid"],
    [{ body: Buffer.from(body).toString("base64"), body_encoding: "base64" }, "valid"],
    [{ secret: `whsec_${Buffer.alloc(32, 1).toString("base64")}` }, "wrong_secret"],
    [{ body: JSON.stringify(JSON.parse(body), null, 2) }, "changed_body"],
    [{ received_at: later(300) }, "valid"],
    [{ received_at: later(301) }, "clock_ahead"],
    [{ received_at: later(-301) }, "clock_behind"],
    [{ signature: "v1=abc" }, "malformed_header"],
    [{ signature: signature.replace(/v1=..../, "v1=0000") }, "does_not_fit"],
  ];
  for (const [question, finding] of cases) {
    assert.equal((await ask(question))?.finding, finding, JSON.stringify(question).slice(0, 80));
  }
  assert.equal((await ask({ received_at: later(301) }))?.clock_offset_s, 301);
});

test("the headers of Standard Webhooks are understood too", async () => {
  const standard = {
    signature: String(request.headers["webhook-signature"]),
    webhook_id: String(request.headers["webhook-id"]),
    webhook_timestamp: String(request.headers["webhook-timestamp"]),
  };
  assert.equal((await ask(standard))?.finding, "valid");
  assert.equal((await ask({ ...standard, webhook_id: "baska" }))?.finding, "wrong_event_id");
  assert.equal((await ask({ ...standard, body: `${body} ` }))?.finding, "changed_body");
});

test("a secret that was replaced is told from a wrong one while it still signs, and 429 after ten a minute", async () => {
  const other = await account.webhook();
  assert.equal((await ask({}, other.id))?.finding, "does_not_fit", "a signature of another webhook");
  env.service.clock.advance(60_000);
  const statuses: number[] = [];
  for (let asked = 0; asked < 11; asked += 1) {
    statuses.push((await account.call("POST", `/v1/webhooks/${id}/verify-debug`, { signature, body })).status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429]);
});

test("a webhook that is held to vaults knows no event of another vault, also for who can sign with its secret", async () => {
  const vaultId = "0199c0de-0000-7000-8000-0000000000bb";
  env.service.clock.advance(60_000);
  const held = await env.account({ accountId: account.accountId, vaultIds: [vaultId] });
  const hook = await held.webhook();
  await account.emit(1);
  await account.emit(1, { vaultId });
  const payloads = await storedRows<{ id: string; payload: string }>(
    env.service.database,
    "select id, payload from emanet.events where account_id = $1 order by sequence desc limit 2",
    [account.accountId],
  );
  const found: unknown[] = [];
  for (const { id: eventId, payload } of payloads) {
    const t = Math.floor(env.service.clock.now().getTime() / 1000);
    const signed = `t=${t},v1=${serviceDigest(hook.secret, { timestamp: t, body: Buffer.from(payload) })}`;
    const question = { signature: signed, body: "{}", event_id: eventId };
    const answer = await held.call("POST", `/v1/webhooks/${hook.id}/verify-debug`, question);
    found.push(answer.json?.finding);
  }
  assert.deepEqual(found, ["changed_body", "does_not_fit"]);
});
