import assert from "node:assert/strict";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

interface Figures {
  readonly success_share: number | null;
  readonly median_ms: number | null;
  readonly retrying: number;
  readonly failed: number;
  readonly failing_since: string | null;
  readonly will_disable_at: string | null;
  readonly hours: readonly { readonly hour: string; readonly delivered: number; readonly failed: number }[];
}

test("200: shares, hours, what waits, and when the webhook would be disabled", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  const figures = async () => (await account.call("GET", `/v1/webhooks/${id}/statistics`)).json as unknown as Figures;
  const empty = await figures();
  assert.deepEqual([empty.success_share, empty.median_ms, empty.will_disable_at], [null, null, null]);
  assert.equal(empty.hours.length, 48);
  await account.emit(3);
  await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 3);
  env.receiver.answer = () => 503;
  await account.emit(1);
  const [row] = await env.until(async () => {
    const rows = await account.deliveries(id, "&status=retrying");
    return rows.length === 1 && rows;
  });
  const found = await figures();
  assert.deepEqual([found.success_share, found.retrying, found.failed], [0.75, 1, 0]);
  assert.ok((found.median_ms ?? 0) >= 1);
  assert.ok(found.failing_since);
  assert.deepEqual(
    found.hours
      .filter(({ delivered, failed }) => delivered + failed > 0)
      .map(({ delivered, failed }) => [delivered, failed]),
    [[3, 1]],
  );
  // After the next attempt there are five more: 5 min, 30 min, 2 h, 6 h, 1 day.
  const rest = (5 + 30 + 120 + 360 + 1440) * 60_000;
  assert.equal(Date.parse(found.will_disable_at ?? ""), Date.parse(row?.next_attempt_at ?? "") + rest);
});
