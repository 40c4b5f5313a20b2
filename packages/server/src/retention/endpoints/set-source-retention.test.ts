import assert from "node:assert/strict";
import { after, test } from "node:test";
import { objectIn } from "../../testing/lists.ts";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("a policy of its own is compared with the vault's, which held before", async () => {
  await env.putPolicy(`/v1/vaults/${env.vaultId}/retention`, { floor_days: 20 });
  const json = { name: "sunucu", vault_id: env.vaultId };
  const path = `/v1/sources/${(await env.call("POST", "/v1/sources", json)).json?.id}/retention`;
  assert.equal((await env.putPolicy(path, {})).status, 202, "a lower floor");
  assert.equal((await env.putPolicy(path, { floor_days: 20 })).status, 200);
});

test("a floor forbids the deletion of younger snapshots", async () => {
  const id = await env.backUp("a", { f: "1" });
  const shown = await env.call("GET", `/v1/snapshots/${id}`);
  await env.putPolicy(`/v1/sources/${objectIn<{ id: string }>(shown, "source").id}/retention`, { floor_days: 30 });
  assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`)).json?.code, "retention_locked");
  env.wait(31 * 24 * 3_600_000);
  assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`)).status, 204);
});
