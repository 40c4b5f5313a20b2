import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("200: nobody deletes it before; it can be extended and not shortened; at most eleven years", async () => {
  const id = await env.backUp("a", { f: "1" });
  const lock = (until: string) => env.call("PUT", `/v1/snapshots/${id}/lock`, { locked_until: until });
  assert.equal((await lock("2027-01-01T00:00:00.000Z")).status, 200);
  assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`)).json?.code, "retention_locked");
  assert.equal((await lock("2026-12-31T00:00:00Z")).json?.code, "retention_locked");
  assert.equal((await lock("2027-02-01T00:00:00Z")).status, 200);
  assert.equal((await lock("2038-01-01T00:00:00Z")).json?.code, "validation_failed");
  assert.equal((await lock("2020-01-01T00:00:00Z")).json?.code, "validation_failed");
  const manager = await env.as({ role: "manager" });
  const refused = await env.call("PUT", `/v1/snapshots/${id}/lock`, { locked_until: "2028-01-01T00:00:00Z" }, manager);
  assert.equal(refused.json?.code, "insufficient_role");
});
