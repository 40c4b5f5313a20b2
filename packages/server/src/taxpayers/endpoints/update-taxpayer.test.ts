import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { makeTaxpayer } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const change = (id: string, json: object, headers = owner.auth) =>
  service.send("PATCH", `/v1/taxpayers/${id}`, { json, headers });
const vaultName = async (id: string) =>
  (await service.send("GET", `/v1/vaults/${id}`, { headers: owner.auth })).json?.name;

describe("PATCH /v1/taxpayers/{id}", () => {
  test("200: its vault is renamed with it, until a person names the vault", async () => {
    const { id, vault_id: vault } = await makeTaxpayer(service, owner.auth, "Eski");
    assert.equal((await change(id, { name: "Yeni" })).json?.name, "Yeni");
    assert.equal(await vaultName(vault), "Yeni");
    await service.send("PATCH", `/v1/vaults/${vault}`, { json: { name: "Kasa 7" }, headers: owner.auth });
    await change(id, { name: "En yeni" });
    assert.equal(await vaultName(vault), "Kasa 7");
  });

  test("200: archived and back; 422 for another tax number", async () => {
    const { id } = await makeTaxpayer(service, owner.auth, "Arşiv");
    assert.equal((await change(id, { state: "archived" })).json?.state, "archived");
    assert.equal((await change(id, { state: "active" })).json?.state, "active");
    assert.equal((await change(id, { tax_id: "1234567808" })).status, 422);
  });

  test("404: beyond the vaults of a client, and nothing changes", async () => {
    const { id, vault_id: vault } = await makeTaxpayer(service, owner.auth, "Sabit");
    const held = (vaultIds: readonly string[]) =>
      tokenFor(service, { accountId: owner.accountId ?? "", as: "client", vaultIds });
    assert.equal((await change(id, { name: "x" }, (await held([id])).auth)).json?.code, "not_found");
    const read = await service.send("GET", `/v1/taxpayers/${id}`, { headers: owner.auth });
    assert.deepEqual([read.json?.name, read.json?.version], ["Sabit", 1]);
    assert.equal((await change(id, { name: "x" }, (await held([vault])).auth)).status, 200);
  });
});
