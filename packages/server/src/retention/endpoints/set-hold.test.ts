import assert from "node:assert/strict";
import { after, test } from "node:test";
import { runTask } from "../../snapshots/testing.ts";
import { listIn } from "../../testing/lists.ts";
import { settledMessages } from "../../testing/sent-messages.ts";
import { mailReviews } from "../mail-about-review.ts";
import { dayMs, retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("200: a held snapshot cannot be deleted; the chain has the hold", async () => {
  const id = await env.backUp("a", { f: "1" });
  assert.equal((await env.call("PUT", `/v1/snapshots/${id}/hold`, { reason: "İnceleme" })).status, 200);
  assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`)).json?.code, "legal_hold");
  const shown = (await env.call("GET", `/v1/snapshots/${id}`)).json?.retention as { legal_hold: boolean };
  assert.equal(shown.legal_hold, true);
  const vault = await env.service.running.services?.vaults.open(env.accountId, env.vaultId);
  const known = (await vault?.chain.read())?.snapshots.get(id.replaceAll("-", ""));
  assert.equal(known?.retention.hold, true);
});

test("a hold cancels its release that waits", async () => {
  const id = await env.backUp("b", { f: "1" });
  const path = `/v1/snapshots/${id}/hold`;
  await env.call("PUT", path, { reason: "a" });
  const act = (await env.call("DELETE", path)).json?.id;
  await env.call("PUT", path, { reason: "b" });
  const answer = await env.call("GET", "/v1/pending-acts");
  assert.deepEqual(
    listIn<{ id: string; state: string }>(answer, "data").find((one) => one.id === act)?.state,
    "canceled",
  );
});

test("owners are mailed once when the time to review has come; the hold stays", async () => {
  const id = await env.backUp("e", { f: "1" });
  const review_at = new Date(env.service.clock.now().getTime() + 10 * dayMs).toISOString();
  assert.equal((await env.call("PUT", `/v1/snapshots/${id}/hold`, { reason: "Dava", review_at })).status, 200);
  const mails = async () =>
    (await settledMessages(env.service)).filter(
      ({ template, text }) => template === "hold_review" && text.includes(id),
    );
  env.wait(10 * dayMs - 60_000);
  await runTask(env, mailReviews, {});
  assert.equal((await mails()).length, 0);
  env.wait(60_000);
  await Promise.all([runTask(env, mailReviews, {}), runTask(env, mailReviews, {})]);
  const [mail, ...more] = await mails();
  assert.ok(mail?.text.includes("Dava"));
  assert.deepEqual(more, []);
  assert.equal((await env.call("GET", `/v1/snapshots/${id}/hold`)).json?.reason, "Dava");
});

test("403: managers; 422: a review in the past; 409: an open upload", async () => {
  const id = await env.backUp("c", { f: "1" });
  const path = `/v1/snapshots/${id}/hold`;
  assert.equal(
    (await env.call("PUT", path, { reason: "x" }, await env.as({ role: "manager" }))).json?.code,
    "insufficient_role",
  );
  const past = { reason: "x", review_at: "2020-01-01T00:00:00Z" };
  assert.equal((await env.call("PUT", path, past)).json?.code, "validation_failed");
  const open = await env.call("POST", "/v1/snapshots", { source: "d", vault_id: env.vaultId });
  const refused = await env.call("PUT", `/v1/snapshots/${open.json?.id}/hold`, { reason: "x" });
  assert.equal(refused.json?.code, "state_conflict");
});
