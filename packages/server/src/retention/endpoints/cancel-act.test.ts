import assert from "node:assert/strict";
import { after, test } from "node:test";
import { objectIn } from "../../testing/lists.ts";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("200: any owner, also another one and with an old second factor; managers may not; 409 when it has ended", async () => {
  const put = await env.putPolicy(`/v1/vaults/${env.vaultId}/retention`, { keep_last: 1 });
  const path = `/v1/pending-acts/${objectIn<{ act_id: string }>(put, "pending").act_id}/cancel`;
  assert.equal(
    (await env.call("POST", path, undefined, await env.as({ role: "manager" }))).json?.code,
    "insufficient_role",
  );
  const other = await env.as({ role: "owner", factorAgeMs: 3_600_000 });
  assert.equal((await env.call("POST", path, undefined, other)).json?.state, "canceled");
  assert.equal((await env.call("POST", path)).json?.code, "state_conflict");
  env.wait(4 * 24 * 3_600_000);
  await env.apply();
  assert.equal((await env.call("GET", `/v1/vaults/${env.vaultId}/retention`)).json?.keep_last, null);
});
