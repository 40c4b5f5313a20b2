import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn } from "../../testing/lists.ts";
import { retentionTest } from "../testing.ts";

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
