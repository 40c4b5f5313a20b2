import assert from "node:assert/strict";
import { after, test } from "node:test";
import { retentionTest } from "../testing.ts";

const env = await retentionTest({ after });

test("404 without a hold, then who holds it and why", async () => {
  const id = await env.backUp("a", { f: "1" });
  const path = `/v1/snapshots/${id}/hold`;
  assert.equal((await env.call("GET", path)).json?.code, "not_found");
  await env.call("PUT", path, { reason: "İnceleme", review_at: "2027-01-01T00:00:00.000Z" });
  const { json } = await env.call("GET", path);
  assert.deepEqual([json?.reason, json?.review_at], ["İnceleme", "2027-01-01T00:00:00.000Z"]);
});
