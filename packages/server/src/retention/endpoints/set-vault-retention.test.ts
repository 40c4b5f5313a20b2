import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn, objectIn } from "../../testing/lists.ts";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });
const path = `/v1/vaults/${env.vaultId}/retention`;

test("428 without If-Match, 412 with an old one", async () => {
  assert.equal((await env.call("PUT", path, {})).json?.code, "precondition_required");
  const headers = { ...(await env.owner()), "if-match": '"old"' };
  assert.equal((await env.call("PUT", path, {}, headers)).json?.code, "precondition_failed");
});

test("403: programs, operators, and a second factor that is too old", async () => {
  for (const [wanted, code] of [
    [{ as: "client", kind: "api" }, "insufficient_scope"],
    [{ role: "operator" }, "insufficient_role"],
    [{ role: "owner", factorAgeMs: 3_600_000 }, "step_up_required"],
  ] as const)
    assert.equal((await env.putPolicy(path, { keep_last: 1 }, await env.as(wanted))).json?.code, code);
});

test("422: a ceiling below the floor or below the notice, a rule of zero", async () => {
  for (const policy of [{ floor_days: 60, ceiling_days: 59 }, { ceiling_days: 30 }, { keep_last: 0 }, { keep: 1 }])
    assert.equal((await env.putPolicy(path, policy)).json?.code, "validation_failed", JSON.stringify(policy));
});

test("202: what could remove something earlier waits, also by a manager; a newer change replaces it", async () => {
  const first = await env.putPolicy(path, { keep_last: 3 }, await env.as({ role: "manager" }));
  assert.deepEqual([first.status, first.json?.keep_last], [202, null]);
  const pending = first.json?.pending as { act_id: string; due_at: string; policy: { keep_last: number } };
  assert.equal(pending.policy.keep_last, 3);
  assert.equal(Date.parse(pending.due_at) - env.service.clock.now().getTime(), 72 * 3_600_000);
  const second = await env.putPolicy(path, { keep_last: 4 });
  assert.notEqual(objectIn<{ act_id: string }>(second, "pending").act_id, pending.act_id);
  const canceled = await env.call("GET", "/v1/pending-acts?state=canceled");
  assert.deepEqual(
    listIn<{ id: string }>(canceled, "data").map(({ id }) => id),
    [pending.act_id],
  );
});
