/** What somebody tries who wants to destroy a vault, to keep one for ever, or to get a false proof: with the database alone, with a lock at the last moment, with lists that lag. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { runTask, tarOf } from "../snapshots/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { makeVault } from "../vaults/testing.ts";
import { checkErased } from "./jobs.ts";
import { dayMs, type ErasureTest, endsAfter, erasureTest, hidesInLists, hourMs, tellsLists } from "./testing.ts";

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
    // PostgreSQL gives rows in the order of their last change, if nothing else is asked for: those that are kept would be the first.
    await env.rows("update emanet.vaults set scrub_slice = scrub_slice where id <> $1", [first]);
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

test("a deletion that waits erases nothing, also if its job is run directly", async () => {
  const env = await erasureTest({ after });
  const vaultId = await env.newVault("Bekleyen");
  const id = await env.backUpInto(vaultId, "defter", { "a.txt": "merhaba" });
  assert.equal((await env.call("DELETE", `/v1/vaults/${vaultId}`)).status, 202);
  env.wait(80 * hourMs);
  await env.erase(vaultId);
  assert.equal(await env.erasure(vaultId), undefined);
  assert.equal((await env.call("GET", `/v1/snapshots/${id}/files/a.txt`)).body.toString(), "merhaba");
});

test("holds and locks wait for an erasure that is just being decided, and then find no vault", async () => {
  const env = await erasureTest({ after });
  const id = await env.backUpInto(env.vaultId, "defter", { f: "1" });
  const headers = await env.owner();
  // As an erasure does, between its decision and its commit.
  const erasing = await env.service.database.owner.connect();
  try {
    await erasing.query("begin");
    await erasing.query("select set_config('emanet.scope', 'system', true)");
    await erasing.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`retention ${env.vaultId}`]);
    await erasing.query("update emanet.vaults set erasing_at = now() where id = $1", [env.vaultId]);
    const until = new Date(env.service.clock.now().getTime() + 30 * dayMs).toISOString();
    const answers = Promise.all([
      env.call("PUT", `/v1/snapshots/${id}/lock`, { locked_until: until }, headers),
      env.call("PUT", `/v1/snapshots/${id}/hold`, { reason: "inceleme" }, headers),
    ]);
    await env.until(async () => {
      const waiting =
        "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())";
      return (await env.rows(waiting)).length === 2 ? true : null;
    });
    await erasing.query("commit");
    assert.deepEqual(
      (await answers).map(({ status }) => status),
      [404, 404],
    );
  } finally {
    erasing.release();
  }
});
