import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { messageTo } from "../../testing/sent-messages.ts";

const service = await startTestService({ after });
const wanted = { policy: "snapshots_create", limit: 100, window_s: 60, reason: "three hundred taxpayers every night" };

describe("POST /v1/rate-limits/requests", () => {
  test("201: stored, audited, staff told by mail; one for a limit waits at a time", async () => {
    const { auth } = await tokenFor(service);
    const ask = (json: unknown) => service.send("POST", "/v1/rate-limits/requests", { json, headers: auth });
    const made = await ask(wanted);
    assert.equal(made.status, 201, JSON.stringify(made.json));
    assert.deepEqual([made.json?.state, made.json?.burst], ["pending", 100]);
    await messageTo(service.dataDir, "staff@emanet.invalid", "limit_requested_staff");
    assert.equal((await ask(wanted)).json?.code, "state_conflict");
    const other = await ask({ ...wanted, policy: "package", limit: 3000 });
    assert.deepEqual([other.status, other.json?.burst], [201, 6000]);
  });

  test("403 package_required: other packages cannot ask", async () => {
    const { auth } = await tokenFor(service, { package: "accountant" });
    const refused = await service.send("POST", "/v1/rate-limits/requests", { json: wanted, headers: auth });
    assert.deepEqual(
      [refused.status, refused.json?.code, refused.json?.required],
      [403, "package_required", "corporate"],
    );
  });

  test("422: limits that are not counted by account, and rates beyond what can be set", async () => {
    const { auth } = await tokenFor(service);
    for (const json of [
      { ...wanted, policy: "login" },
      { ...wanted, limit: 0 },
      { ...wanted, window_s: 86_401 },
    ]) {
      const refused = await service.send("POST", "/v1/rate-limits/requests", { json, headers: auth });
      assert.equal(refused.status, 422);
    }
  });
});
