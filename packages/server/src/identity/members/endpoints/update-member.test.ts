import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

const patch = (id: unknown, role: string, headers: Record<string, string>) =>
  service.send("PATCH", `/v1/members/${id}`, { json: { role }, headers });

describe("PATCH /v1/members/{id}", () => {
  test("a role counts from the next request on", async () => {
    const owner = await tokenFor(service);
    const member = await tokenFor(service, { accountId: owner.accountId ?? "", role: "viewer" });
    const invite = () =>
      service.send("POST", "/v1/members", {
        json: { email: "a@b.example", full_name: "A", role: "viewer" },
        headers: member.auth,
      });
    assert.equal((await invite()).json?.code, "insufficient_role");
    assert.equal((await patch(member.personId, "manager", owner.auth)).json?.role, "manager");
    assert.equal((await invite()).status, 201);
  });

  test("managers neither make nor change owners; the last owner cannot be demoted; an old ETag is refused", async () => {
    const owner = await tokenFor(service);
    const accountId = owner.accountId ?? "";
    const manager = await tokenFor(service, { accountId, role: "manager" });
    assert.equal((await patch(manager.personId, "owner", manager.auth)).json?.code, "insufficient_role");
    assert.equal((await patch(owner.personId, "viewer", manager.auth)).json?.code, "insufficient_role");
    assert.equal((await patch(owner.personId, "viewer", owner.auth)).json?.code, "state_conflict");
    const etag = { ...owner.auth, "if-match": '"another"' };
    assert.equal((await patch(manager.personId, "viewer", etag)).json?.code, "precondition_failed");
    assert.equal((await patch(manager.personId, "owner", owner.auth)).status, 200);
    assert.equal((await patch(owner.personId, "viewer", owner.auth)).status, 200, "another one is left");
  });
});
