import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("202: the hold stays for 72 hours; 404: there is none", async () => {
  const id = await env.backUp("a", { f: "1" });
  const path = `/v1/snapshots/${id}/hold`;
  assert.equal((await env.call("DELETE", path)).json?.code, "not_found");
  await env.call("PUT", path, { reason: "x" });
  const release = await env.call("DELETE", path);
  assert.deepEqual([release.status, release.json?.kind, release.json?.snapshot_id], [202, "hold_release", id]);
  env.wait(72 * 3_600_000 - 60_000);
  await env.apply();
  assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`)).json?.code, "legal_hold");
  env.wait(60_000);
  await env.apply();
  assert.equal((await env.call("GET", path)).status, 404);
  assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`)).status, 204);
});
