import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { storedRows } from "../../../testing/rows.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the owner who reviews a grant answers for it; a sign-in cannot be reviewed into one", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const grant = await tokenFor(service, { accountId, as: "grant", role: "operator" });
  await storedRows(service.database, "update emanet.sessions set review_since = now() where id = $1", [
    grant.sessionId,
  ]);
  const read = () => service.send("GET", "/v1/account", { headers: grant.auth });
  assert.equal((await read()).json?.code, "insufficient_scope");
  const review = (id: string) => service.send("POST", `/v1/oauth-grants/${id}/review`, { headers: owner.auth });
  const manager = await tokenFor(service, { accountId, role: "manager" });
  const refused = await service.send("POST", `/v1/oauth-grants/${grant.sessionId}/review`, { headers: manager.auth });
  assert.equal(refused.json?.code, "insufficient_role", "it may have been an owner's");
  const answer = await review(grant.sessionId);
  assert.deepEqual([answer.json?.member_id, answer.json?.review_since], [owner.personId, null]);
  assert.equal((await read()).status, 200);
  const signIn = await tokenFor(service, { accountId, role: "viewer" });
  const machine = await tokenFor(service, { accountId, as: "client" });
  for (const { sessionId } of [signIn, machine]) assert.equal((await review(sessionId)).status, 404);
});
