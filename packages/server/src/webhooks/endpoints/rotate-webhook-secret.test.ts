import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isSignatureValid } from "../testing/receiver.ts";
import { type Account, webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });

async function rotate(account: Account, id: string, json: object): Promise<string> {
  const { etag = "" } = (await account.call("GET", `/v1/webhooks/${id}`)).headers;
  const answer = await account.call("POST", `/v1/webhooks/${id}/secret/rotate`, json, { "if-match": etag });
  assert.equal(answer.status, 200, answer.body.toString());
  return String(answer.json?.secret);
}

async function delivered(account: Account) {
  const before = env.receiver.requests.length;
  await account.emit(1);
  await env.receiver.has(before + 1);
  return env.receiver.requests[before] ?? assert.fail("nothing came");
}

test("during the grace both secrets sign, afterwards the new one alone", async () => {
  const account = await env.account();
  const { id, secret: old } = await account.webhook();
  const seconds = () => env.service.clock.now().getTime() / 1000;
  const fresh = await rotate(account, id, { grace_s: 3600 });
  const both = await delivered(account);
  assert.deepEqual([isSignatureValid(old, both, seconds()), isSignatureValid(fresh, both, seconds())], [true, true]);
  env.service.clock.advance(3600_000);
  const one = await delivered(account);
  assert.deepEqual([isSignatureValid(old, one, seconds()), isSignatureValid(fresh, one, seconds())], [false, true]);
  assert.equal(String(one.headers["webhook-signature"]).split(" ").length, 1);
});

test("without grace the old secret ends at once", async () => {
  const account = await env.account();
  const { id, secret: old } = await account.webhook();
  const fresh = await rotate(account, id, { grace_s: 0 });
  const request = await delivered(account);
  const seconds = env.service.clock.now().getTime() / 1000;
  assert.deepEqual([isSignatureValid(old, request, seconds), isSignatureValid(fresh, request, seconds)], [false, true]);
});

test("428 without If-Match, 412 with an old one", async () => {
  const account = await env.account();
  const { id } = await account.webhook();
  const path = `/v1/webhooks/${id}/secret/rotate`;
  assert.equal((await account.call("POST", path, {})).json?.code, "precondition_required");
  const { etag = "" } = (await account.call("GET", `/v1/webhooks/${id}`)).headers;
  assert.equal((await account.call("POST", path, {}, { "if-match": etag })).status, 200);
  assert.equal((await account.call("POST", path, {}, { "if-match": etag })).status, 412);
});
