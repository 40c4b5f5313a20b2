import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const { auth: headers } = await tokenFor(service, { as: "staff" });
const ban = { kind: "address", subject: "192.0.2.7", hours: 1, reason: "a scanner" };

const lift = (id: unknown) => service.send("POST", `/v1/admin/bans/${id}/lift`, { json: { reason: "over" }, headers });

test("a ban is lifted once; 409 the second time; 404 for one that does not exist", async () => {
  const { json } = await service.send("POST", "/v1/admin/bans", { json: ban, headers });
  assert.equal((await lift(json?.id)).status, 200);
  const again = await lift(json?.id);
  assert.deepEqual([again.status, again.json?.code], [409, "state_conflict"]);
  assert.equal((await lift(randomUUID())).status, 404);
});
