import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService, type TestCall } from "../../testing/running.ts";

const service = await startTestService({ after });

const staff = await tokenFor(service, { as: "staff" });

async function lift(id: unknown): Promise<void> {
  const call: TestCall = { json: { reason: "a test is over" }, headers: staff.auth };
  assert.equal((await service.send("POST", `/v1/admin/bans/${id}/lift`, call)).status, 200);
}

describe("by hand", () => {
  const act = (json: unknown) => service.send("POST", "/v1/admin/bans", { json, headers: staff.auth });

  test("staff ban a client, a session, an address; each once, with a reason, and lift it", async () => {
    const member = await tokenFor(service);
    const made = await act({ kind: "session", subject: member.sessionId, hours: null, reason: "shared by mistake" });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    assert.equal((await service.send("GET", "/v1/account", { headers: member.auth })).json?.code, "banned");
    const again = await act({ kind: "session", subject: member.sessionId, hours: 1, reason: "once more" });
    assert.equal(again.json?.code, "state_conflict");
    await lift(made.json?.id);
    assert.equal((await service.send("GET", "/v1/account", { headers: member.auth })).status, 200);
    const address = await act({ kind: "address", subject: "2001:db8::1:2", hours: 2, reason: "a scanner" });
    assert.equal(address.json?.subject, "2001:db8::/64");
    await lift(address.json?.id);
  });

  test("404 for a credential that does not exist, 422 for what is no address or too long", async () => {
    assert.equal((await act({ kind: "client", subject: randomUUID(), hours: 1, reason: "none" })).status, 404);
    assert.equal((await act({ kind: "address", subject: "999.1.1.1", hours: 1, reason: "none" })).status, 422);
    assert.equal((await act({ kind: "address", subject: "192.0.2.1", hours: 25, reason: "none" })).status, 422);
    assert.equal((await act({ kind: "address", subject: "192.0.2.1", hours: null, reason: "none" })).status, 422);
    assert.equal(
      (
        await service.send("POST", `/v1/admin/bans/${randomUUID()}/lift`, {
          json: { reason: "none" },
          headers: staff.auth,
        })
      ).status,
      404,
    );
  });
});
