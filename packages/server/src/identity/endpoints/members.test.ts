import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { messageTo, tokenIn } from "../../testing/outbox.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

async function send(method: string, target: string, headers: Record<string, string>, json?: unknown) {
  return service.send(method, target, { headers, ...(json !== undefined && { json }) });
}

describe("/v1/members", () => {
  test("an invitation is mailed, listed, sent again with a new link, and taken back by removing", async () => {
    const owner = await tokenFor(service);
    const invitation = { email: "yeni@ornek.example", full_name: "Yeni Üye", role: "viewer" };
    const made = await send("POST", "/v1/members", owner.auth, invitation);
    assert.deepEqual([made.status, made.json?.state], [201, "invited"]);
    const first = tokenIn(await messageTo(service.dataDir, invitation.email, "enrolment"));
    assert.equal((await send("POST", "/v1/members", owner.auth, invitation)).status, 409);
    const id = String(made.json?.id);
    assert.equal((await send("POST", `/v1/members/${id}/resend-invitation`, owner.auth)).status, 200);
    const second = tokenIn(await messageTo(service.dataDir, invitation.email, "enrolment", 2));
    const isGood = async (token: string) =>
      (await service.send("POST", "/v1/enrolment", { json: { token } })).status === 200;
    assert.deepEqual([await isGood(first), await isGood(second)], [false, true]);
    const list = await send("GET", "/v1/members", owner.auth);
    assert.equal(listIn<unknown>(list, "data").length, 2);
    assert.equal((await send("DELETE", `/v1/members/${id}`, owner.auth)).status, 204);
    assert.equal(await isGood(second), false);
    assert.equal((await send("GET", `/v1/members/${id}`, owner.auth)).status, 404);
    assert.equal((await send("POST", "/v1/members", owner.auth, invitation)).status, 201, "the address is free again");
  });

  test("a role counts from the next request on, and a removed member's token is refused at once", async () => {
    const owner = await tokenFor(service);
    const member = await tokenFor(service, { accountId: owner.accountId ?? "", role: "viewer" });
    const invite = () =>
      send("POST", "/v1/members", member.auth, { email: "a@b.example", full_name: "A", role: "viewer" });
    assert.equal((await invite()).json?.code, "insufficient_role");
    await send("PATCH", `/v1/members/${member.personId}`, owner.auth, { role: "manager" });
    assert.equal((await invite()).status, 201);
    assert.equal((await send("DELETE", `/v1/members/${member.personId}`, owner.auth)).status, 204);
    assert.equal((await invite()).json?.code, "invalid_token");
  });

  test("managers touch no owner; the last owner can be neither removed nor demoted, also not by two at once", async () => {
    const one = await tokenFor(service);
    const accountId = one.accountId ?? "";
    const other = await tokenFor(service, { accountId });
    const manager = await tokenFor(service, { accountId, role: "manager" });
    const owners = { email: "o@b.example", full_name: "O", role: "owner" };
    assert.equal((await send("POST", "/v1/members", manager.auth, owners)).json?.code, "insufficient_role");
    assert.equal((await send("DELETE", `/v1/members/${one.personId}`, manager.auth)).json?.code, "insufficient_role");
    const both = await Promise.all([
      send("DELETE", `/v1/members/${other.personId}`, one.auth),
      send("DELETE", `/v1/members/${one.personId}`, other.auth),
    ]);
    assert.equal(both.filter(({ status }) => status === 204).length, 1, both.map(({ status }) => status).join());
    const left = both[0]?.status === 204 ? one : other;
    assert.equal((await send("DELETE", `/v1/members/${left.personId}`, left.auth)).json?.code, "state_conflict");
    const demoted = await send("PATCH", `/v1/members/${left.personId}`, left.auth, { role: "viewer" });
    assert.equal(demoted.json?.code, "state_conflict");
  });
});
