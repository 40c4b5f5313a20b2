import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

describe("X-Emanet-Fault", () => {
  test("staff of a sandbox get the fault they ask for; a lost answer has done its work", async (t) => {
    const service = await startTestService(t);
    const staff = await tokenFor(service, { as: "staff" });
    const move = async (fault: string | null, auth = staff.auth, advance_s = 60) => {
      const headers = { ...auth, ...(fault !== null && { "x-emanet-fault": fault }) };
      return service.send("POST", "/v1/sandbox/clock", { json: { advance_s }, headers });
    };
    const now = async () => Date.parse(String((await move(null, staff.auth, 0)).json?.now));
    const before = await now();
    assert.equal((await move("unavailable")).status, 503);
    assert.equal((await move("internal_error")).json?.code, "internal_error");
    assert.equal(await now(), before, "nothing was done");
    assert.equal((await move("lost_answer")).status, 503);
    assert.equal((await now()) - before, 60_000, "everything was done");
    assert.equal((await move("nonsense")).json?.code, "invalid_header");
  });

  test("members, anonymous callers and other profiles have no faults", async (t) => {
    const service = await startTestService(t);
    const member = await tokenFor(service);
    const headers = { ...member.auth, "x-emanet-fault": "internal_error" };
    assert.equal((await service.send("GET", "/v1/account", { headers })).status, 200);
    assert.equal(
      (await service.send("GET", "/health/live", { headers: { "x-emanet-fault": "unavailable" } })).status,
      200,
    );
    const local = await startTestService(t, { settings: { EMANET_PROFILE: "local", EMANET_LIMIT_ANONYMOUS: "" } });
    const staff = await tokenFor(local, { as: "staff" });
    const faulty = { ...staff.auth, "x-emanet-fault": "internal_error" };
    assert.equal((await local.send("GET", "/v1/admin/overview", { headers: faulty })).status, 200);
  });
});
