import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("200: the attempts, and the body byte for byte; nothing of what the receiver answered", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  env.receiver.answer = () => ({ status: 500, headers: { "x-inner": "gizli" }, body: Buffer.from("gizli cevap") });
  await account.emit(1);
  const [row] = await env.until(async () => {
    const rows = await account.deliveries(id);
    return rows[0]?.status === "retrying" && rows;
  });
  const answer = await account.call("GET", `/v1/webhook-deliveries/${row?.id}`);
  assert.equal(answer.status, 200);
  assert.equal(answer.json?.body, env.receiver.requests[0]?.body.toString());
  const attempts = answer.json?.attempts as { number: number; status: number; error: string; is_manual: boolean }[];
  assert.deepEqual(
    attempts.map(({ number, status, error, is_manual }) => [number, status, error, is_manual]),
    [[1, 500, "status", false]],
  );
  assert.ok(!answer.body.toString().includes("gizli"));
});

test("404: an unknown delivery, another account's, one of a webhook of other vaults", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  await account.emit(1);
  const [row] = await env.until(async () => {
    const rows = await account.deliveries(id);
    return rows.length > 0 && rows;
  });
  const held = await env.account({ accountId: account.accountId, vaultIds: [randomUUID()] });
  for (const other of [await env.account(), held]) {
    assert.equal((await other.call("GET", `/v1/webhook-deliveries/${row?.id}`)).status, 404);
    assert.equal((await other.call("POST", `/v1/webhook-deliveries/${row?.id}/retry`)).status, 404);
  }
  assert.equal((await account.call("GET", `/v1/webhook-deliveries/${randomUUID()}`)).status, 404);
});
