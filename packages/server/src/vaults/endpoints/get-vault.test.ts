import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { defaultVaultId, makeSourceBy, makeVault } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";
const id = await makeVault(service, owner.auth, "Muhasebe", { quota_bytes: 1000 });

describe("GET /v1/vaults/{id}", () => {
  test("200: name, quota, what is stored and how many sources it has", async () => {
    await makeSourceBy(service, owner.auth, "sunucu", { vault_id: id });
    const answer = await service.send("GET", `/v1/vaults/${id}`, { headers: owner.auth });
    const { created_at: _made, ...rest } = answer.json ?? {};
    assert.deepEqual(rest, {
      ...{ id, name: "Muhasebe", kind: "other", taxpayer_id: null, storage: "service" },
      ...{ quota_bytes: 1000, quota_warning_bytes: null, stored_bytes: 0, source_count: 1, version: 1 },
      ...{ last_verification: null, key_epoch: 1, keys_rotated_at: null },
      upkeep: {
        ...{ paused: false, scrubbed_at: null, scrub_round_ended_at: null, scrub_findings: 0, damaged_frames: 0 },
        ...{ healed_at: null, repacked_at: null },
      },
    });
  });

  test("404: for a client that is held to other vaults, exactly like a vault that does not exist", async () => {
    const other = await defaultVaultId(service, owner.auth);
    const read = async (vaultIds: readonly string[], target: string) => {
      const { auth } = await tokenFor(service, { accountId, as: "client", vaultIds });
      const { status, json } = await service.send("GET", `/v1/vaults/${target}`, { headers: auth });
      return [status, json?.code, json?.detail];
    };
    const missing = await read([other], "0199c0de-0000-7000-8000-00000000dead");
    assert.deepEqual(missing.slice(0, 2), [404, "not_found"]);
    assert.deepEqual(await read([other], id), missing);
    assert.deepEqual(await read([], id), missing);
    assert.equal((await read([id], id))[0], 200);
  });

  test("403: a write-only client, an auditor", async () => {
    for (const bearer of [
      { as: "client", scopes: ["snapshots:write"] },
      { as: "client", scopes: ["snapshots:write"], kind: "agent" },
      { role: "auditor" },
    ] as const) {
      const { auth } = await tokenFor(service, { accountId, ...bearer });
      assert.equal((await service.send("GET", `/v1/vaults/${id}`, { headers: auth })).status, 403);
    }
  });
});
