import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn, objectIn } from "../../testing/lists.ts";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });
const simulate = (body: object) => env.call("POST", "/v1/retention/simulate", body);

test("200: what stays and why, of a vault and of a source; nothing is changed", async () => {
  const id = await env.backUp("a", { f: "1" });
  env.wait(20 * 24 * 3_600_000);
  const newer = await env.backUp("a", { f: "2" });
  const source = objectIn<{ id: string }>(await env.call("GET", `/v1/snapshots/${id}`), "source").id;
  const present = await simulate({ source_id: source });
  assert.deepEqual([present.json?.removed, present.json?.kept, present.json?.freed_bytes], [0, 2, 0]);
  for (const place of [{ source_id: source }, { vault_id: env.vaultId }]) {
    const answer = await simulate({ ...place, policy: { keep_last: 1 } });
    const shown = listIn<{ id: string; removed_by: string | null; reasons: string[] }>(answer, "snapshots").map(
      (one) => [...[one.id, one.removed_by], one.reasons.join(" ")],
    );
    assert.deepEqual(shown, [
      [id, "policy", ""],
      [newer, null, "young newest newest_good keep_last"],
    ]);
    assert.ok(Number(answer.json?.freed_bytes) > 0);
  }
  assert.equal(await env.status(id), "completed");
});

test("422: both a vault and a source, or neither; 404: of another account", async () => {
  const unknown = "0199c0de-0000-7000-8000-00000000dead";
  assert.equal((await simulate({})).json?.code, "validation_failed");
  assert.equal((await simulate({ source_id: unknown, vault_id: unknown })).json?.code, "validation_failed");
  assert.equal((await simulate({ source_id: unknown })).json?.code, "not_found");
  assert.equal((await simulate({ vault_id: unknown })).json?.code, "not_found");
});
