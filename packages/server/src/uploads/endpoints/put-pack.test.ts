import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, readlink, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import path from "node:path";
import { after, test } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { codeOf } from "../../agents/testing.ts";
import { type PackMemory, packMemoryBytes } from "../../snapshots/pack-memory.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createSnapshot, inTurn, noUploadLimits, openAgent, remoteTarget, uploadUntil } from "../testing.ts";

const service = await startTestService({ after }, { settings: noUploadLimits });
const services = inTurn([service]);

async function prepare() {
  const { accountId, auth: ownerAuth } = await tokenFor(service);
  const agent = await openAgent(services, accountId ?? "", 1);
  const { id } = await createSnapshot(services, agent, "sunucu");
  await remoteTarget(services, agent, id).begin(null);
  const put = async (name: string, body: Uint8Array, more: Readonly<Record<string, string>> = {}) =>
    service.send("PUT", `/v1/snapshots/${id}/packs/${name}`, {
      body,
      headers: { ...(await agent.auth()), "content-type": "application/octet-stream", ...more },
    });
  const counted = async () => {
    const [row] = await storedRows<{ stored: string }>(
      service.database,
      "select stored_bytes as stored from emanet.vaults where id = $1",
      [agent.vaultId],
    );
    return Number(row?.stored);
  };
  return { agent, id, put, counted, ownerAuth };
}

const name = "0a".repeat(16);

test("a body that is no pack of this upload is refused, stores nothing and stays counted nowhere", async () => {
  const { put, counted, agent } = await prepare();
  const answer = await put(name, randomBytes(50_000));
  assert.deepEqual([codeOf(answer), answer.json?.reason], ["422 validation_failed", "malformed"]);
  assert.equal(await counted(), 0);
  const vault = await service.running.services?.vaults.open(agent.accountId, agent.vaultId);
  assert.deepEqual(await Array.fromAsync(vault?.store.list(vault.names.packs) ?? []), []);
  assert.equal(service.running.services?.snapshots.spool.usedBytes, 0, "nothing stays in the spool");
});

test("packs of an upload that has ended are refused unread, and no file of the spool stays open", async () => {
  const { put } = await prepare();
  service.clock.advance(2 * 3_600_000);
  const names = Array.from({ length: 24 }, (_, at) => at.toString(16).padStart(32, "0"));
  const answers = await Promise.all(names.map((each) => put(each, randomBytes(20_000))));
  assert.deepEqual([...new Set(answers.map(codeOf))], ["409 state_conflict"]);
  assert.equal(service.running.services?.snapshots.spool.usedBytes, 0);
  assert.deepEqual(await openSpoolFiles(), []);
});

test("a pack of an upload that has ended is refused before its body, and is never counted", async () => {
  const { id, agent, counted } = await prepare();
  const vault = await service.running.services?.vaults.open(agent.accountId, agent.vaultId);
  await vault?.catalog.endUpload(id);
  const headers = {
    ...(await agent.auth()),
    ...{ "content-type": "application/octet-stream", "content-length": "50000", expect: "100-continue" },
  };
  const options = { method: "PUT", headers, ca: service.ca, agent: false } as const;
  const outgoing = https.request(`${service.url}/v1/snapshots/${id}/packs/${name}`, options);
  outgoing.flushHeaders();
  // A service that counts it before its end is known would wait for the body now, and a kill would leave it counted.
  const [first] = await Promise.race([
    once(outgoing, "response") as Promise<[IncomingMessage]>,
    once(outgoing, "continue").then(() => [null] as const),
  ]);
  assert.equal(first?.statusCode, 409);
  assert.equal(await counted(), 0);
  outgoing.destroy();
});

test("a pack arrives in memory, or in the spool while others have the memory; it is stored whole and leaves both empty", async (t) => {
  const { spool, packMemory } = service.running.services?.snapshots ?? assert.fail("no service");
  const agent = await openAgent(services, (await tokenFor(service)).accountId ?? "", 1);
  const vault = await service.running.services?.vaults.open(agent.accountId, agent.vaultId);
  for (const place of ["memory", "spool"]) {
    const folder = await temporaryFolder(t);
    await writeFile(path.join(folder, "defter.bin"), randomBytes(3_000_000));
    const next = await uploadUntil(services, agent, folder, "pack");
    const others = place === "spool" ? takeAll(packMemory) : [];
    const headers = { ...(await agent.auth()), "content-type": next.mediaType, "content-length": next.body.length };
    const options = { method: "PUT", headers, ca: service.ca, agent: false } as const;
    const outgoing = https.request(`${service.url}/v1/snapshots/${next.id}/packs/${next.name}`, options);
    outgoing.write(next.body.subarray(0, 2_000_000));
    const taken = () => [packMemory.takenBytes - (place === "spool" ? packMemoryBytes : 0) > 0, spool.usedBytes > 0];
    while (taken().every((each) => !each)) await nextTick();
    assert.deepEqual(taken(), [place === "memory", place === "spool"]);
    outgoing.end(next.body.subarray(2_000_000));
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    assert.equal(answer.statusCode, 200);
    const stored = await vault?.store.get(vault.names.pack(next.name));
    assert.ok(next.body.equals(stored ?? Buffer.alloc(0)), place);
    for (const each of others) each.release(true);
    assert.deepEqual([packMemory.takenBytes, spool.usedBytes], [0, 0], place);
    answer.destroy();
  }
});

test("a pack that is sent again is counted once, and another body under its name takes nothing back", async (t) => {
  const { agent, counted } = await prepare();
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, "defter.bin"), randomBytes(300_000));
  const next = await uploadUntil(services, agent, folder, "pack");
  const before = await counted();
  const send = async (body: Uint8Array) =>
    service.send("PUT", `/v1/snapshots/${next.id}/packs/${next.name}`, {
      body,
      headers: { ...(await agent.auth()), "content-type": next.mediaType },
    });
  assert.equal((await send(next.body)).status, 200);
  assert.equal(await counted(), before + next.body.length);
  assert.equal((await send(next.body)).status, 200);
  assert.equal(await counted(), before + next.body.length, "a repetition is not counted");
  assert.equal(codeOf(await send(Buffer.concat([next.body, Buffer.alloc(1)]))), "422 validation_failed");
  assert.equal(await counted(), before + next.body.length, "what is stored stays counted");
});

test("bytes of packs are in the metric of received bytes, whether they arrive in memory or in the spool", async (t) => {
  const { snapshots } = service.running.services ?? assert.fail("no service");
  const { agent } = await prepare();
  for (const place of ["memory", "spool"]) {
    const folder = await temporaryFolder(t);
    await writeFile(path.join(folder, "defter.bin"), randomBytes(300_000));
    const next = await uploadUntil(services, agent, folder, "pack");
    const others = place === "spool" ? takeAll(snapshots.packMemory) : [];
    const before = await receivedBytes();
    const answer = await service.send("PUT", `/v1/snapshots/${next.id}/packs/${next.name}`, {
      body: next.body,
      headers: { ...(await agent.auth()), "content-type": next.mediaType },
    });
    for (const each of others) each.release(true);
    assert.equal(answer.status, 200);
    assert.equal((await receivedBytes()) - before, next.body.length, place);
  }
});

test("an account whose share of the spool is taken is refused before its pack is counted", async (t) => {
  const { spool } = service.running.services?.snapshots ?? assert.fail("no service");
  const { agent, put, counted } = await prepare();
  spool.reserve(agent.accountId, spool.ownerBytes);
  t.after(() => spool.release(agent.accountId, spool.ownerBytes));
  const answer = await put(name, randomBytes(50_000));
  assert.equal(codeOf(answer), "503 storage_full");
  assert.equal(await counted(), 0);
});

test("a client that leaves in the middle of a pack leaves nothing in memory and nothing counted", async (t) => {
  const { packMemory } = service.running.services?.snapshots ?? assert.fail("no service");
  const { agent, counted } = await prepare();
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, "defter.bin"), randomBytes(3_000_000));
  const next = await uploadUntil(services, agent, folder, "pack");
  const headers = { ...(await agent.auth()), "content-type": next.mediaType, "content-length": next.body.length };
  const options = { method: "PUT", headers, ca: service.ca, agent: false } as const;
  const outgoing = https.request(`${service.url}/v1/snapshots/${next.id}/packs/${next.name}`, options);
  outgoing.on("error", () => undefined).write(next.body.subarray(0, 2_000_000));
  while (packMemory.takenBytes === 0) await nextTick();
  assert.equal(await counted(), next.body.length, "it is counted before it comes");
  outgoing.destroy();
  while (packMemory.takenBytes > 0 || (await counted()) > 0) await nextTick();
  const vault = await service.running.services?.vaults.open(agent.accountId, agent.vaultId);
  assert.equal(await vault?.store.stat(vault.names.pack(next.name)), null);
});

/** What other accounts take, so that nothing is left. */
function takeAll(memory: PackMemory) {
  const half = packMemoryBytes / 2;
  return ["one", "another"].map((account) => memory.take(account, half) ?? assert.fail("no place"));
}

async function receivedBytes(): Promise<number> {
  const text = await (await fetch(service.running.metricsUrl ?? "")).text();
  return Number(/^emanet_upload_received_bytes_total(?:\{.*\})? (\d+)$/m.exec(text)?.[1]);
}

/** Files of spools that this process has open, also those that were removed. Empty where the system does not say. */
async function openSpoolFiles(): Promise<readonly string[]> {
  const folder = "/proc/self/fd";
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(names.map((each) => readlink(path.join(folder, each)).catch(() => "")));
  return targets.filter((target) => target.includes(".pack"));
}

test("400, 404, 413, 415: no length, a name that is none, a pack that is too long, another media type", async () => {
  const { put, ownerAuth, id } = await prepare();
  assert.equal(codeOf(await put(name, Buffer.alloc(10), { "transfer-encoding": "chunked" })), "400 invalid_header");
  assert.ok([404, 422].includes((await put("x", Buffer.alloc(10))).status));
  assert.equal(
    codeOf(await put(name, Buffer.alloc(10), { "content-type": "text/plain" })),
    "415 unsupported_media_type",
  );
  const long = { "content-length": String(65 * 1024 * 1024) };
  assert.equal(codeOf(await put(name, Buffer.alloc(0), long)), "413 payload_too_large");
  const headers = { ...ownerAuth, "content-type": "application/octet-stream" };
  const other = await service.send("PUT", `/v1/snapshots/${id}/packs/${name}`, { body: Buffer.alloc(9), headers });
  assert.equal(codeOf(other), "404 not_found", "only the creator");
});
