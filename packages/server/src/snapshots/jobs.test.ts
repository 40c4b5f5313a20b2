import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { createSnapshot, inTurn, openAgent, remoteTarget } from "../uploads/testing.ts";
import { makeVault } from "../vaults/testing.ts";
import { endUploads, removeLeftovers, verifySnapshot } from "./jobs.ts";
import { idleUploadMs, longestUploadMs } from "./rules.ts";
import { eventsOf, runTask, type SnapshotJson, snapshotTest, tarOf } from "./testing.ts";

const env = await snapshotTest({ after });
const read = async (id: unknown) => (await env.get(`/v1/snapshots/${id}`)).json as SnapshotJson;
const failureOf = ({ failure }: SnapshotJson) => (failure as { code: string } | null)?.code;
const end = () => runTask(env, endUploads, {});

test("a completed snapshot is read back in the background, and says when", async () => {
  const { id } = await env.completed("a", { f: "1".repeat(10_000) });
  const verified = await env.until(async () => {
    const found = await read(id);
    return found.verified_at === null ? null : found;
  });
  assert.equal(verified.status, "completed");
  const { last_verification: last } = (await env.get(`/v1/vaults/${verified.vault_id}`)).json ?? {};
  assert.deepEqual(last, { checked_files: 1, failed: 0, completed_at: verified.verified_at });
});

test("what was verified of one client is not stored again by another", async () => {
  const body = tarOf({ f: Array.from({ length: 20_000 }, (_, i) => String(i * i)).join() });
  const first = (await env.upload("source=first", body)).json as SnapshotJson;
  await env.until(async () => ((await read(first.id)).verified_at === null ? null : true));
  const second = await env.upload("source=second", body, await env.as({ as: "client", kind: "api" }));
  assert.ok(Number(second.json?.stored_bytes) < Number(first.stored_bytes) / 2, `${second.json?.stored_bytes}`);
});

test("what another vault or account has is stored in full all the same: stored_bytes gives no hint of it", async () => {
  const body = tarOf({
    f: createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16)).update(Buffer.alloc(200_000)),
  });
  const first = (await env.upload("source=hint", body)).json as SnapshotJson;
  await env.until(async () => ((await read(first.id)).verified_at === null ? null : true));
  const vault = await makeVault(env.service, await env.as({ role: "owner" }));
  const other = (await tokenFor(env.service, { as: "client", kind: "api" })).auth;
  const least = Number(first.stored_bytes);
  assert.ok(least > 200_000);
  const inVault = await env.upload(`source=hint&vault_id=${vault}`, body);
  const inAccount = await env.upload("source=hint", body, other);
  for (const { json } of [inVault, inAccount]) assert.ok(Number(json?.stored_bytes) > 200_000, `${json?.stored_bytes}`);
  // In its own vault the same client stores next to nothing.
  assert.ok(Number((await env.upload("source=hint", body)).json?.stored_bytes) < least / 2);
});

test("a client that only writes sees stored_bytes nowhere, and reads nothing", async () => {
  const auth = await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] });
  const call = (method: string, target: string, json?: object) =>
    env.service.send(method, target, { headers: auth, ...(json && { json }) });
  const made = await env.upload("source=blind", tarOf({ f: "x".repeat(1000) }), auth);
  assert.equal(made.status, 201, made.body.toString());
  const { id, vault_id: vaultId, source } = made.json as SnapshotJson;
  const queued = await call("POST", "/v1/snapshots", { source: "blind" });
  const answers = [
    ...[made, queued, await call("PATCH", `/v1/snapshots/${id}`, { label: "x" })],
    await call("POST", `/v1/snapshots/${queued.json?.id}/cancel`),
    await env.upload("source=blind", Buffer.from("no tar".repeat(200)), auth),
  ];
  for (const answer of answers) assert.doesNotMatch(answer.body.toString(), /stored_bytes/);
  const read = [`/${id}`, "", `/${id}/tree`, `/${id}/warnings`, `/${id}/archive`, `/${id}/files/f`];
  const targets = [
    ...read.map((path) => `/v1/snapshots${path}`),
    ...["/v1/vaults", `/v1/vaults/${vaultId}`, "/v1/sources", `/v1/sources/${source.id}`, "/v1/agents"],
  ];
  for (const target of targets) assert.equal((await call("GET", target)).json?.code, "insufficient_scope", target);
  for (const event of await eventsOf(env))
    if (String(event.event).startsWith("snapshot.")) assert.equal("stored_bytes" in event, false);
});

test("a snapshot whose stored bytes were changed is not verified, and its file is not sent", async () => {
  const { id, vault_id: vaultId } = await env.completed("b", { f: "hasar".repeat(5_000) });
  await env.until(async () => ((await read(id)).verified_at === null ? null : true));
  await env.rows("update emanet.snapshots set verified_at = null where id = $1", [id]);
  const vault = await env.service.running.services?.vaults.open(env.accountId, String(vaultId));
  assert.ok(vault !== undefined);
  for await (const { name } of vault.store.list(vault.names.packs)) {
    const bytes = Buffer.from(await vault.store.get(name));
    for (let at = 600; at < bytes.length; at += 50) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    await vault.store.put(name, bytes);
  }
  await runTask(env, verifySnapshot, { accountId: env.accountId, vaultId: String(vaultId), snapshotId: id });
  assert.equal((await read(id)).verified_at, null);
  const [row] = await env.rows<{ failed: boolean }>(
    "select verification_failed_at is not null as failed from emanet.snapshots where id = $1",
    [id],
  );
  assert.equal(row?.failed, true);
  const file = await env.get(`/v1/snapshots/${id}/files/f`);
  assert.equal(file.status, 500);
});

test("an upload in one call whose process died fails as interrupted; one that lives does not", async () => {
  const open = env.openUpload("source=dead");
  open.write(tarOf({ a: "x".repeat(50_000) }).subarray(0, 20_000));
  const { id } = await env.untilRunning("dead");
  await end();
  assert.equal((await read(id)).status, "running");
  await env.rows("update emanet.snapshots set alive_at = alive_at - interval '61 seconds' where id = $1", [id]);
  await end();
  assert.deepEqual([(await read(id)).status, failureOf(await read(id))], ["failed", "upload_interrupted"]);
  const failed = (await eventsOf(env)).at(-1);
  assert.deepEqual([failed?.event, failed?.snapshot_id], ["snapshot.failed", id]);
  open.destroy();
});

test("an upload is abandoned after 24 hours without a byte, and after 7 days in any case", async () => {
  const made = async (source: string) => (await env.send("POST", "/v1/snapshots", { source })).json?.id as string;
  const [idle, busy, young] = [await made("idle"), await made("busy"), await made("young")];
  const now = env.service.clock.now().getTime();
  const age = (id: string, column: string, ms: number) =>
    env.rows(`update emanet.snapshots set ${column} = $2 where id = $1`, [id, new Date(now - ms)]);
  await age(idle, "active_at", idleUploadMs);
  await age(busy, "created_at", longestUploadMs);
  await age(young, "active_at", idleUploadMs - 60_000);
  await end();
  assert.deepEqual(
    [failureOf(await read(idle)), failureOf(await read(busy)), (await read(young)).status],
    ["upload_abandoned", "upload_abandoned", "queued"],
  );
});

test("an abandoned upload ends in the catalog too: its lease and its reserved bytes", async () => {
  const services = inTurn([env.service]);
  const agent = await openAgent(services, env.accountId, 3);
  const { id } = await createSnapshot(services, agent, "left");
  await remoteTarget(services, agent, id).begin(null);
  const vault = await env.service.running.services?.vaults.open(env.accountId, agent.vaultId);
  const running = async () => (await vault?.catalog.uploadState(id)) !== null;
  const held = async () =>
    (await env.rows("select reserved_bytes::int as bytes from emanet.uploads where snapshot_id = $1", [id]))[0];
  await env.rows("update emanet.uploads set reserved_bytes = 7 where snapshot_id = $1", [id]);
  assert.deepEqual([await running(), await held()], [true, { bytes: 7 }]);
  const past = new Date(env.service.clock.now().getTime() - idleUploadMs);
  await env.rows("update emanet.snapshots set active_at = $2 where id = $1", [id, past]);
  await end();
  await jobsDone(env.service, "snapshots.release_upload");
  assert.deepEqual([await running(), await held()], [false, { bytes: 0 }]);
});

test("the spool is for its owner alone, and what dead processes left is removed at the start", async (context) => {
  const { startTestService } = await import("../testing/running.ts");
  const folder = path.join(env.service.dataDir, "shared-spool");
  // No process has this number.
  await mkdir(path.join(folder, "999999999"), { recursive: true });
  await writeFile(path.join(folder, "999999999", "0.tar"), "left behind");
  await writeFile(path.join(folder, "notes.txt"), "not ours");
  const cleanup = { after: (done: () => Promise<void>) => context.after(done) };
  await startTestService(cleanup, { settings: { EMANET_SPOOL_DIR: folder } });
  assert.deepEqual((await readdir(folder)).sort(), ["notes.txt", String(process.pid)].sort());
  // The first process of the system runs, and has nothing to do with us.
  const dataDir = path.join(env.service.dataDir, "another");
  await mkdir(path.join(dataDir, "spool", "1"), { recursive: true });
  await writeFile(path.join(dataDir, "spool", "1", "0.tar"), "left behind");
  await writeFile(path.join(dataDir, "folder.json"), await readFile(path.join(env.service.dataDir, "folder.json")));
  await startTestService(cleanup, { dataDir });
  assert.deepEqual(await readdir(path.join(dataDir, "spool")), [String(process.pid)]);
});

test("what a killed process was writing to the store is removed after a week, without a new start", async () => {
  const folder = path.join(env.service.dataDir, "objects", ".tmp");
  const [old, young] = ["a", "b"].map((letter) => `${letter.repeat(32)}.part`) as [string, string];
  for (const [name, days] of [[old, 8] as const, [young, 6] as const]) {
    await writeFile(path.join(folder, name), "half a pack");
    // Ages of files are by real time.
    const time = Date.now() / 1000 - days * 86_400;
    await utimes(path.join(folder, name), time, time);
  }
  await runTask(env, removeLeftovers, {});
  const left = await readdir(folder);
  assert.deepEqual([left.includes(old), left.includes(young)], [false, true]);
});
