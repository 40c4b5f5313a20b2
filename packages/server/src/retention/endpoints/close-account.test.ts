import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });
const close = (headers?: Readonly<Record<string, string>>) => env.call("POST", "/v1/account/close", undefined, headers);

test("202 with the act; a repetition answers the same act", async () => {
  const ordered = await close();
  assert.deepEqual([ordered.status, ordered.json?.kind], [202, "account_closing"]);
  assert.equal((await close()).json?.id, ordered.json?.id);
});

test("403: managers, programs, and owners without a fresh second factor", async () => {
  assert.equal((await close(await env.as({ role: "manager" }))).json?.code, "insufficient_role");
  assert.equal((await close(await env.client())).json?.code, "insufficient_scope");
  const stale = await env.owner();
  env.wait(11 * 60_000);
  assert.equal((await close(stale)).json?.code, "step_up_required");
});
