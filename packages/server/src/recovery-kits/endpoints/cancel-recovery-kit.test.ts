import assert from "node:assert/strict";
import { after, test } from "node:test";
import { hourMs, kitTest } from "../testing.ts";

const env = await kitTest({ after });

test("any owner cancels, a manager does not; then it cannot be fetched, and a second cancel is 409", async () => {
  const id = await env.order();
  const path = `/v1/recovery-kits/${id}/cancel`;
  assert.equal((await env.call("POST", path, await env.as({ role: "manager" }))).json?.code, "insufficient_role");
  const canceled = await env.call("POST", path);
  assert.deepEqual([canceled.status, canceled.json?.state], [200, "canceled"]);
  assert.equal((await env.call("POST", path)).json?.code, "state_conflict");
  env.service.clock.advance(24 * hourMs);
  assert.equal((await env.call("POST", `/v1/recovery-kits/${id}/download`)).json?.code, "state_conflict");
  assert.notEqual(await env.order(), id, "another one can be ordered");
});
