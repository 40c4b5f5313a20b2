import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("every role reads the members; 404 once one is removed", async () => {
  const owner = await tokenFor(service);
  const viewer = await tokenFor(service, { accountId: owner.accountId ?? "", role: "viewer" });
  const target = `/v1/members/${viewer.personId}`;
  const read = await service.send("GET", target, { headers: viewer.auth });
  assert.deepEqual([read.status, read.json?.id, read.json?.role], [200, viewer.personId, "viewer"]);
  await service.send("DELETE", target, { headers: owner.auth });
  assert.equal((await service.send("GET", target, { headers: owner.auth })).status, 404);
});
