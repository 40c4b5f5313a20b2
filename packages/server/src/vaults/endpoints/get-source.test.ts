import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { makeSourceBy, makeVault } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const vault = await makeVault(service, owner.auth);
const id = await makeSourceBy(service, owner.auth, "sunucu", { vault_id: vault, expected_every: 3600 });

describe("GET /v1/sources/{id}", () => {
  test("200: freshness follows the clock: never, ok, late", async () => {
    const read = async () => (await service.send("GET", `/v1/sources/${id}`, { headers: owner.auth })).json;
    assert.deepEqual([(await read())?.freshness, (await read())?.last_snapshot], ["never", null]);
    const at = service.clock.now();
    const snapshot = "0199c0de-0000-7000-8000-0000000000aa";
    await storedRows(
      service.database,
      `update emanet.sources set last_snapshot_id = $2, last_snapshot_status = 'completed',
         last_snapshot_completed_at = $3, last_good_at = $3, size_bytes = 42 where id = $1`,
      [id, snapshot, at],
    );
    const fresh = await read();
    assert.deepEqual(
      [fresh?.freshness, fresh?.size_bytes, fresh?.last_snapshot],
      ["ok", 42, { id: snapshot, status: "completed", completed_at: at.toISOString() }],
    );
    service.clock.advance(3_600_001);
    const { auth } = await tokenFor(service, { accountId: owner.accountId ?? "" });
    assert.equal((await service.send("GET", `/v1/sources/${id}`, { headers: auth })).json?.freshness, "late");
  });

  test("404: for a client that is held to other vaults; 403 for a write-only one", async () => {
    const accountId = owner.accountId ?? "";
    const other = await tokenFor(service, { accountId, as: "client", vaultIds: [id] });
    assert.equal((await service.send("GET", `/v1/sources/${id}`, { headers: other.auth })).json?.code, "not_found");
    const own = await tokenFor(service, { accountId, as: "client", vaultIds: [vault] });
    assert.equal((await service.send("GET", `/v1/sources/${id}`, { headers: own.auth })).status, 200);
    const blind = await tokenFor(service, { accountId, as: "client", scopes: ["snapshots:write"] });
    const refused = await service.send("GET", `/v1/sources/${id}`, { headers: blind.auth });
    assert.equal(refused.json?.code, "insufficient_scope");
  });
});
