import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type SnapshotJson, snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });
const read = async (id: unknown) => (await env.get(`/v1/snapshots/${id}`)).json as SnapshotJson;
const verify = (id: unknown) => env.send("POST", `/v1/snapshots/${id}/verify`);
const verified = (id: unknown, not: unknown) =>
  env.until(async () => {
    const found = await read(id);
    return found.verified_at !== null && found.verified_at !== not && found.verification === null ? found : null;
  });

test("202: all content is read back and compared again; the snapshot says that it runs, and when it was verified", async () => {
  const { id } = await env.completed("a", { f: "1".repeat(10_000), g: "2".repeat(10_000) });
  const before = await verified(id, null);
  env.service.clock.advance(60_000);
  const asked = await verify(id);
  assert.equal(asked.status, 202, asked.body.toString());
  assert.deepEqual(asked.json?.verification, { status: "queued", checked_files: 0 });
  const after = await verified(id, before.verified_at);
  assert.ok(String(after.verified_at) > String(before.verified_at));
  const records = await env.rows<{ action: string }>(
    "select action from emanet.audit_records where targets @> $1::jsonb and action like '%verification%'",
    [JSON.stringify([{ type: "snapshot", id }])],
  );
  assert.deepEqual(
    records.map(({ action }) => action),
    ["snapshot.verification_asked"],
  );
});

test("content that was verified once and was damaged since is found", async () => {
  const { id, vault_id: vaultId } = await env.completed("b", { f: "hasar".repeat(5_000) });
  await verified(id, null);
  const vault = await env.service.running.services?.vaults.open(env.accountId, String(vaultId));
  assert.ok(vault !== undefined);
  for await (const { name } of vault.store.list(vault.names.packs)) {
    const bytes = Buffer.from(await vault.store.get(name));
    for (let at = 600; at < bytes.length; at += 50) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    await vault.store.put(name, bytes);
  }
  assert.equal((await verify(id)).status, 202);
  const found = await env.until(async () => {
    const snapshot = await read(id);
    return snapshot.failure === null ? null : snapshot;
  });
  assert.equal((found.failure as { code: string }).code, "verification_failed");
});

test("409: a snapshot without content; 404: one of another account; 403: a role that only reads", async () => {
  const { id } = (await env.send("POST", "/v1/snapshots", { source: "open" })).json as SnapshotJson;
  assert.equal((await verify(id)).json?.code, "state_conflict");
  const done = await env.completed("c", { f: "1" });
  const viewer = await env.as({ role: "viewer" });
  const refused = await env.service.send("POST", `/v1/snapshots/${done.id}/verify`, { headers: viewer });
  assert.equal(refused.status, 403);
});
