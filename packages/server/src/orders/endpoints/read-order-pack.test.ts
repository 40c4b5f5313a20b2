import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { openDownload } from "../../downloads/testing.ts";
import { recheckMs } from "../../kernel/http/reply-stream.ts";
import { manyRestores } from "../../restores/testing.ts";
import { type SnapshotJson, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { orderTo, TestRun, writeOnlyAgent } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
// More than the connection's buffers hold, so that a pack is still being sent while its reader waits.
const content = randomBytes(12 * 1024 * 1024);
const snapshot = (await env.upload("source=pack", tarOf({ a: content }))).json as SnapshotJson;

async function packs(): Promise<readonly { readonly name: string; readonly bytes: Buffer }[]> {
  const vault = await env.service.running.services?.vaults.open(env.accountId, String(snapshot.vault_id));
  assert.ok(vault !== undefined);
  const found: { name: string; bytes: Buffer }[] = [];
  for await (const { name } of vault.store.list(vault.names.packs))
    found.push({ name: name.split("/").at(-1) ?? "", bytes: Buffer.from(await vault.store.get(name)) });
  return found.sort((a, b) => b.bytes.length - a.bytes.length);
}

async function taken() {
  const agent = await writeOnlyAgent(env);
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  await new TestRun(env, agent).take(id);
  return { agent, id };
}

test("200 and 206: the sealed bytes as they are stored, by any range", async () => {
  const { agent, id } = await taken();
  for (const { name, bytes } of await packs()) {
    const get = (headers: object) =>
      env.service.send("GET", `/v1/orders/${id}/packs/${name}`, { headers: { ...agent.auth, ...headers } });
    assert.ok((await get({})).body.equals(bytes));
    const part = await get({ range: "bytes=10-99" });
    assert.ok(part.status === 206 && part.body.equals(bytes.subarray(10, 100)));
    assert.equal((await get({ range: `bytes=${bytes.length}-` })).status, 416);
  }
});

test("404: a pack that is not there, another agent; 409: an order that was canceled", async () => {
  const { agent, id } = await taken();
  const [pack] = await packs();
  const get = (name: string, headers: Readonly<Record<string, string>>) =>
    env.service.send("GET", `/v1/orders/${id}/packs/${name}`, { headers });
  assert.equal(codeOf(await get("0".repeat(32), agent.auth)), "404 not_found");
  assert.equal(codeOf(await get(pack?.name ?? "", (await writeOnlyAgent(env)).auth)), "404 not_found");
  assert.equal((await env.send("POST", `/v1/restore/${id}/cancel`)).status, 200);
  assert.equal(codeOf(await get(pack?.name ?? "", agent.auth)), "409 state_conflict");
});

test("a pack that is being sent is cut within ten seconds when the order is canceled, or its agent revoked", async () => {
  const headers = await env.as({ role: "owner" });
  const [pack] = await packs();
  assert.ok(pack !== undefined);
  for (const stop of ["cancel", "revoke"] as const) {
    const { agent, id } = await taken();
    const cut = await openDownload(env, `/v1/orders/${id}/packs/${pack.name}`, agent.auth);
    if (stop === "cancel") assert.equal((await env.send("POST", `/v1/restore/${id}/cancel`)).status, 200);
    else assert.equal((await env.service.send("DELETE", agent.target, { headers })).status, 204);
    env.service.clock.advance(recheckMs);
    // The check asks the database. What is asked after it is answered after it.
    for (let count = 0; count < 10; count++) await env.get("/v1/agents");
    const { bytes, isWhole } = await cut.end();
    assert.ok(!isWhole && bytes < pack.bytes.length, stop);
  }
});
