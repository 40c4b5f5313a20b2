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
import { prepareVerifier, verifierFiles } from "../receipts/testing.ts";
import { auditOf, runTask } from "../snapshots/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { silentLog } from "../testing/database.ts";
import { listIn } from "../testing/lists.ts";
import { settledMessages } from "../testing/sent-messages.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { vaultBytes } from "../vaults/index.ts";
import { checkErased, eraseVault, findVaultsToErase } from "./jobs.ts";
import { dayMs, type ErasureTest, endsAfter, erasureTest, hourMs, tablesWith } from "./testing.ts";

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
  await runTask(env, checkErased, {});
  assert.equal((await env.objects(vaultId)).length, copies.length, "it was looked at less than a day ago");
  env.wait(dayMs);
  await runTask(env, checkErased, {});
  assert.deepEqual(await env.objects(vaultId), []);
  // A database that was rebuilt has never looked.
  for (const { name, bytes } of copies) await env.store.put(name, bytes);
  await env.rows("update emanet.erasures set checked_at = null where vault_id = $1", [vaultId]);
  await runTask(env, checkErased, {});
  assert.deepEqual(await env.objects(vaultId), []);
});

test("a proof is checked by the programs of docs/receipts: the right one is accepted, no changed one, and no receipt in its place", async (t) => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Eski");
  const kept = await env.backUpInto(env.vaultId, "defter", { f: "1" });
  await env.backUpInto(vaultId, "defter", { f: "1" });
  await env.deleteVault(vaultId);
  await env.erase(vaultId);
  const proof = (await listed(env))[0]?.proof ?? "";
  const receipt = (await env.call("GET", `/v1/snapshots/${kept}/receipt`)).body.toString();
  const { keys } = (await env.service.send("GET", "/.well-known/emanet-keys.json")).json as { keys: object[] };
  const [header = "", payload = "", signature = ""] = proof.split(".");
  const decoded = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as object;
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const flipped = Buffer.from(signature, "base64url");
  flipped[0] = (flipped[0] ?? 0) ^ 1;
  const type = "emanet-erasure+jws";
  const folder = await temporaryFolder({ after });
  for (const file of verifierFiles)
    await t.test(file, async (inner) => {
      const verifier = await prepareVerifier(inner, file, folder);
      if (verifier === null) return;
      const [command = "", ...first] = verifier;
      const check = async (jws: string, as: readonly string[], known: readonly object[] = keys) => {
        const names = ["jws", "keys"].map((kind) => path.join(folder, `${file}.${kind}`));
        const [ofJws = "", ofKeys = ""] = names;
        await writeFile(ofJws, `${jws}\n`);
        await writeFile(ofKeys, JSON.stringify({ keys: known }));
        return run(command, [...first, ...names, ...as]).then(
          ({ stdout }) => JSON.parse(stdout) as unknown,
          () => "refused",
        );
      };
      assert.deepEqual(await check(proof, [type]), decoded(payload));
      const stranger = keys.map((key) => ({ ...key, x: Buffer.alloc(32, 9).toString("base64url") }));
      const answers = [
        await check(proof, []),
        await check(receipt, [type]),
        await check([header, encoded({ ...decoded(payload), vault_id: env.vaultId }), signature].join("."), [type]),
        await check([encoded({ ...decoded(header), alg: "none" }), payload, ""].join("."), [type]),
        await check(
          [encoded({ ...decoded(receipt.split(".")[0] ?? ""), typ: type }), ...receipt.split(".").slice(1)].join("."),
          [type],
        ),
        await check([header, payload, flipped.toString("base64url")].join("."), [type]),
        await check([header, payload].join("."), [type]),
        await check(proof, [type], []),
        await check(proof, [type], stranger),
      ];
      assert.deepEqual(
        answers,
        answers.map(() => "refused"),
      );
    });
});
