import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("ends a grant for good, and nothing that is no grant", async () => {
  const manager = await tokenFor(service, { role: "manager" });
  const accountId = manager.accountId ?? "";
  const grant = await tokenFor(service, { accountId, as: "grant" });
  const end = (id: string) => service.send("DELETE", `/v1/oauth-grants/${id}`, { headers: manager.auth });
  assert.equal((await service.send("GET", "/v1/account", { headers: grant.auth })).status, 200);
  assert.equal((await end(grant.sessionId)).status, 204);
  assert.equal((await service.send("GET", "/v1/account", { headers: grant.auth })).status, 401);
  assert.equal((await end(grant.sessionId)).status, 404);
  const colleague = await tokenFor(service, { accountId });
  assert.equal((await end(colleague.sessionId)).status, 404, "a sign-in is its person's own");
});
