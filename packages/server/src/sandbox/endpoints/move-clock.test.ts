import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

describe("POST /v1/sandbox/clock", () => {
  test("moves the time of everything; only for staff", async (t) => {
    const service = await startTestService(t);
    const staff = await tokenFor(service, { as: "staff" });
    const before = service.clock.now().getTime();
    const move = (headers: Record<string, string>) =>
      service.send("POST", "/v1/sandbox/clock", { json: { advance_s: 600 }, headers });
    assert.equal((await move((await tokenFor(service)).auth)).json?.code, "admin_required");
    const moved = await move(staff.auth);
    assert.equal(Date.parse(String(moved.json?.now)) - before, 600_000);
    const now = await service.send("POST", "/v1/sandbox/clock", { json: { advance_s: 0 }, headers: staff.auth });
    assert.equal(now.json?.now, moved.json?.now);
  });

  test("404 in profile local", async (t) => {
    const service = await startTestService(t, { settings: { EMANET_PROFILE: "local", EMANET_LIMIT_ANONYMOUS: "" } });
    const staff = await tokenFor(service, { as: "staff" });
    const answer = await service.send("POST", "/v1/sandbox/clock", { json: { advance_s: 1 }, headers: staff.auth });
    assert.equal(answer.status, 404);
  });
});
