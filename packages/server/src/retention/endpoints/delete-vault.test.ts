import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("202 with the act; 403 for operators; 412 for another version", async () => {
  const path = `/v1/vaults/${env.vaultId}`;
  const operator = await env.as({ role: "operator" });
  assert.equal((await env.call("DELETE", path, undefined, operator)).json?.code, "insufficient_role");
  const stale = { ...(await env.owner()), "if-match": '"other"' };
  assert.equal((await env.call("DELETE", path, undefined, stale)).status, 412);
  const ordered = await env.call("DELETE", path);
  assert.deepEqual([ordered.status, ordered.json?.kind, ordered.json?.vault_id], [202, "vault_deletion", env.vaultId]);
});
