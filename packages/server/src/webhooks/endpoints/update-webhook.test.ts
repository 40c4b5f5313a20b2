import assert from "node:assert/strict";
import { after, test } from "node:test";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });
const url = "https://hooks.example.com/";

test("200: what is named changes, the rest stays; the new address is checked like the first", async () => {
  const account = await env.account();
  const { id } = await account.webhook({ url, description: "A" });
  const changed = await account.call("PATCH", `/v1/webhooks/${id}`, { events: ["snapshot.failed"] });
  assert.deepEqual(
    [changed.json?.url, changed.json?.events, changed.json?.description, changed.json?.version],
    [url, ["snapshot.failed"], "A", 2],
  );
  const blocked = await account.call("PATCH", `/v1/webhooks/${id}`, { url: "https://192.168.1.1/" });
  assert.equal(blocked.json?.code, "webhook_url_blocked");
  const cleared = await account.call("PATCH", `/v1/webhooks/${id}`, { description: null });
  assert.equal(cleared.json?.description, null);
});

test("412: a change of what somebody else has changed", async () => {
  const account = await env.account();
  const { id } = await account.webhook({ url });
  const { etag = "" } = (await account.call("GET", `/v1/webhooks/${id}`)).headers;
  assert.equal(
    (await account.call("PATCH", `/v1/webhooks/${id}`, { description: "B" }, { "if-match": etag })).status,
    200,
  );
  assert.equal(
    (await account.call("PATCH", `/v1/webhooks/${id}`, { description: "C" }, { "if-match": etag })).status,
    412,
  );
});

test("a new address holds for the next attempt of what failed before", async () => {
  const account = await env.account();
  const { id } = await account.webhook({ url: `${env.receiver.url}/old` });
  env.receiver.answer = ({ path }) => (path === "/old" ? 503 : 200);
  await account.emit(1);
  const [failed] = await env.until(async () => {
    const rows = await account.deliveries(id);
    return rows[0]?.status === "retrying" && rows;
  });
  await account.call("PATCH", `/v1/webhooks/${id}`, { url: `${env.receiver.url}/new` });
  env.service.clock.advance(2 * 60_000);
  await env.until(async () => (await account.deliveries(id))[0]?.status === "delivered");
  assert.equal(env.receiver.requests.at(-1)?.path, "/new");
  assert.equal(env.receiver.requests.at(-1)?.headers["webhook-id"], failed?.event_id);
});
