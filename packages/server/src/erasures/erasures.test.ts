import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { openVault } from "@emanet/engine";
import { postgresCatalog } from "../catalog/index.ts";
import { systemRandom } from "../kernel/clock.ts";
import { createTransactions } from "../kernel/tx.ts";
import { auditOf, runTask, tarOf } from "../snapshots/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { silentLog } from "../testing/database.ts";
import { listIn } from "../testing/lists.ts";
import { settledMessages } from "../testing/sent-messages.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { vaultBytes } from "../vaults/index.ts";
import { makeVault } from "../vaults/testing.ts";
import { checkErased, eraseVault, findVaultsToErase } from "./jobs.ts";
import {
  dayMs,
  type ErasureTest,
  endsAfter,
  erasureTest,
  hidesInLists,
  hourMs,
  tablesWith,
  tellsLists,
} from "./testing.ts";

const verifier = path.resolve(import.meta.dirname, "../../../../docs/receipts/verify.mjs");
const run = promisify(execFile);

interface Shown {
  readonly id: string;
  readonly vault_id: string;
  readonly state: string;
  readonly proof: string | null;
}

const listed = async (env: ErasureTest) => listIn<Shown>(await env.call("GET", "/v1/erasures"), "data");

/** Opens a vault as somebody does who has the master key and the bucket. */
async function openWithMasterKey(env: ErasureTest, vaultId: string) {
  const { service, accountId, store } = env;
  const transactions = createTransactions(service.database.app, service.clock, systemRandom, silentLog);
  const catalog = postgresCatalog({ transactions, accountId, vaultId, random: systemRandom });
  const ctx = { now: () => 0, random: (length: number) => systemRandom.bytes(length) };
  const { secrets } = service.running;
  return openVault({ ctx, store, catalog }, secrets.digest("vault-keys", vaultId), vaultBytes(vaultId));
}

test("a deleted vault is erased once its snapshots have expired: keys, objects, and a proof that is checked without the service", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  await env.backUpInto(vaultId, "defter", { "a.txt": "merhaba" });
  assert.deepEqual(await env.found(), []);
  const act = await env.deleteVault(vaultId);
  await openWithMasterKey(env, vaultId);
  assert.deepEqual(await env.found(), [vaultId]);
  await env.erase(vaultId);
  assert.deepEqual(await env.objects(vaultId), []);
  await assert.rejects(openWithMasterKey(env, vaultId), /no key object/);
  const [shown] = await listed(env);
  assert.deepEqual([shown?.vault_id, shown?.state], [vaultId, "erased"]);
  assert.deepEqual(await env.found(), []);
  await env.erase(vaultId);
  assert.equal((await listed(env))[0]?.proof, shown?.proof, "a repetition changes nothing");

  const folder = await temporaryFolder({ after });
  const [proof, keys] = [path.join(folder, "proof"), path.join(folder, "keys")];
  await writeFile(proof, shown?.proof ?? "");
  await writeFile(keys, (await env.service.send("GET", "/.well-known/emanet-keys.json")).body);
  const check = () => run(process.execPath, [verifier, proof, keys, "emanet-erasure+jws"]);
  const said = JSON.parse((await check()).stdout);
  assert.deepEqual(
    [said.vault_id, said.account_id, said.cause, said.act_id, said.erasure_id],
    [vaultId, env.accountId, "vault_deletion", act, shown?.id],
  );
  const row = await env.erasure(vaultId);
  assert.equal(said.ordered_by, row?.ordered_by);
  assert.equal(said.keys_destroyed_at, row?.keys_destroyed_at?.toISOString());
  assert.equal(said.erased.objects, Number(row?.objects));
  assert.ok(said.erased.key_objects === 2 && said.erased.snapshots === 1 && said.erased.bytes > 0);
  await assert.rejects(run(process.execPath, [verifier, proof, keys]), /not valid/, "a proof is no receipt");
  const [head, , signature] = (shown?.proof ?? "").split(".");
  const other = Buffer.from(JSON.stringify({ ...said, vault_id: env.vaultId })).toString("base64url");
  await writeFile(proof, `${head}.${other}.${signature}`);
  await assert.rejects(check(), /not valid/);

  const actions = (await auditOf(env)).map((each) => each.split(" ")[0]);
  assert.ok(actions.includes("vault.erasure_begun") && actions.includes("vault.erased"));
  assert.ok((await settledMessages(env.service)).some(({ text }) => text.includes(shown?.id ?? "?")));
});

test("the worker finds a deleted vault by itself and erases it", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  await env.backUpInto(vaultId, "defter", { f: "1" });
  await env.deleteVault(vaultId);
  await runTask(env, findVaultsToErase, {});
  await env.until(async () => ((await env.erasure(vaultId))?.state === "erased" ? true : null));
  assert.deepEqual(await env.objects(vaultId), []);
});

test("owners and staff read proofs; managers and other accounts do not", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  await env.deleteVault(vaultId);
  await env.erase(vaultId);
  assert.equal((await listed(env)).length, 1);
  const manager = await env.as({ role: "manager" });
  assert.equal((await env.call("GET", "/v1/erasures", undefined, manager)).json?.code, "insufficient_role");
  const stranger = await tokenFor(env.service, {});
  assert.deepEqual(listIn(await env.call("GET", "/v1/erasures", undefined, stranger.auth), "data"), []);
  const staff = await tokenFor(env.service, { as: "staff" });
  const all = listIn<Shown & { account_id: string }>(
    await env.call("GET", "/v1/admin/erasures", undefined, staff.auth),
    "data",
  );
  assert.deepEqual(
    all.map((one) => [one.account_id, one.vault_id]),
    [[env.accountId, vaultId]],
  );
});

test("a closed account is erased after 90 days, not a minute before; a lock outlives it; the default vault is the last", async () => {
  const env = await erasureTest({ after });
  const [other, locked] = [await env.newVault("Diğer"), await env.newVault("Kilitli")];
  const inDefault = await env.backUpInto(env.defaultVault, "defter", { f: "1" });
  await env.backUpInto(other, "defter", { f: "2" });
  const kept = await env.backUpInto(locked, "defter", { "a.txt": "merhaba" });
  await env.closeAccount();
  const until = new Date(env.service.clock.now().getTime() + 100 * dayMs).toISOString();
  assert.equal((await env.call("PUT", `/v1/snapshots/${kept}/lock`, { locked_until: until })).status, 200);
  env.wait(90 * dayMs - 60_000);
  assert.deepEqual(await env.found(), []);
  for (const id of [other, env.defaultVault]) await env.erase(id);
  assert.equal(
    (await env.objects(other)).length > 0,
    true,
    "the job decides by the chain, also if somebody enqueues it",
  );
  assert.equal((await env.call("GET", `/v1/snapshots/${inDefault}/files/f`)).body.toString(), "1");
  env.wait(60_000);
  assert.deepEqual(await env.found(), [env.vaultId, other, locked].sort());
  for (const id of [env.vaultId, other, locked]) await env.erase(id);
  assert.deepEqual(await env.objects(other), []);
  assert.equal((await env.erasure(locked)) === undefined, true);
  // Of the account only owners come in now: they read what a lock has kept, and the proofs.
  assert.equal((await env.call("GET", `/v1/snapshots/${kept}/files/a.txt`)).body.toString(), "merhaba");
  for (const by of [await env.as({ role: "manager" }), await env.client()])
    assert.equal((await env.call("GET", "/v1/account", undefined, by)).status, 401);
  assert.deepEqual(await env.found(), [locked]);
  env.wait(10 * dayMs);
  await env.erase(locked);
  assert.deepEqual(await env.objects(locked), []);
  assert.equal((await env.call("GET", `/v1/snapshots/${kept}`)).status, 404);
  assert.deepEqual(await env.found(), [env.defaultVault]);
  await env.erase(env.defaultVault);
  assert.deepEqual(await env.objects(env.defaultVault), []);
  assert.deepEqual(await env.found(), []);
  const proofs = await listed(env);
  assert.deepEqual([proofs.length, proofs.every(({ proof }) => proof !== null)], [4, true]);
  // What reads goes on answering.
  for (const at of ["/v1/account", "/v1/vaults", "/v1/sources", "/v1/snapshots?source=defter", "/v1/account/export"])
    assert.equal((await env.call("GET", at)).status, 200, at);
});

test("a process that ends anywhere in an erasure: nobody reads the vault meanwhile, and the next run ends it", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  for (const n of [1, 2, 3]) await env.backUpInto(vaultId, "defter", { f: `${n}`.repeat(1000) });
  await env.deleteVault(vaultId);
  await assert.rejects(env.eraseWith(endsAfter(env.store, 0), vaultId), /ends here/);
  assert.equal((await env.erasure(vaultId))?.state, "erasing");
  assert.equal((await env.objects(vaultId)).filter((name) => name.includes("/keys/")).length, 2, "no key is gone");
  const { services } = env.service.running;
  await assert.rejects(services?.vaults.open(env.accountId, vaultId) ?? Promise.resolve(), { code: "not_found" });
  assert.deepEqual(await env.found(), [vaultId]);
  // One key object, then the other, then some of the rest. The names of keys are deleted again in each run.
  for (const deletions of [1, 1, 3]) {
    await assert.rejects(env.eraseWith(endsAfter(env.store, deletions), vaultId), /ends here/);
    assert.equal((await env.erasure(vaultId))?.proof, null);
  }
  const destroyedAt = (await env.erasure(vaultId))?.keys_destroyed_at;
  assert.ok(destroyedAt instanceof Date);
  await assert.rejects(openWithMasterKey(env, vaultId), /no key object/);
  assert.ok((await env.objects(vaultId)).length > 0, "packs are still there, and nobody can read them");
  env.wait(hourMs);
  await env.erase(vaultId);
  assert.deepEqual(await env.objects(vaultId), []);
  const row = await env.erasure(vaultId);
  assert.deepEqual([row?.state, row?.keys_destroyed_at], ["erased", destroyedAt]);
});

test("the database alone erases nothing: deleted rows, a closed account, a begun erasure, and a clock that is ahead", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Sahte");
  const id = await env.backUpInto(vaultId, "defter", { "a.txt": "merhaba" });
  const count = (await env.objects(vaultId)).length;
  const now = env.service.clock.now();
  const past = new Date(now.getTime() - dayMs);
  await env.rows("update emanet.vaults set deleted_at = $2 where id = $1", [vaultId, past]);
  await env.erase(vaultId);
  await env.rows("update emanet.vaults set deleted_at = null where id = $1", [vaultId]);
  await env.rows("update emanet.accounts set state = 'closed', erase_after = $2 where id = $1", [env.accountId, past]);
  await env.erase(vaultId);
  await env.rows("update emanet.accounts set state = 'active', erase_after = null where id = $1", [env.accountId]);
  await env.rows(
    `insert into emanet.erasures (id, account_id, vault_id, cause, act_id, ordered_by, due_at, state, key_objects, objects, bytes, snapshots, created_at)
     values (gen_random_uuid(), $1, $2, 'vault_deletion', gen_random_uuid(), gen_random_uuid(), $3, 'erasing', 0, 0, 0, 0, $3)`,
    [env.accountId, vaultId, past],
  );
  await assert.rejects(env.erase(vaultId), /erasure_refused/);
  await env.rows("delete from emanet.erasures where vault_id = $1", [vaultId]);
  assert.equal((await env.objects(vaultId)).length, count);
  assert.equal((await env.call("GET", `/v1/snapshots/${id}/files/a.txt`)).body.toString(), "merhaba");

  await env.closeAccount();
  const ahead = { ...env.service.clock, now: () => new Date(env.service.clock.now().getTime() + 730 * dayMs) };
  await assert.rejects(runTask(env, eraseVault, { accountId: env.accountId, vaultId }, ahead), /clocks_differ/);
  assert.equal((await env.objects(vaultId)).length, count);
});

test("no row of the database has a name of an erased vault", async () => {
  const env = await erasureTest({ after });
  const word = "gizlikelime";
  const made = await env.call("POST", "/v1/taxpayers", { name: `Firma ${word}`, tax_id: "4540536920" });
  const { id, vault_id: vaultId } = made.json as { id: string; vault_id: string };
  const snapshot = await env.backUpInto(vaultId, `kaynak-${word}`, { [`${word}.txt`]: word }, `&label=${word}`);
  const target = { kind: "download", format: "tar" };
  const wanted = { snapshot_id: snapshot, target, paths: [`${word}.txt`] };
  assert.equal((await env.call("POST", "/v1/restore", wanted)).status, 202);
  const open = await env.call(
    "POST",
    "/v1/snapshots",
    { source: `kaynak-${word}`, vault_id: vaultId },
    await env.client(),
  );
  const file = { body: Buffer.from("x"), headers: await env.client() };
  assert.equal((await env.service.send("PUT", `/v1/snapshots/${open.json?.id}/files/${word}-2`, file)).status, 201);
  assert.equal((await env.call("PATCH", `/v1/vaults/${vaultId}`, { name: `Kasa ${word}` })).status, 200);
  assert.ok((await tablesWith(env.service, word)).length > 3);
  assert.equal((await env.call("DELETE", `/v1/taxpayers/${id}`)).status, 202);
  env.wait(72 * hourMs);
  await env.applyTo(vaultId);
  await env.erase(vaultId);
  assert.equal((await env.erasure(vaultId))?.cause, "taxpayer_deletion");
  assert.deepEqual(await tablesWith(env.service, word), []);
  assert.deepEqual(await tablesWith(env.service, "4540536920"), []);
});

test("objects of an erased vault that come back with an old copy of the store are destroyed again", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  await env.backUpInto(vaultId, "defter", { f: "1" });
  const names = (await env.objects(vaultId)).filter((name) => name.includes("/keys/"));
  const copies = await Promise.all(names.map(async (name) => ({ name, bytes: await env.store.get(name) })));
  await env.deleteVault(vaultId);
  await env.erase(vaultId);
  for (const { name, bytes } of copies) await env.store.put(name, bytes);
  env.wait(dayMs);
  await runTask(env, checkErased, {});
  assert.deepEqual(await env.objects(vaultId), []);
});

/** A row of an erasure as somebody writes it who has the database alone. */
async function forge(env: ErasureTest, vaultId: string, state: "erasing" | "erased", sealed: Buffer | null = null) {
  const past = new Date(env.service.clock.now().getTime() - 2 * dayMs);
  await env.rows("delete from emanet.erasures where vault_id = $1", [vaultId]);
  await env.rows(
    `insert into emanet.erasures (id, account_id, vault_id, cause, act_id, ordered_by, due_at, state, key_objects, objects, bytes, snapshots, created_at,
       keys_destroyed_at, erased_at, proof, checked_at, sealed)
     values (gen_random_uuid(), $1, $2, 'vault_deletion', gen_random_uuid(), gen_random_uuid(), $3, $4, 0, 0, 0, 0, $3, $5, $5, $6, $5, $7)`,
    [env.accountId, vaultId, past, state, ...(state === "erased" ? [past, "a.b.c"] : [null, null]), sealed],
  );
}

/** Its keys and manifests. Upkeep of the service may write packs anew meanwhile. */
async function assertHas(env: ErasureTest, vaultId: string, names: readonly string[]): Promise<void> {
  const now = new Set(await env.objects(vaultId));
  const missing = names.filter((name) => !now.has(name) && !name.includes("/packs/"));
  assert.ok(names.length > 3 && missing.length === 0, missing.join(" "));
}

test("the database alone erases nothing: rows that say erased, or begun for a vault that was never used, with a copied seal too", async () => {
  const env = await erasureTest({ after });
  const [real, good, unused] = [await env.newVault("Eski"), await env.newVault("İyi"), await env.newVault("Boş")];
  await env.backUpInto(real, "defter", { f: "1" });
  const id = await env.backUpInto(good, "defter", { "a.txt": "merhaba" });
  const names = await env.objects(good);
  await env.deleteVault(real);
  await env.erase(real);
  const sealed = (await env.erasure(real))?.sealed ?? null;
  assert.ok(sealed !== null);
  for (const seal of [null, sealed]) {
    await forge(env, good, "erased", seal);
    await runTask(env, checkErased, {});
    await assertHas(env, good, names);
    assert.equal((await env.call("GET", `/v1/snapshots/${id}/files/a.txt`)).body.toString(), "merhaba");
    for (const vaultId of [good, unused]) {
      await forge(env, vaultId, "erasing", seal);
      await assert.rejects(env.erase(vaultId), /erasure_refused/);
      assert.equal((await env.erasure(vaultId))?.proof, null, "no proof says what others wrote");
    }
  }
  await assertHas(env, good, names);
});

test("a proof says what the service decided, also if somebody has changed the row meanwhile", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  await env.backUpInto(vaultId, "defter", { f: "1" });
  const act = await env.deleteVault(vaultId);
  await assert.rejects(env.eraseWith(endsAfter(env.store, 6), vaultId), /ends here/);
  const before = await env.erasure(vaultId);
  await env.rows(
    `update emanet.erasures set ordered_by = gen_random_uuid(), act_id = gen_random_uuid(), objects = 7, due_at = '2020-01-01', created_at = '2020-01-01',
       keys_destroyed_at = '2020-01-01' where vault_id = $1`,
    [vaultId],
  );
  await env.erase(vaultId);
  const said = JSON.parse(
    Buffer.from((await env.erasure(vaultId))?.proof?.split(".")[1] ?? "", "base64url").toString(),
  );
  assert.deepEqual(
    [said.act_id, said.ordered_by, said.erased.objects, said.keys_destroyed_at, said.begun_at, said.wait_ended_at],
    [
      ...[act, before?.ordered_by, Number(before?.objects), before?.keys_destroyed_at?.toISOString()],
      ...[before?.created_at.toISOString(), before?.due_at.toISOString()],
    ],
  );
});

test("a closing erases the vaults that it names: one of another account stays, whatever the rows say", async () => {
  const env = await erasureTest({ after });
  const other = await tokenFor(env.service, { role: "owner" });
  const foreign = await makeVault(env.service, other.auth, "Başkasının");
  const headers = { ...other.auth, "content-type": "application/x-tar" };
  const path = `/v1/snapshots?source=defter&vault_id=${foreign}`;
  assert.equal((await env.service.send("POST", path, { body: tarOf({ f: "1" }), headers })).status, 201);
  await env.backUpInto(env.vaultId, "defter", { f: "2" });
  await env.closeAccount();
  env.wait(90 * dayMs);
  const names = await env.objects(foreign);
  await env.erase(foreign);
  await env.rows("update emanet.vaults set account_id = $2 where id = $1", [foreign, env.accountId]);
  await env.rows("update emanet.snapshots set account_id = $2 where vault_id = $1", [foreign, env.accountId]);
  await env.erase(foreign);
  assert.equal(await env.erasure(foreign), undefined);
  await assertHas(env, foreign, names);
  await env.erase(env.vaultId);
  assert.equal((await env.erasure(env.vaultId))?.state, "erased");
  await assertHas(env, foreign, names);
});

test("a vault whose keys are not in the store for a while is not taken for one that was never used", async () => {
  const env = await erasureTest({ after });
  await env.backUpInto(env.vaultId, "defter", { f: "1" });
  await env.closeAccount();
  env.wait(90 * dayMs);
  const names = (await env.objects(env.vaultId)).filter((name) => name.includes("/keys/"));
  const copies = await Promise.all(names.map(async (name) => ({ name, bytes: await env.store.get(name) })));
  for (const name of names) await env.store.delete(name);
  await assert.rejects(env.erase(env.vaultId), /erasure_refused/);
  assert.ok((await env.objects(env.vaultId)).length > 0 && (await env.erasure(env.vaultId)) === undefined);
  for (const { name, bytes } of copies) await env.store.put(name, bytes);
  await env.erase(env.vaultId);
  assert.equal((await env.erasure(env.vaultId))?.state, "erased");
});

test("a vault that something keeps does not stand in the way of others", async () => {
  const env = await erasureTest({ after });
  const vaults = [await env.newVault("Bir"), await env.newVault("İki"), await env.newVault("Üç")];
  const snapshots = await Promise.all(vaults.map((id) => env.backUpInto(id, "defter", { f: "1" })));
  await env.closeAccount();
  const until = new Date(env.service.clock.now().getTime() + 400 * dayMs).toISOString();
  for (const id of snapshots.slice(0, 2))
    assert.equal((await env.call("PUT", `/v1/snapshots/${id}/lock`, { locked_until: until })).status, 200);
  env.wait(90 * dayMs);
  const asked: string[] = [];
  for (let round = 0; round < 6; round++) {
    const first = (await env.firstFound()) ?? "";
    asked.push(first);
    await env.erase(first);
    env.wait(hourMs);
  }
  assert.ok([...vaults, env.vaultId].every((id) => asked.includes(id)));
  assert.deepEqual(await Promise.all(vaults.map(async (id) => (await env.erasure(id))?.state)), [
    undefined,
    undefined,
    "erased",
  ]);
});

test("a lock that is accepted while an erasure begins keeps the vault; one that comes after its beginning is refused", async () => {
  const env = await erasureTest({ after });
  const [kept, gone] = [await env.newVault("Kalan"), await env.newVault("Giden")];
  const [inKept, inGone] = [
    await env.backUpInto(kept, "defter", { "a.txt": "merhaba" }),
    await env.backUpInto(gone, "defter", { "a.txt": "merhaba" }),
  ];
  await env.closeAccount();
  env.wait(90 * dayMs);
  const until = new Date(env.service.clock.now().getTime() + 30 * dayMs).toISOString();
  const lock = (id: string) => env.call("PUT", `/v1/snapshots/${id}/lock`, { locked_until: until });
  const answers: number[] = [];
  const whileCounting = tellsLists(env.store, async (prefix) => {
    if (prefix === env.prefixOf(kept) && answers.length === 0) answers.push((await lock(inKept)).status);
  });
  await env.eraseWith(whileCounting, kept);
  assert.deepEqual(answers, [200]);
  assert.equal(await env.erasure(kept), undefined);
  assert.equal((await env.call("GET", `/v1/snapshots/${inKept}/files/a.txt`)).body.toString(), "merhaba");

  await assert.rejects(env.eraseWith(endsAfter(env.store, 0), gone), /ends here/);
  assert.equal((await lock(inGone)).status, 404);
  assert.equal((await env.call("PUT", `/v1/snapshots/${inGone}/hold`, { reason: "inceleme" })).status, 404);
  await env.erase(gone);
  assert.equal((await env.erasure(gone))?.state, "erased");
});

test("what was held in a closed account is released by an owner after 72 hours, and then erased", async () => {
  const env = await erasureTest({ after });
  const id = await env.backUpInto(env.vaultId, "defter", { f: "1" });
  await env.closeAccount();
  assert.equal((await env.call("PUT", `/v1/snapshots/${id}/hold`, { reason: "inceleme" })).status, 200);
  env.wait(90 * dayMs);
  await env.erase(env.vaultId);
  assert.equal(await env.erasure(env.vaultId), undefined);
  assert.equal((await env.call("DELETE", `/v1/snapshots/${id}/hold`)).status, 202);
  env.wait(72 * hourMs - 60_000);
  await env.applyTo(env.vaultId);
  await env.erase(env.vaultId);
  assert.equal(await env.erasure(env.vaultId), undefined);
  env.wait(60_000);
  await env.applyTo(env.vaultId);
  await env.erase(env.vaultId);
  assert.equal((await env.erasure(env.vaultId))?.state, "erased");
});

test("keys of every pair are destroyed by name, also if lists of the store lag; a kept answer with a kit goes too", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  await env.backUpInto(vaultId, "defter", { f: "1" });
  for (let pair = 0; pair < 2; pair++)
    assert.equal((await env.call("POST", `/v1/vaults/${vaultId}/rotate-keys`)).status, 200);
  const keys = (await env.objects(vaultId)).filter((name) => name.includes("/keys/"));
  assert.equal(keys.length, 6);
  const kit = await env.call("POST", `/v1/vaults/${vaultId}/recovery-kits`);
  await env.deleteVault(vaultId);
  const headers = { ...(await env.owner()), "idempotency-key": "kit" };
  const fetched = await env.call("POST", `/v1/recovery-kits/${kit.json?.id}/download`, undefined, headers);
  assert.equal(fetched.status, 200, fetched.body.toString());
  // A process that ends after the first object; the next one sees none of the keys in its lists.
  await assert.rejects(env.eraseWith(endsAfter(env.store, 1), vaultId), /ends here/);
  const lagging = hidesInLists(env.store, (name) => keys.includes(name));
  await env.eraseWith(lagging, vaultId);
  for (const name of keys) assert.equal(await env.store.stat(name), null, name);
  assert.equal((await env.erasure(vaultId))?.state, "erased");
  const again = { ...(await env.owner()), "idempotency-key": "kit" };
  const replayed = await env.call("POST", `/v1/recovery-kits/${kit.json?.id}/download`, undefined, again);
  assert.deepEqual([replayed.status, replayed.json?.code], [409, "state_conflict"]);
});
