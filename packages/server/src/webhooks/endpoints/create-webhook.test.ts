import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });
const valid = { url: "https://hooks.example.com/emanet", events: ["snapshot.completed"] };

test("201: a webhook is enabled and has a secret, which no other answer has", async () => {
  const account = await env.account();
  const made = await account.call("POST", "/v1/webhooks", { ...valid, description: "Köprü" });
  assert.equal(made.status, 201);
  const { id, secret, ...webhook } = made.json as Record<string, unknown>;
  assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(
    [webhook.url, webhook.events, webhook.description, webhook.status, webhook.disabled_reason, webhook.vault_ids],
    [valid.url, valid.events, "Köprü", "enabled", null, null],
  );
  const read = await account.call("GET", `/v1/webhooks/${id}`);
  assert.deepEqual(read.json, { id, ...webhook });
});

test("the secret is sealed at rest, and no record or log has it or the address", async () => {
  const account = await env.account();
  const { secret } = await account.webhook({ url: "https://hooks.example.com/gizli-yol-4711" });
  const tables = ["webhook_secrets", "audit_records", "idempotency_keys", "events"];
  for (const table of tables) {
    const rows = await storedRows(env.service.database, `select t::text as text from emanet.${table} t`);
    assert.ok(!JSON.stringify(rows).includes(secret.slice(6, 30)), table);
  }
  assert.ok(!env.service.logLines.join("").includes("gizli-yol-4711"));
});

test("409: an eleventh webhook, also when ten are made at the same time", async () => {
  const account = await env.account();
  const answers = await Promise.all(Array.from({ length: 12 }, () => account.call("POST", "/v1/webhooks", valid)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array.from({ length: 10 }, () => 201), 409, 409]);
  const refused = answers.find(({ status }) => status === 409);
  assert.equal(refused?.json?.code, "quota_exceeded");
});

test("422: addresses that are not https, not public, or say more than an address", async () => {
  const account = await env.account();
  const urls = [
    ...["http://hooks.example.com/", "https://user:pw@hooks.example.com/", "https://user@hooks.example.com/"],
    ...[
      "https://10.0.0.1/",
      "https://[::1]/",
      "https://localhost/",
      "https://hooks.example.com:22/",
      "ftp://x.example/",
    ],
    ...[
      "https://0xa.1:8443/",
      "https://167772161/",
      "https://169.254.169.254/latest/",
      "https://metadata.google.internal/",
    ],
    ...["https://", "not an address", "https://ex\tample.com/"],
  ];
  for (const url of urls) {
    const answer = await account.call("POST", "/v1/webhooks", { ...valid, url });
    assert.deepEqual([answer.status, answer.json?.code], [422, "webhook_url_blocked"], url);
    if (url !== "https://") assert.ok(!answer.body.toString().includes(url), "an answer never repeats the address");
  }
});

test("422: an unknown type, none, or one twice", async () => {
  const account = await env.account();
  for (const events of [["snapshot.exploded"], [], ["*", "*"]]) {
    const answer = await account.call("POST", "/v1/webhooks", { ...valid, events });
    assert.deepEqual([answer.status, answer.json?.code], [422, "validation_failed"]);
  }
});

test("a client that is held to vaults makes a webhook of these vaults", async () => {
  const vaultId = randomUUID();
  const held = await env.account({ vaultIds: [vaultId] });
  const made = await held.call("POST", "/v1/webhooks", valid);
  assert.deepEqual(made.json?.vault_ids, [vaultId]);
});

test("403: an account in early access, whatever the operation", async () => {
  const account = await env.account();
  const { id } = await account.webhook({ url: valid.url });
  const staff = await tokenFor(env.service, { as: "staff" });
  const json = { early_access: true, reason: "test gerekçesi" };
  const place = `/v1/admin/accounts/${account.accountId}/early-access`;
  assert.equal((await env.service.send("POST", place, { json, headers: staff.auth })).status, 200);
  const calls: [string, string, unknown?][] = [
    ["POST", "/v1/webhooks", valid],
    ["GET", "/v1/webhooks"],
    ["GET", `/v1/webhooks/${id}`],
    ["PATCH", `/v1/webhooks/${id}`, {}],
    ["DELETE", `/v1/webhooks/${id}`],
    ["POST", `/v1/webhooks/${id}/enable`],
    ["POST", `/v1/webhooks/${id}/disable`],
    ["POST", `/v1/webhooks/${id}/test`],
    ["GET", `/v1/webhooks/${id}/deliveries`],
    ["GET", `/v1/webhooks/${id}/statistics`],
    ["POST", `/v1/webhooks/${id}/retry-failed`],
    ["POST", `/v1/webhooks/${id}/replay`, { from: "2026-11-15T00:00:00Z" }],
    ["GET", `/v1/webhook-deliveries/${id}`],
    ["POST", `/v1/webhook-deliveries/${id}/retry`],
  ];
  for (const [method, path, body] of calls) {
    const answer = await account.call(method, path, body);
    assert.deepEqual([answer.status, answer.json?.code], [403, "feature_not_enabled"], `${method} ${path}`);
  }
});
