import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { limitedEndpoints } from "../../testing/limited.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after }, { extra: limitedEndpoints });

const staff = await tokenFor(service, { as: "staff" });

const act = (path: string, json: unknown) => service.send("POST", `/v1/admin${path}`, { json, headers: staff.auth });

describe("requests of accounts", () => {
  const ask = async (auth: Record<string, string>) => {
    const json = { policy: "package", limit: 6000, window_s: 60, burst: 9000, reason: "for a test" };
    return (await service.send("POST", "/v1/rate-limits/requests", { json, headers: auth })).json?.id;
  };

  test("rejecting leaves the rate as it was, and another may be asked for", async () => {
    const owner = await tokenFor(service);
    const id = await ask(owner.auth);
    assert.equal((await act(`/rate-limit-requests/${id}/reject`, { reason: "not needed" })).json?.state, "rejected");
    const answer = await service.send("GET", "/v1/account", { headers: owner.auth });
    assert.equal(answer.headers["x-ratelimit-limit"], "3000");
    assert.ok(await ask(owner.auth));
    assert.equal((await act(`/rate-limit-requests/${randomUUID()}/approve`, { reason: "none" })).status, 404);
  });
});
