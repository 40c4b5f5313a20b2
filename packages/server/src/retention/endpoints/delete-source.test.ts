import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("202 for managers with a fresh second factor; operators, programs and old second factors are refused; 404 for another id", async () => {
  const made = await env.call("POST", "/v1/sources", { name: "sunucu", vault_id: env.vaultId });
  const path = `/v1/sources/${made.json?.id}`;
  const by = async (...wanted: Parameters<typeof env.as>) =>
    env.call("DELETE", path, undefined, await env.as(...wanted));
  assert.equal((await by({ role: "operator" })).json?.code, "insufficient_role");
  assert.equal((await by({ role: "manager", factorAgeMs: 3_600_000 })).json?.code, "step_up_required");
  assert.equal((await env.call("DELETE", path, undefined, await env.client())).status, 403);
  const ordered = await by({ role: "manager" });
  assert.deepEqual([ordered.status, ordered.json?.kind, ordered.json?.state], [202, "source_deletion", "waiting"]);
  assert.equal((await env.call("DELETE", "/v1/sources/019a0000-0000-7000-8000-000000000000")).status, 404);
});
