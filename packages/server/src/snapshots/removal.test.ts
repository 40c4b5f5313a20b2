import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { setRetention, signedRetention } from "@emanet/engine";
import { sql } from "kysely";
import { systemRandom } from "../kernel/clock.ts";
import { createTransactions } from "../kernel/tx.ts";
import { silentLog } from "../testing/database.ts";
import { jobsDone, settledMessages } from "../testing/sent-messages.ts";
import { inTurn, openAgent, uploadUntil } from "../uploads/testing.ts";
import { defaultVaultId, makeVault, ofTest } from "../vaults/testing.ts";
import { engineId } from "./engine-id.ts";
import { findVaultsToPrune, pruneVault } from "./removal.ts";
import { beginRemovals, vaultsToPrune } from "./removal-store.ts";
import { arrivedKeptMs, endedKeptMs, longestWaitMs, strayKeptMs, undeleteMs } from "./rules.ts";
import { lockDeleted, undeleteSnapshot } from "./store.ts";
import { auditOf, runTask, type SnapshotJson, snapshotTest, tarOf } from "./testing.ts";

const env = await snapshotTest({ after });
const { service, accountId } = env;
const owner = await env.as({ role: "owner" });
const transactions = createTransactions(service.database.app, service.clock, systemRandom, silentLog);
const inAccount = { kind: "account", accountId } as const;

/** Bytes that neither repeat nor compress. */
function bytesOf(seed: number, length = 100_000): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length));
}

async function upload(vaultId: string, source: string, files: Readonly<Record<string, Buffer>>): Promise<string> {
  const answer = await env.upload(`source=${source}&vault_id=${vaultId}&label=x`, tarOf(files));
  assert.equal(answer.status, 201, answer.body.toString());
  await jobsDone(service, "snapshots.verify");
  return (answer.json as SnapshotJson).id;
}

const del = async (id: string) =>
  assert.equal((await service.send("DELETE", `/v1/snapshots/${id}`, { headers: owner })).status, 204);
const undelete = (id: string) => service.send("POST", `/v1/snapshots/${id}/undelete`, { headers: owner });
const prune = (vaultId: string, of: string = accountId) => runTask(env, pruneVault, { accountId: of, vaultId });
/** As if it had happened so long ago. */
async function age(id: string, column: "deleted_at" | "active_at", ms: number): Promise<void> {
  const [row] = await env.rows<{ vault: string }>(
    `update emanet.snapshots set ${column} = ${column} - $2 * interval '1 millisecond' where id = $1
     returning vault_id as vault`,
    [id, ms],
  );
  const vault = await opened(row?.vault ?? "");
  // Of a deletion the chain has the time, too.
  const known = await signedRetention(vault, engineId(id));
  if (column === "deleted_at" && known?.expiresAt)
    await setRetention(vault, engineId(id), { ...known, expiresAt: known.expiresAt - ms });
}

async function opened(vaultId: string, of: string = accountId) {
  const { services } = service.running;
  assert.ok(services !== null);
  return services.vaults.open(of, vaultId);
}

/** What the vault counts as stored, and what its store has. */
async function stored(vaultId: string, of: string = accountId) {
  const [row] = await env.rows<{ bytes: number }>(
    "select stored_bytes::float8 as bytes from emanet.vaults where id = $1",
    [vaultId],
  );
  const vault = await opened(vaultId, of);
  let packs = 0;
  for await (const { size } of vault.store.list(vault.names.packs)) packs += size;
  return { counted: row?.bytes, packs };
}

async function isInCatalog(vaultId: string, id: string): Promise<boolean> {
  return (await (await opened(vaultId)).catalog.snapshot(engineId(id))) !== null;
}

test("what was deleted 72 hours ago is removed: catalog, packs, quota; not a minute before, and nothing that others need", async () => {
  const vaultId = await makeVault(service, owner);
  const shared = bytesOf(1);
  const kept = await upload(vaultId, "kept", { shared });
  const before = await stored(vaultId);
  const gone = await upload(vaultId, "gone", { shared, own: bytesOf(2) });
  const both = await stored(vaultId);
  assert.ok((both.counted ?? 0) > (before.counted ?? 0) + 100_000, "it stored something of its own");
  await del(gone);
  await age(gone, "deleted_at", undeleteMs - 60_000);
  await prune(vaultId);
  assert.deepEqual([await isInCatalog(vaultId, gone), await stored(vaultId)], [true, both]);
  await age(gone, "deleted_at", 60_000);
  const elsewhere = await upload(await makeVault(service, owner), "elsewhere", { shared });
  await del(elsewhere);
  await age(elsewhere, "deleted_at", undeleteMs);
  await prune(vaultId);
  assert.equal(await isInCatalog(vaultId, gone), false);
  const begun = await env.rows("select from emanet.snapshots where id = $1 and removed_at is not null", [elsewhere]);
  assert.deepEqual(begun, [], "another vault has a prune of its own");
  const left = await stored(vaultId);
  assert.equal(left.counted, left.packs, "the quota counts what is there");
  assert.ok(left.packs < both.packs - 100_000, `${left.packs} of ${both.packs}`);
  assert.deepEqual((await env.get(`/v1/snapshots/${kept}/files/shared`)).body, shared);
  assert.equal((await undelete(gone)).status, 404);
  const [row] = await env.rows("select label, pruned_at is not null as pruned from emanet.snapshots where id = $1", [
    gone,
  ]);
  assert.deepEqual(row, { label: null, pruned: true });
  await prune(vaultId);
  assert.deepEqual(await stored(vaultId), left, "a repeated run changes nothing");
  assert.equal((await auditOf(env)).filter((one) => one === "snapshot.removed by system").length, 1);
});

test("the last snapshot goes too, found by the hourly task; a held one stays", async () => {
  const vaultId = await makeVault(service, owner);
  const id = await upload(vaultId, "a", { f: bytesOf(3) });
  const held = await upload(await makeVault(service, owner), "held", { f: bytesOf(3) });
  for (const one of [id, held]) {
    await del(one);
    await age(one, "deleted_at", undeleteMs);
  }
  await env.rows("update emanet.snapshots set legal_hold = true where id = $1", [held]);
  await runTask(env, findVaultsToPrune, {});
  await jobsDone(service, "snapshots.prune_vault");
  assert.deepEqual(await stored(vaultId), { counted: 0, packs: 0 });
  await env.rows("update emanet.snapshots set deleted_at = $2 where id = $1", [held, service.clock.now()]);
  assert.equal((await undelete(held)).status, 200);
});

test("a row that says deleted, expired or failed removes nothing that the chain keeps; staff see it", async () => {
  const vaultId = await makeVault(service, owner);
  const ids = [];
  for (const name of ["a", "b", "c"]) ids.push(await upload(vaultId, name, { f: bytesOf(40 + ids.length) }));
  const long = new Date(service.clock.now().getTime() - 2 * undeleteMs);
  const forged = [
    "state = 'deleted', deleted_state = 'completed', deleted_at = $2",
    "state = 'expired', expired_at = $2, removed_at = $2",
    "state = 'failed', failure_code = 'internal', active_at = $2",
  ];
  for (const [i, set] of forged.entries())
    await env.rows(`update emanet.snapshots set ${set} where id = $1`, [ids[i], long]);
  await prune(vaultId);
  await prune(vaultId);
  for (const id of ids) assert.equal(await isInCatalog(vaultId, id), true);
  await env.rows(
    "update emanet.snapshots set state = 'completed', removed_at = null, deleted_state = null where id = any ($1)",
    [ids],
  );
  for (const [i, id] of ids.entries())
    assert.deepEqual((await env.get(`/v1/snapshots/${id}/files/f`)).body, bytesOf(40 + i));
});

test("a clock that is wrong removes nothing", async () => {
  const vaultId = await makeVault(service, owner);
  const id = await upload(vaultId, "a", { f: bytesOf(50) });
  await del(id);
  const twoYears = 2 * 365 * 24 * 60 * 60 * 1000;
  const wrong = { ...service.clock, now: () => new Date(service.clock.now().getTime() + twoYears) };
  await assert.rejects(runTask(env, pruneVault, { accountId, vaultId }, wrong), { code: "clocks_differ" });
  assert.equal((await undelete(id)).status, 200);
  assert.deepEqual((await env.get(`/v1/snapshots/${id}/files/f`)).body, bytesOf(50));
});

test("which vaults are pruned: what is due waits while an upload has just failed, and not for ever", async () => {
  const due = async () => {
    const rows = await transactions.read(ofTest, { kind: "system" }, (tx) => vaultsToPrune(tx, 1000));
    return rows.some(({ vault_id: id }) => id === vaultId);
  };
  const vaultId = await makeVault(service, owner);
  const gone = await upload(vaultId, "a", { f: bytesOf(4) });
  assert.equal(await due(), false, "nothing was deleted");
  await del(gone);
  await age(gone, "deleted_at", undeleteMs - 1000);
  assert.equal(await due(), false, "it may be undeleted");
  await age(gone, "deleted_at", 1000);
  assert.equal(await due(), true);
  const failed = (await env.upload(`source=b&vault_id=${vaultId}`, Buffer.from("no tar".repeat(200)))).json
    ?.snapshot_id;
  assert.equal(await due(), false, "what arrived is for the next try");
  await age(String(failed), "active_at", arrivedKeptMs);
  assert.equal(await due(), true);
  await age(String(failed), "active_at", -arrivedKeptMs);
  await age(gone, "deleted_at", longestWaitMs);
  assert.equal(await due(), true, "it has waited long enough");
});

test("a vault is pruned once, a week after a snapshot was completed: processes that were killed meanwhile can have left packs", async () => {
  const vaultId = await makeVault(service, owner);
  const due = async () => {
    const rows = await transactions.read(ofTest, { kind: "system" }, (tx) => vaultsToPrune(tx, 1000));
    return rows.some(({ vault_id: id }) => id === vaultId);
  };
  const id = await upload(vaultId, "week", { f: bytesOf(5) });
  await age(id, "active_at", strayKeptMs - 1000);
  assert.equal(await due(), false);
  await age(id, "active_at", 1000);
  assert.equal(await due(), true);
  await prune(vaultId);
  assert.equal(await due(), false);
  assert.deepEqual((await env.get(`/v1/snapshots/${id}/files/f`)).body, bytesOf(5));
});

test("an upload that was canceled: its reserved bytes are free at once, its registered packs after 72 hours", async () => {
  const services = inTurn([service]);
  const agent = await openAgent(services, accountId, 7);
  const folders = ["bir", "iki"].map((name) => path.join(service.dataDir, name));
  for (const [at, folder] of folders.entries()) {
    await mkdir(folder);
    await writeFile(path.join(folder, "f"), bytesOf(30 + at, 300_000));
  }
  const { vaultId } = agent;
  assert.equal(vaultId, await defaultVaultId(service, owner));
  const start = await stored(vaultId);
  // Its packs are stored and registered, the manifest is not sent.
  const { id } = await uploadUntil(services, agent, folders[0] ?? "", "complete");
  const cancel = await service.send("POST", `/v1/snapshots/${id}/cancel`, { headers: owner });
  assert.equal(cancel.status, 200, cancel.body.toString());
  // A pack of this one is stored and not registered.
  const unregistered = await uploadUntil(services, agent, folders[1] ?? "", "register");
  await service.send("POST", `/v1/snapshots/${unregistered.id}/cancel`, { headers: owner });
  const canceled = await stored(vaultId);
  const own = Number(cancel.json?.stored_bytes);
  assert.ok(own > 300_000);
  assert.equal(canceled.counted, (start.counted ?? 0) + own, "only what was registered counts");
  for (const one of [id, unregistered.id]) await age(one, "active_at", undeleteMs);
  await prune(vaultId);
  const left = await stored(vaultId);
  assert.deepEqual(left, { counted: start.counted, packs: start.packs });
});

test("an undelete and a removal at the same time: one of them happens, by the order of their commits", async () => {
  const vaultId = await makeVault(service, owner);
  const content = bytesOf(6);
  const id = await upload(vaultId, "a", { f: content });
  await del(id);
  await age(id, "deleted_at", undeleteMs);
  // An undelete of a process with a slow clock holds the row.
  const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
  const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
  const undeleting = transactions.run(ofTest, inAccount, async (tx) => {
    assert.ok((await lockDeleted(tx, accountId, id)) !== undefined);
    isHeld();
    await goOn;
    await undeleteSnapshot(tx, accountId, id);
  });
  await held;
  await prune(vaultId);
  release();
  await undeleting;
  assert.deepEqual((await env.get(`/v1/snapshots/${id}/files/f`)).body, content);
  // The other order: a removal that has begun and is not committed. The undelete waits for it and finds nothing.
  await del(id);
  await age(id, "deleted_at", undeleteMs);
  const began = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const removing = transactions.run(ofTest, inAccount, async (tx) => {
    await beginRemovals(tx, { accountId, vaultId, now: tx.now }, 10);
    began.resolve();
    await commit.promise;
  });
  await began.promise;
  const late = transactions.run(ofTest, inAccount, (tx) => lockDeleted(tx, accountId, id));
  commit.resolve();
  await removing;
  assert.equal(await late, undefined);
});

test("undelete and prune race in processes whose clocks differ: what is back has every byte", async () => {
  const vaultId = await makeVault(service, owner);
  const ahead = { ...service.clock, now: () => new Date(service.clock.now().getTime() + 2000) };
  const outcomes: number[] = [];
  for (let round = 0; round < 6; round++) {
    const content = bytesOf(20 + round);
    const id = await upload(vaultId, `r${round}`, { f: content });
    await del(id);
    // One second is left by the clock of the API, and none by that of the worker.
    await age(id, "deleted_at", undeleteMs - 1000);
    const [back] = await Promise.all([undelete(id), runTask(env, pruneVault, { accountId, vaultId }, ahead)]);
    outcomes.push(back.status);
    await prune(vaultId);
    const file = await env.get(`/v1/snapshots/${id}/files/f`);
    assert.equal(file.status, back.status, "it is back or gone");
    if (back.status === 200) assert.deepEqual(file.body, content);
    else assert.equal(await isInCatalog(vaultId, id), false);
  }
  const left = await stored(vaultId);
  assert.equal(left.counted, left.packs, outcomes.join());
});

test("a manifest without a row: of an open upload it completes the snapshot, of an ended one it goes", async () => {
  const vaultId = await makeVault(service, owner);
  const content = bytesOf(8);
  const open = await upload(vaultId, "open", { f: content });
  const ended = await upload(vaultId, "ended", { f: bytesOf(9) });
  // As a kill between the manifest and the row leaves it.
  await transactions.run(ofTest, inAccount, async ({ db }) => {
    await sql`select use_vault(${vaultId})`.execute(db);
    await sql`delete from catalog_snapshots where id = any (${[open, ended].map(engineId)})`.execute(db);
  });
  await env.rows("update emanet.snapshots set state = 'running', verified_at = null where id = $1", [open]);
  await env.rows("update emanet.snapshots set state = 'failed', failure_code = 'upload_interrupted' where id = $1", [
    ended,
  ]);
  await age(ended, "active_at", undeleteMs);
  await prune(vaultId);
  assert.equal((await env.get(`/v1/snapshots/${open}`)).json?.status, "completed");
  assert.deepEqual((await env.get(`/v1/snapshots/${open}/files/f`)).body, content);
  assert.equal(await isInCatalog(vaultId, ended), true, "a changed row alone removes nothing: there is a notice first");
  const vault = await opened(vaultId);
  const known = await signedRetention(vault, engineId(ended));
  assert.equal(known?.expiresAt, service.clock.now().getTime() + endedKeptMs);
  const [waiting] = await env.rows<{ run_at: Date }>("select run_at from emanet.jobs where key = $1", [
    `ended ${ended}`,
  ]);
  assert.ok(Number(waiting?.run_at) >= Number(known.expiresAt), "there is a prune for the time when it goes");
  await setRetention(vault, engineId(ended), { ...known, expiresAt: service.clock.now().getTime() });
  await prune(vaultId);
  assert.equal(await isInCatalog(vaultId, ended), false);
  const left = await stored(vaultId);
  assert.equal(left.counted, left.packs);
  assert.ok(left.packs < 150_000, "what only the ended one needed is gone");
});

test("every owner is mailed who deleted what, and until when it can be undone; others are not", async () => {
  await env.as({ role: "manager" });
  await env.as({ role: "owner" });
  const [english] = await env.rows<{ email: string }>(
    `update emanet.people set language = 'en' where id =
       (select id from emanet.people where account_id = $1 and role = 'owner' order by created_at desc, id limit 1)
     returning email`,
    [accountId],
  );
  await env.rows("update emanet.people set full_name = 'Deniz Ak' where account_id = $1", [accountId]);
  const vaultId = await makeVault(service, owner);
  const id = await upload(vaultId, "muhasebe", { f: bytesOf(10, 100) });
  await del(id);
  const until = new Date(service.clock.now().getTime() + undeleteMs).toISOString();
  const owners = await env.rows<{ email: string }>(
    "select email from emanet.people where account_id = $1 and role = 'owner' order by email",
    [accountId],
  );
  const mails = (await settledMessages(service)).filter(({ text }) => text.includes(id));
  assert.deepEqual(mails.map(({ to }) => to).sort(), owners.map(({ email }) => email).sort());
  for (const { to, language, text, template } of mails) {
    assert.deepEqual([template, language], ["snapshot_deleted", to === english?.email ? "en" : "tr"]);
    for (const part of ["muhasebe", "Deniz Ak", until]) assert.ok(text.includes(part), text);
  }
});
