import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { makeTaxpayer } from "../testing.ts";

const service = await startTestService({ after });
const vaultsOf = async (accountId: string | null) =>
  storedRows<{ id: string; name: string; taxpayer_id: string }>(
    service.database,
    "select id, name, taxpayer_id from emanet.vaults where account_id = $1 and kind = 'taxpayer'",
    [accountId],
  );

describe("POST /v1/taxpayers", () => {
  test("201: with a vault of its own, by a person or a program", async () => {
    const owner = await tokenFor(service);
    const made = await makeTaxpayer(service, owner.auth, "Deniz Örnek", "1234567808");
    assert.deepEqual([made.state, made.freshness], ["active", "never"]);
    const vault = { id: made.vault_id, name: "Deniz Örnek", taxpayer_id: made.id };
    assert.deepEqual(await vaultsOf(owner.accountId), [vault]);
    const client = await tokenFor(service, { accountId: owner.accountId ?? "", as: "client" });
    await makeTaxpayer(service, client.auth, "Kişi", "10000000146");
  });

  test("409: the number again in the account, also by many at once; free in another account", async () => {
    const owner = await tokenFor(service);
    const json = { name: "Bir", tax_id: "1234567808" };
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => service.send("POST", "/v1/taxpayers", { json, headers: owner.auth })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409]);
    assert.equal((await vaultsOf(owner.accountId)).length, 1, "a refused one leaves no vault");
    await makeTaxpayer(service, (await tokenFor(service)).auth, "Bir", "1234567808");
  });

  test("422: wrong check digits, placeholders, letters and lengths; the answer does not repeat the number", async () => {
    const { auth } = await tokenFor(service);
    for (const wrong of ["1234567809", "10000000147", "11111111111", "123456780", "123456780a", "٠١٢٣٤٥٦٧٨٩"]) {
      const json = { name: "x", tax_id: wrong };
      const answer = await service.send("POST", "/v1/taxpayers", { json, headers: auth });
      assert.equal(answer.json?.code, "validation_failed", wrong);
      assert.ok(!answer.body.toString().includes(wrong));
    }
  });

  test("403: a client that is held to vaults, a viewer", async () => {
    const { accountId } = await tokenFor(service);
    for (const [bearer, code] of [
      [{ as: "client", vaultIds: [] }, "insufficient_scope"],
      [{ role: "viewer" }, "insufficient_role"],
    ] as const) {
      const { auth } = await tokenFor(service, { accountId: accountId ?? "", ...bearer });
      const json = { name: "x", tax_id: "1234567808" };
      assert.equal((await service.send("POST", "/v1/taxpayers", { json, headers: auth })).json?.code, code);
    }
  });
});
