import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("200: without a policy no rule, and nothing waits", async () => {
  const { status, json } = await env.call("GET", `/v1/vaults/${env.vaultId}/retention`);
  assert.equal(status, 200);
  assert.deepEqual([json?.keep_last, json?.ceiling_days, json?.inherited, json?.pending], [null, null, false, null]);
});

test("404: a vault that a client is not held to", async () => {
  const headers = await env.as({ as: "client", kind: "api", vaultIds: [] });
  assert.equal((await env.call("GET", `/v1/vaults/${env.vaultId}/retention`, undefined, headers)).status, 404);
});
