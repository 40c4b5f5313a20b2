import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("PATCH changes what is sent, raises the version, and refuses an old ETag", async () => {
  const { auth } = await tokenFor(service);
  const before = await service.send("GET", "/v1/account", { headers: auth });
  const headers = { ...auth, "if-match": before.headers.etag ?? "" };
  const json = { name: "Yeni Ad", sms_sign_in: false };
  const changed = await service.send("PATCH", "/v1/account", { json, headers });
  assert.deepEqual([changed.status, changed.json?.name, changed.json?.version], [200, "Yeni Ad", 2]);
  const again = await service.send("PATCH", "/v1/account", { json: { name: "Başka" }, headers });
  assert.equal(again.json?.code, "precondition_failed");
});

test("403: what is an owner's is refused to a manager, and to a program that a manager made", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  for (const bearer of [
    { role: "manager" },
    { as: "client", clientRole: "manager" },
    { as: "grant", clientRole: "owner", role: "manager" },
    { as: "grant", clientRole: "manager", role: "owner" },
  ] as const) {
    const { auth } = await tokenFor(service, { accountId, ...bearer });
    const answer = await service.send("PATCH", "/v1/account", { json: { name: "Ele Geçti" }, headers: auth });
    assert.equal(answer.json?.code, "insufficient_role", JSON.stringify(bearer));
  }
});

test("403: how people sign in is changed by a person with a fresh second factor alone", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const change = async (bearer: Parameters<typeof tokenFor>[1]) => {
    const { auth } = await tokenFor(service, { accountId, ...bearer });
    const answer = await service.send("PATCH", "/v1/account", { json: { sms_sign_in: false }, headers: auth });
    return answer.json?.code ?? answer.status;
  };
  assert.equal(await change({ as: "client", clientRole: "owner" }), "insufficient_scope");
  assert.equal(await change({ as: "grant" }), "insufficient_scope");
  assert.equal(await change({ factorAgeMs: 601_000 }), "step_up_required");
  assert.equal(await change({}), 200);
});
