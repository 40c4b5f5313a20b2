import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { defaultVaultId, makeSourceBy, makeVault } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";

async function writersOf(id: string) {
  const answer = await service.send("GET", `/v1/sources/${id}/writers`, { headers: owner.auth });
  return listIn<{ kind: string; id: string }>(answer, "data").map(({ kind, id: writer }) => [kind, writer]);
}

describe("POST /v1/sources", () => {
  test("201: in the default vault; a person's source has no writer yet, a program's has the program", async () => {
    const byPerson = await makeSourceBy(service, owner.auth, "kişiden");
    const read = await service.send("GET", `/v1/sources/${byPerson}`, { headers: owner.auth });
    assert.deepEqual(
      [read.json?.vault_id, read.json?.kind, read.json?.expected_every, read.json?.aliases],
      [await defaultVaultId(service, owner.auth), "files", null, []],
    );
    assert.deepEqual(await writersOf(byPerson), []);
    const client = await tokenFor(service, { accountId, as: "client", scopes: ["snapshots:write"] });
    const byProgram = await makeSourceBy(service, client.auth, "programdan", { kind: "database", expected_every: 60 });
    assert.deepEqual(await writersOf(byProgram), [["client", client.clientId]]);
  });

  test("409: a name that is taken in the vault, also as an alias; free in another vault", async () => {
    const id = await makeSourceBy(service, owner.auth, "eski ad");
    await service.send("PATCH", `/v1/sources/${id}`, { json: { name: "yeni ad" }, headers: owner.auth });
    for (const name of ["eski ad", "yeni ad"]) {
      const answer = await service.send("POST", "/v1/sources", { json: { name }, headers: owner.auth });
      assert.equal(answer.json?.code, "state_conflict", name);
    }
    await makeSourceBy(service, owner.auth, "eski ad", { vault_id: await makeVault(service, owner.auth) });
  });

  test("422: a name in the form of an id, a vault of nobody, of another account or beyond the client's list", async () => {
    const other = await tokenFor(service);
    const theirs = await defaultVaultId(service, other.auth);
    const vault = await makeVault(service, owner.auth);
    const held = await tokenFor(service, { accountId, as: "client", vaultIds: [vault] });
    for (const [json, { auth }] of [
      [{ name: "0199C0DE-0000-7000-8000-00000000dead" }, owner],
      [{ name: "x", vault_id: "0199c0de-0000-7000-8000-00000000dead" }, owner],
      [{ name: "x", vault_id: theirs }, owner],
      [{ name: "x", taxpayer_id: theirs }, owner],
      [{ name: "x", vault_id: await defaultVaultId(service, owner.auth) }, held],
      [{ name: "x", expected_every: 59 }, owner],
    ] as const) {
      const answer = await service.send("POST", "/v1/sources", { json, headers: auth });
      assert.deepEqual([answer.status, answer.json?.code], [422, "validation_failed"], JSON.stringify(json));
    }
    const made = await makeSourceBy(service, held.auth, "tek kasası var");
    const read = await service.send("GET", `/v1/sources/${made}`, { headers: owner.auth });
    assert.equal(read.json?.vault_id, vault);
  });

  test("409: a vault has as many as there may be", async () => {
    const vault = await makeVault(service, owner.auth);
    await storedRows(
      service.database,
      `insert into emanet.sources (id, account_id, vault_id, name, name_order, kind, created_at, updated_at)
       select gen_random_uuid(), $1, $2, 'x' || n, 'X', 'files', $3, $3 from generate_series(1, 1000) n`,
      [accountId, vault, service.clock.now()],
    );
    const json = { name: "bir fazla", vault_id: vault };
    const answer = await service.send("POST", "/v1/sources", { json, headers: owner.auth });
    assert.deepEqual([answer.status, answer.json?.code], [409, "quota_exceeded"]);
  });
});
