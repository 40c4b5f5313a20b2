import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });

test("an empty chain has no record and no checkpoint", async () => {
  const { json } = await env.get("/v1/audit/chain");
  assert.deepEqual([json?.records, json?.last_checkpoint, json?.hash], [0, null, "0".repeat(64)]);
});

test("the chain grows with every act, and an export leaves a checkpoint", async () => {
  await env.act(3);
  await env.get("/v1/audit/export");
  const { json } = await env.get("/v1/audit/chain");
  assert.equal(json?.records, 4);
  assert.ok(Number(json?.last_checkpoint_seq) >= 3);
  const payload = JSON.parse(Buffer.from(String(json?.last_checkpoint).split(".")[1] ?? "", "base64url").toString());
  assert.deepEqual([payload.chain, payload.seq], [env.accountId, json?.last_checkpoint_seq]);
});
