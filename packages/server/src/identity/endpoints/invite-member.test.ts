import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { messageTo, tokenIn } from "../../testing/outbox.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

const invite = (headers: Record<string, string>, json: object) =>
  service.send("POST", "/v1/members", { headers, json });

describe("POST /v1/members", () => {
  test("201: an invitation is mailed with a link that opens the enrolment", async () => {
    const owner = await tokenFor(service);
    const invitation = { email: "yeni@ornek.example", full_name: "Yeni Üye", role: "viewer" };
    const made = await invite(owner.auth, invitation);
    const { email, full_name, role, state } = made.json ?? {};
    assert.deepEqual([made.status, { email, full_name, role }, state], [201, invitation, "invited"]);
    const token = tokenIn(await messageTo(service.dataDir, invitation.email, "enrolment"));
    assert.equal((await service.send("POST", "/v1/enrolment", { json: { token } })).status, 200);
  });

  test("409: an address that is invited or signs in already, here or in another account", async () => {
    const owner = await tokenFor(service);
    const invitation = { email: "iki@ornek.example", full_name: "İki", role: "viewer" };
    assert.equal((await invite(owner.auth, invitation)).status, 201);
    assert.equal((await invite(owner.auth, { ...invitation, email: "IKI@ornek.example" })).status, 409);
    assert.equal((await invite((await tokenFor(service)).auth, invitation)).status, 409);
  });

  test("403: only owners invite owners, and programs invite nobody", async () => {
    const owner = await tokenFor(service);
    const accountId = owner.accountId ?? "";
    const another = (email: string) => ({ email, full_name: "Sahip", role: "owner" });
    const manager = await tokenFor(service, { accountId, role: "manager" });
    assert.equal((await invite(manager.auth, another("o@ornek.example"))).json?.code, "insufficient_role");
    for (const as of ["client", "grant"] as const) {
      const { auth } = await tokenFor(service, { accountId, as });
      const answer = await invite(auth, { ...another("p@ornek.example"), role: "viewer" });
      assert.equal(answer.json?.code, "insufficient_scope", as);
    }
    const late = await tokenFor(service, { accountId, factorAgeMs: 601_000 });
    assert.equal((await invite(late.auth, another("o@ornek.example"))).json?.code, "step_up_required");
    assert.equal((await invite(owner.auth, another("o@ornek.example"))).status, 201);
  });
});
