import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { makeTaxpayer } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";

describe("GET /v1/taxpayers/{id}", () => {
  test("200: masked, with its kind; the number is in no answer and no log line", async () => {
    const firm = await makeTaxpayer(service, owner.auth, "Firma", "1234567808");
    const person = await makeTaxpayer(service, owner.auth, "Kişi", "10000000146");
    assert.deepEqual([firm.tax_id, firm.tax_id_kind], ["******7808", "vkn"]);
    assert.deepEqual([person.tax_id, person.tax_id_kind], ["*******0146", "tckn"]);
    const read = await service.send("GET", `/v1/taxpayers/${person.id}`, { headers: owner.auth });
    assert.deepEqual([read.status, read.json], [200, person]);
    assert.equal(service.logLines.filter((line) => line.includes("10000000146")).length, 0);
  });

  test("404: beyond the vaults of a client; 403: without the scope", async () => {
    const { id, vault_id: vault } = await makeTaxpayer(service, owner.auth, "Başka", "4540536920");
    const read = async (bearer: Parameters<typeof tokenFor>[1]) => {
      const { auth } = await tokenFor(service, { accountId, as: "client", ...bearer });
      const answer = await service.send("GET", `/v1/taxpayers/${id}`, { headers: auth });
      return answer.json?.code ?? answer.status;
    };
    assert.equal(await read({ vaultIds: [vault] }), 200);
    assert.equal(await read({ vaultIds: [id] }), "not_found");
    assert.equal(await read({ scopes: ["snapshots:read", "taxpayers:write"] }), "insufficient_scope");
  });
});
