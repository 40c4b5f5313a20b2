import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { makeSourceBy, makeVault } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";

describe("GET /v1/sources/{id}/writers", () => {
  test("200: the first writer, bound by nobody; 404 beyond the vaults of a client", async () => {
    const vault = await makeVault(service, owner.auth);
    const client = await tokenFor(service, { accountId, as: "client", vaultIds: [vault] });
    const id = await makeSourceBy(service, client.auth, "sunucu");
    const read = (auth: Record<string, string>) => service.send("GET", `/v1/sources/${id}/writers`, { headers: auth });
    const bound = {
      ...{ kind: "client", id: client.clientId, bound_by: null },
      bound_at: service.clock.now().toISOString(),
    };
    assert.deepEqual((await read(owner.auth)).json, { data: [bound] });
    assert.deepEqual((await read(client.auth)).json, { data: [bound] });
    const other = await tokenFor(service, { accountId, as: "client", vaultIds: [id] });
    assert.equal((await read(other.auth)).json?.code, "not_found");
  });
});
