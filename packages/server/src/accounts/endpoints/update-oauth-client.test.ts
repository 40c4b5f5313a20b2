import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { defaultVaultId } from "../../vaults/testing.ts";
import { makeClient, rotateSecret } from "../testing.ts";

const service = await startTestService({ after });

test("changes what is sent and nothing else; an old ETag is refused", async () => {
  const { auth } = await tokenFor(service);
  const { target } = await makeClient(service, auth, { scopes: ["snapshots:read", "audit:read"] });
  const { headers: before } = await service.send("GET", target, { headers: auth });
  const headers = { ...auth, "if-match": before.etag ?? "" };
  const vault = await defaultVaultId(service, auth);
  const json = { scopes: ["audit:read"], vault_ids: [vault] };
  const narrowed = await service.send("PATCH", target, { json, headers });
  const { scopes, vault_ids, name } = narrowed.json ?? {};
  assert.deepEqual({ scopes, vault_ids, name }, { ...json, name: "Gece yedeği" });
  const again = await service.send("PATCH", target, { json: { name: "Başka" }, headers });
  assert.equal(again.json?.code, "precondition_failed");
});

test("422: a client is not held to what is no vault of its account, and stays as it is", async () => {
  const { auth } = await tokenFor(service);
  const own = await defaultVaultId(service, auth);
  const foreign = await defaultVaultId(service, (await tokenFor(service)).auth);
  const { target } = await makeClient(service, auth, { vault_ids: [own] });
  for (const wrong of [foreign, randomUUID()]) {
    const answer = await service.send("PATCH", target, { json: { vault_ids: [own, wrong] }, headers: auth });
    const { code, errors } = (answer.json ?? {}) as { code?: string; errors?: { pointer: string; code: string }[] };
    const found = errors?.map((error) => [error.pointer, error.code]);
    assert.deepEqual([answer.status, code, found], [422, "validation_failed", [["/vault_ids/1", "not_allowed"]]]);
  }
  assert.deepEqual((await service.send("GET", target, { headers: auth })).json?.vault_ids, [own]);
  for (const vault_ids of [[], [own.toUpperCase()], null]) {
    const answer = await service.send("PATCH", target, { json: { vault_ids }, headers: auth });
    assert.equal(answer.status, 200, answer.body.toString());
  }
});

test("403: a member cannot give a client more rights than they have, or change a client that has more", async () => {
  const owner = await tokenFor(service);
  const manager = await tokenFor(service, { accountId: owner.accountId ?? "", role: "manager" });
  const own = await makeClient(service, manager.auth);
  const wide = await makeClient(service, owner.auth, { role: "owner" });
  const tried = [
    await service.send("PATCH", own.target, { json: { role: "owner" }, headers: manager.auth }),
    await service.send("PATCH", wide.target, { json: { name: "Bizim" }, headers: manager.auth }),
    await rotateSecret(service, wide.target, {}, manager.auth),
    await service.send("DELETE", wide.target, { headers: manager.auth }),
  ];
  assert.deepEqual(
    tried.map((answer) => answer.json?.code),
    Array(4).fill("insufficient_role"),
  );
  const changed = await service.send("PATCH", own.target, { json: { role: "operator" }, headers: manager.auth });
  assert.equal(changed.json?.role, "operator");
});
