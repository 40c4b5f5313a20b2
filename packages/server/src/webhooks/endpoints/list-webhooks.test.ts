import assert from "node:assert/strict";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

test("200: the account's webhooks, newest first, page by page", async () => {
  const account = await env.account();
  const ids: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    ids.unshift((await account.webhook({ url: `https://hooks.example.com/${index}` })).id);
    env.service.clock.advance(1000);
  }
  await (await env.account()).webhook({ url: "https://hooks.example.com/" });
  const first = await account.call("GET", "/v1/webhooks?limit=2");
  const { data, next_cursor } = first.json as unknown as { data: { id: string }[]; next_cursor: string };
  const second = await account.call("GET", `/v1/webhooks?limit=2&cursor=${next_cursor}`);
  const rest = (second.json as unknown as { data: { id: string }[] }).data;
  assert.deepEqual(
    [...data, ...rest].map(({ id }) => id),
    ids,
  );
});
