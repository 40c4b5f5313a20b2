import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("404: a made-up link withdraws nothing; 422: what is no link", async () => {
  const made = `wit_${"A".repeat(43)}`;
  assert.equal((await service.send("POST", "/v1/applications/withdraw", { json: { token: made } })).status, 404);
  assert.equal((await service.send("POST", "/v1/applications/withdraw", { json: { token: "x" } })).status, 422);
});
