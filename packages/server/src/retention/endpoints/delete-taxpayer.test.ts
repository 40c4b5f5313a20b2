import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("202 with the act, which names taxpayer and vault; 403 for operators, who may change taxpayers", async () => {
  const made = await env.call("POST", "/v1/taxpayers", { name: "Deniz", tax_id: "1234567808" });
  const path = `/v1/taxpayers/${made.json?.id}`;
  const operator = await env.as({ role: "operator" });
  assert.equal((await env.call("DELETE", path, undefined, operator)).json?.code, "insufficient_role");
  const ordered = await env.call("DELETE", path);
  assert.deepEqual(
    [ordered.status, ordered.json?.kind, ordered.json?.taxpayer_id, ordered.json?.vault_id],
    [202, "taxpayer_deletion", made.json?.id, made.json?.vault_id],
  );
});
