import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type SnapshotJson, snapshotTest } from "../../snapshots/testing.ts";

const env = await snapshotTest({ after });

test("200 and 206: the sealed bytes as they are stored, by any range", async () => {
  const { id, vault_id: vaultId } = (await env.completed("pack", { a: "merhaba".repeat(3_000) })) as SnapshotJson;
  const vault = await env.service.running.services?.vaults.open(env.accountId, String(vaultId));
  assert.ok(vault !== undefined);
  for await (const { name } of vault.store.list(vault.names.packs)) {
    const stored: Buffer = Buffer.from(await vault.store.get(name));
    const target = `/v1/snapshots/${id}/packs/${name.split("/").at(-1)}`;
    const whole = await env.get(target);
    assert.equal(whole.status, 200, whole.body.toString());
    assert.ok(whole.body.equals(stored));
    const part = await env.get(target, { range: "bytes=10-99" });
    assert.ok(part.status === 206 && part.body.equals(stored.subarray(10, 100)));
    assert.equal((await env.get(target, { range: `bytes=${stored.length}-` })).status, 416);
  }
});
