/** A drill of docs/DISASTER.md: the database is lost, and only the object store and the master key are left. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { repack, setRetention } from "@emanet/engine";
import { rebuildIndexOf } from "../../packages/server/src/commands.ts";
import { recordAct, recordRetentionPolicy } from "../../packages/server/src/retention/chain.ts";
import { noPolicy } from "../../packages/server/src/retention/rules.ts";
import { testDatabase } from "../../packages/server/src/testing/database.ts";
import { signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService, type TestService } from "../../packages/server/src/testing/running.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { configOf, jsonOutput, parsed, settings, startWith, vaultOf } from "./testing/kept-service.ts";

/** The first is held, the second is locked: nobody deletes them. */
async function assertInForce(service: TestService, headers: Readonly<Record<string, string>>, ids: readonly string[]) {
  for (const [at, code] of ["legal_hold", "retention_locked"].entries()) {
    const refused = await service.send("DELETE", `/v1/snapshots/${ids[at]}`, { headers });
    assert.deepEqual([refused.status, refused.json?.code], [409, code]);
  }
}

/** Several records, so that those after the rebuild must have higher numbers. */
async function recordThrice({ recorded, upload }: Awaited<ReturnType<typeof startWith>>): Promise<void> {
  for (const source of ["bir", "iki", "üç"]) {
    await recorded();
    await upload(`source=${encodeURIComponent(source)}`, { a: "1" });
  }
  await recorded();
}

describe("a database that is lost", () => {
  test("comes back from store and master key: people, programs, sources, snapshots, holds, every byte", async (t) => {
    const dataDir = await temporaryFolder(t);
    const first = await startWith(t, { database: await testDatabase(t), dataDir });
    const { demo, service } = first;
    const ids = [
      await first.upload("source=muhasebe&label=ilk", { "a.txt": "bir", "b/c.txt": "iki" }),
      await first.upload("source=muhasebe&external_reference=F-1", { "a.txt": "bir", "b/c.txt": "üç" }),
      await first.upload(`source=${encodeURIComponent("arşiv")}`, { "fatura.xml": "<fatura/>".repeat(5_000) }),
    ];
    const vaultId = await vaultOf(service, demo.account_id);
    const vault = await service.running.services?.vaults.open(demo.account_id, vaultId);
    assert.ok(vault !== undefined);
    const lockedUntil = service.clock.now().getTime() + 86_400_000;
    const person = await signInAs(service, demo);
    const held = await service.send("PUT", `/v1/snapshots/${ids[0]}/hold`, {
      ...{ headers: person.auth, json: { reason: "vergi incelemesi", review_at: "2030-01-01T00:00:00Z" } },
    });
    assert.ok(held.status < 300, held.body.toString());
    const policies = "select vault_id, source_id, keep_daily, floor_days from emanet.retention_policies";
    await storedRows(
      service.database,
      `insert into emanet.retention_policies (account_id, vault_id, source_id, keep_daily, floor_days, updated_at)
       values ($1, $2, null, 20, 7, now())`,
      [demo.account_id, vaultId],
    );
    // The chain has what the record does not have yet.
    await recordRetentionPolicy(vault, null, { ...noPolicy, keep_daily: 30, floor_days: 7 }, "test");
    await setRetention(vault, (ids[1] ?? "").replaceAll("-", ""), { expiresAt: null, lockedUntil, hold: false });
    const before = await Promise.all(ids.map((id) => first.shown(id)));
    await recordThrice(first);
    await first.beaten();
    await service.running.stop();

    const kept = { database: await testDatabase(t), dataDir, clock: service.clock };
    await assert.rejects(startTestService(t, { ...kept, settings }), { code: "database_empty" });
    const outcome = parsed(await rebuildIndexOf(configOf(kept), jsonOutput));
    assert.deepEqual([outcome.accounts, outcome.whole, outcome.damaged_records], [1, true, []]);
    assert.deepEqual(
      outcome.vaults.map((one) => [one.vault_id, one.snapshots]),
      [[vaultId, 6]],
    );

    const second = await startWith(t, kept);
    assert.deepEqual(await Promise.all(ids.map((id) => second.shown(id))), before);
    const { auth } = await signInAs(second.service, demo);
    const retention = async (id = "") =>
      (await second.service.send("GET", `/v1/snapshots/${id}`, { headers: auth })).json?.retention;
    assert.equal(((await retention(ids[0])) as { legal_hold: boolean }).legal_hold, true);
    const policy = { vault_id: vaultId, source_id: null, keep_daily: 30, floor_days: 7 };
    assert.deepEqual(await storedRows(kept.database, policies), [policy]);
    const { locked_until: locked } = (await retention(ids[1])) as { locked_until: string };
    assert.equal(locked, new Date(lockedUntil).toISOString());
    await assertInForce(second.service, auth, ids);
    // The source goes on with what the vault has, and nothing is stored twice.
    const next = await second.upload("source=muhasebe", { "a.txt": "bir", "b/c.txt": "üç" });
    assert.equal((await second.get(`/v1/snapshots/${next}`)).json?.parent_id, ids[1]);
    // Records go on after the rebuild: a second loss brings back what was changed since the first.
    const added = await second.upload("source=sonra", { d: "dört" });
    const after = await second.shown(added);
    await second.recorded();
    await second.service.running.stop();
    const third = { database: await testDatabase(t), dataDir, clock: second.service.clock };
    assert.equal(parsed(await rebuildIndexOf(configOf(third), jsonOutput)).whole, true);
    const again = await startWith(t, third);
    assert.deepEqual(await again.shown(added), after);
    await again.service.running.stop();
  });

  test("a first snapshot comes back that was acknowledged before the job wrote any record", async (t) => {
    const dataDir = await temporaryFolder(t);
    const first = await startWith(t, { database: await testDatabase(t), dataDir });
    const person = await signInAs(first.service, first.demo);
    const made = await first.service.send("POST", "/v1/vaults", { headers: person.auth, json: { name: "İkinci" } });
    assert.equal(made.status, 201, made.body.toString());
    // Uploads at once: each waits for a record that has its vault.
    const queries = [
      "source=bir",
      "source=iki",
      `source=${encodeURIComponent("üç")}&vault_id=${String(made.json?.id)}`,
    ];
    const ids = await Promise.all(queries.map((query) => first.upload(query, { "a.txt": query })));
    const before = await Promise.all(ids.map((id) => first.shown(id)));
    // By the test's clock no minute has passed, so the job has not run.
    await first.service.running.stop();

    const kept = { database: await testDatabase(t), dataDir, clock: first.service.clock };
    const outcome = parsed(await rebuildIndexOf(configOf(kept), jsonOutput));
    assert.deepEqual([outcome.accounts, outcome.vaults.length, outcome.whole], [1, 2, true]);
    const second = await startWith(t, kept);
    const after = await Promise.all(ids.map((id) => second.shown(id)));
    assert.deepEqual(
      after.map(({ archive }) => archive),
      before.map(({ archive }) => archive),
    );
    await second.service.running.stop();
  });

  test("a deletion that waits is announced again, a deleted source stays deleted, a hold has its reason", async (t) => {
    const dataDir = await temporaryFolder(t);
    const first = await startWith(t, { database: await testDatabase(t), dataDir });
    const { demo, service } = first;
    const ids = [await first.upload("source=kalan", { a: "1" }), await first.upload("source=silinen", { a: "2" })];
    const sources = await Promise.all(
      ids.map(async (id) => ((await first.get(`/v1/snapshots/${id}`)).json as { source: { id: string } }).source.id),
    );
    const [waits = "", done = ""] = sources;
    const vault = await service.running.services?.vaults.open(demo.account_id, await vaultOf(service, demo.account_id));
    assert.ok(vault !== undefined);
    const person = await signInAs(service, demo);
    const ordered = await service.send("DELETE", `/v1/sources/${waits}`, { headers: person.auth });
    assert.equal(ordered.status, 202, ordered.body.toString());
    const json = { reason: "vergi incelemesi", review_at: "2030-01-01T00:00:00.000Z" };
    await service.send("PUT", `/v1/snapshots/${ids[0]}/hold`, { headers: person.auth, json });
    // A process ended after this record and before its rows.
    const act = { kind: "source_deletion", source: done, snapshot: null, policy: null, due: 0, done: true } as const;
    await recordAct(vault, "019a0000-0000-7000-8000-00000000000a", act, "test");
    await first.recorded();
    await service.running.stop();
    const kept = { database: await testDatabase(t), dataDir, clock: service.clock };
    assert.equal(parsed(await rebuildIndexOf(configOf(kept), jsonOutput)).whole, true);
    const second = await startWith(t, kept);
    const { auth } = await signInAs(second.service, demo);
    const read = async (at: string) => second.service.send("GET", at, { headers: auth });
    const hold = (await read(`/v1/snapshots/${ids[0]}/hold`)).json;
    assert.deepEqual([hold?.reason, hold?.review_at], [json.reason, json.review_at]);
    const { data } = (await read("/v1/pending-acts?state=waiting")).json as { data: { id: string; due_at: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      [ordered.json?.id],
    );
    const restarted = Date.parse(data[0]?.due_at ?? "") > Date.parse(String(ordered.json?.due_at));
    assert.ok(restarted, "its 72 hours begin again");
    assert.deepEqual(
      [(await read(`/v1/sources/${waits}`)).status, (await read(`/v1/sources/${done}`)).status],
      [200, 404],
    );
    await second.service.running.stop();
  });

  test("a snapshot whose manifest is gone is named, and the others come back", async (t) => {
    const dataDir = await temporaryFolder(t);
    const first = await startWith(t, { database: await testDatabase(t), dataDir });
    const [lost = "", kept = ""] = [
      await first.upload("source=x", { a: "1" }),
      await first.upload("source=x", { a: "2" }),
    ];
    const before = await first.shown(kept);
    const vaultId = await vaultOf(first.service, first.demo.account_id);
    await first.recorded();
    const hex = (id: string) => id.replaceAll("-", "");
    const vault = await first.service.running.services?.vaults.open(first.demo.account_id, vaultId);
    await vault?.store.delete(vault.names.manifest(hex(lost)));
    await first.service.running.stop();

    const second = { database: await testDatabase(t), dataDir, clock: first.service.clock };
    const { text, isWhole } = await rebuildIndexOf(configOf(second), jsonOutput);
    assert.equal(isWhole, false);
    assert.deepEqual(
      parsed({ text }).vaults.map(({ hidden }) => hidden),
      [[hex(lost)]],
    );
    const again = await startWith(t, second);
    assert.deepEqual(await again.shown(kept), before);
    assert.equal((await again.get(`/v1/snapshots/${lost}`)).status, 404);
    await again.service.running.stop();
  });

  test("one vault alone is rebuilt while the service runs; an id of no vault is refused", async (t) => {
    const dataDir = await temporaryFolder(t);
    const kept = { database: await testDatabase(t), dataDir };
    const { service, demo, upload, shown } = await startWith(t, kept);
    const id = await upload("source=x", { a: "1" });
    const before = await shown(id);
    const vaultId = await vaultOf(service, demo.account_id);
    // A second process on the same database and store has a data folder of its own.
    const other = configOf(
      { ...kept, dataDir: await temporaryFolder(t) },
      {
        EMANET_STORAGE: `file://${path.join(dataDir, "objects")}`,
        EMANET_MASTER_KEY: (await readFile(path.join(dataDir, "master.key"), "utf8")).trim(),
      },
    );
    const outcome = parsed(await rebuildIndexOf(other, { ...jsonOutput, vaultId }));
    assert.deepEqual([outcome.accounts, outcome.vaults.length, outcome.whole], [0, 1, true]);
    assert.deepEqual(await shown(id), before);
    const unknown = rebuildIndexOf(other, { ...jsonOutput, vaultId: "019a0000-0000-7000-8000-000000000000" });
    await assert.rejects(unknown, /No account has the vault/);
    await service.running.stop();
  });
});

test("a vault whose segments upkeep has recorded again comes back", async (t) => {
  const dataDir = await temporaryFolder(t);
  const kept = { database: await testDatabase(t), dataDir };
  const { service, demo, upload, shown } = await startWith(t, kept);
  // The service's own upkeep would leave nothing to repack here.
  await storedRows(kept.database, "update emanet.jobs set run_at = 'infinity' where task like 'upkeep.%'");
  const content = createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16)).update(Buffer.alloc(600_000));
  let id = "";
  // Each night changes another part, until the newest segments are spread over many frames. Where a segment ends depends on the keys of
  // the vault: each of three would still have ten.
  for (let night = 0; night < 30; night++) {
    content.fill(night, night * 20_000, night * 20_000 + 6000);
    id = await upload("source=x", { dump: content.toString("latin1") });
  }
  const before = await shown(id);
  const vaultId = await vaultOf(service, demo.account_id);
  const vault = await service.running.services?.vaults.open(demo.account_id, vaultId);
  assert.ok(vault !== undefined);
  assert.ok((await repack(vault)).segments > 0);
  await service.running.stop();
  const outcome = parsed(await rebuildIndexOf(configOf(kept), { ...jsonOutput, vaultId }));
  assert.deepEqual([outcome.vaults[0]?.snapshots, outcome.whole], [30, true]);
  const again = await startWith(t, { ...kept, clock: service.clock });
  assert.deepEqual(await again.shown(id), before);
  await again.service.running.stop();
});
