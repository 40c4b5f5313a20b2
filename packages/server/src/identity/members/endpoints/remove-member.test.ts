import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, tokenIn } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after });

const remove = (id: unknown, headers: Record<string, string>) =>
  service.send("DELETE", `/v1/members/${id}`, { headers });

describe("DELETE /v1/members/{id}", () => {
  test("a removed member's token is refused at once", async () => {
    const owner = await tokenFor(service);
    const member = await tokenFor(service, { accountId: owner.accountId ?? "", role: "manager" });
    assert.equal((await remove(member.personId, owner.auth)).status, 204);
    assert.equal((await service.send("GET", "/v1/me", { headers: member.auth })).json?.code, "invalid_token");
  });

  test("an invitation is taken back: its link ends, and the address is free again", async () => {
    const owner = await tokenFor(service);
    const json = { email: "geri@ornek.example", full_name: "Geri", role: "viewer" };
    const invite = () => service.send("POST", "/v1/members", { json, headers: owner.auth });
    const { json: made } = await invite();
    const token = tokenIn(await messageTo(service.dataDir, json.email, "enrolment"));
    assert.equal((await remove(made?.id, owner.auth)).status, 204);
    assert.equal((await service.send("POST", "/v1/enrolment", { json: { token } })).status, 404);
    assert.equal((await invite()).status, 201);
  });

  test("managers remove no owner; the last owner stays, also when two remove each other at once", async () => {
    const one = await tokenFor(service);
    const accountId = one.accountId ?? "";
    const other = await tokenFor(service, { accountId });
    const manager = await tokenFor(service, { accountId, role: "manager" });
    assert.equal((await remove(one.personId, manager.auth)).json?.code, "insufficient_role");
    const both = await Promise.all([remove(other.personId, one.auth), remove(one.personId, other.auth)]);
    assert.equal(both.filter(({ status }) => status === 204).length, 1, both.map(({ status }) => status).join());
    const left = both[0]?.status === 204 ? one : other;
    assert.equal((await remove(left.personId, left.auth)).json?.code, "state_conflict");
  });
});
