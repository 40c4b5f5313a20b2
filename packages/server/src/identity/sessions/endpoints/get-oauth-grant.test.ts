import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("GET /v1/oauth-grants/{id}: a grant of the account; 404 for a sign-in and for one that has ended", async () => {
  const owner = await tokenFor(service);
  const grant = await tokenFor(service, { accountId: owner.accountId ?? "", as: "grant" });
  const read = (id: string) => service.send("GET", `/v1/oauth-grants/${id}`, { headers: owner.auth });
  const shown = await read(grant.sessionId);
  assert.deepEqual([shown.status, shown.json?.id, shown.json?.member_id], [200, grant.sessionId, grant.personId]);
  assert.equal((await read(owner.sessionId)).status, 404);
  await service.send("DELETE", `/v1/oauth-grants/${grant.sessionId}`, { headers: owner.auth });
  assert.equal((await read(grant.sessionId)).status, 404);
});
