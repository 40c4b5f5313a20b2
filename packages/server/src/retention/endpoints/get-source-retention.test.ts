import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("200: the policy of the vault where the source has none, then its own", async () => {
  await env.putPolicy(`/v1/vaults/${env.vaultId}/retention`, { floor_days: 20 });
  const json = { name: "sunucu", vault_id: env.vaultId };
  const source = (await env.call("POST", "/v1/sources", json)).json?.id;
  const path = `/v1/sources/${source}/retention`;
  const inherited = (await env.call("GET", path)).json;
  assert.deepEqual([inherited?.floor_days, inherited?.inherited], [20, true]);
  await env.putPolicy(path, { floor_days: 21 });
  const own = (await env.call("GET", path)).json;
  assert.deepEqual([own?.floor_days, own?.inherited], [21, false]);
});
