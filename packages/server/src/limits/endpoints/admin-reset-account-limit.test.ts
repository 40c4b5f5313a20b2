import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const staff = await tokenFor(service, { as: "staff" });

const act = (path: string, json: unknown) =>
  service.send("POST", `/v1/admin/accounts/${path}`, { json, headers: staff.auth });

test("204: the account has the rate of its package again; 404 for an account that does not exist", async () => {
  const owner = await tokenFor(service);
  const limit = async () =>
    (await service.send("GET", "/v1/account", { headers: owner.auth })).headers["x-ratelimit-limit"];
  const before = await limit();
  const rate = { policy: "package", limit: 77, window_s: 60, burst: 77, reason: "a test" };
  assert.equal((await act(`${owner.accountId}/limits`, rate)).status, 200);
  assert.equal(await limit(), "77");
  const reset = { policy: "package", reason: "it is over" };
  assert.equal((await act(`${owner.accountId}/limits/reset`, reset)).status, 204);
  assert.equal(await limit(), before);
  assert.equal((await act(`${randomUUID()}/limits/reset`, reset)).status, 404);
});
