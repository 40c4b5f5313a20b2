/**
 * The drills of docs/DISASTER.md: the database is lost and only the object store and the master key are left; and a database of
 * yesterday meets a store of today.
 */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { repack, setRetention } from "@emanet/engine";
import { rebuildIndexOf, recoverServiceOf } from "../../packages/server/src/commands.ts";
import { readConfig } from "../../packages/server/src/config.ts";
import { recordAct } from "../../packages/server/src/retention/chain.ts";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { type Cleanup, type TestDatabase, testDatabase } from "../../packages/server/src/testing/database.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { type Sent, startTestService, type TestService } from "../../packages/server/src/testing/running.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const settings = {
  ...noSignInLimits,
  EMANET_LIMIT_SNAPSHOTS_CREATE: "10000/60",
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "10000/60",
};

interface Kept {
  readonly database: TestDatabase;
  readonly dataDir: string;
  readonly clock?: TestService["clock"];
}

/** A service, and a program of the demo account with the secret that it got at the first start. */
async function startWith(t: Cleanup, kept: Kept) {
  const service = await startTestService(t, { ...kept, settings });
  const { demo } = await readFirstRun(kept.dataDir);
  const form = `grant_type=client_credentials&client_id=${demo.client_id}&client_secret=${demo.client_secret}`;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await service.send("POST", "/oauth2/token", { headers, body: form });
  assert.equal(answer.status, 200, answer.body.toString());
  const auth = { authorization: `Bearer ${String(answer.json?.access_token)}` };
  const get = (at: string) => service.send("GET", at, { headers: auth });
  return {
    ...{ service, demo, auth, get },
    async upload(query: string, files: Readonly<Record<string, string>>): Promise<string> {
      const sent = await service.send("POST", `/v1/snapshots?${query}`, {
        ...{ body: tarOf(files), headers: { ...auth, "content-type": "application/x-tar" } },
      });
      assert.equal(sent.status, 201, sent.body.toString());
      return String(sent.json?.id);
    },
    /** What a customer sees of a snapshot, and all of its bytes. */
    async shown(id: string) {
      const { json } = await get(`/v1/snapshots/${id}`);
      const { label, source, size_bytes, file_count, root_hash, metadata, external_reference } = json ?? {};
      const archive: Sent = await get(`/v1/snapshots/${id}/archive?format=tar`);
      assert.equal(archive.status, 200, archive.body.toString());
      const about = { label, source, size_bytes, file_count, root_hash, metadata, external_reference };
      return { ...about, archive: archive.body.toString("base64") };
    },
    /** Until the store has a record of everything that changed. */
    async recorded() {
      const changes = () => storedRows(service.database, "select id from emanet.account_changes");
      await inNextMinutes(service, async () => (await changes()).length === 0);
    },
    async beaten() {
      const beat = async () =>
        Number((await storedRows<{ beat: string }>(service.database, "select beat from emanet.store_beat"))[0]?.beat);
      const before = await beat();
      await inNextMinutes(service, async () => (await beat()) > before);
      await inNextMinutes(service, async () => (await beat()) > before + 1);
    },
  };
}

/** Looks at the database so often before the clock is moved again: tokens live for minutes. */
const looksPerMinute = 200;

/** Moves the clock by a minute, and again if nothing has come of it. */
async function inNextMinutes({ clock }: TestService, isDone: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; ; looks++) {
    if (looks % looksPerMinute === 0) clock.advance(60_000);
    if (await isDone()) return;
  }
}

function configOf({ database: { target }, dataDir }: Kept, more: Readonly<Record<string, string>> = {}) {
  const host = encodeURIComponent(target.host);
  return readConfig({
    EMANET_PROFILE: "sandbox",
    EMANET_DATA_DIR: dataDir,
    EMANET_LOG_LEVEL: "silent",
    EMANET_DATABASE_URL: `postgres://${target.user}@localhost:${target.port}/${target.database}?host=${host}`,
    ...more,
  });
}

const jsonOutput = { json: true, say: () => undefined } as const;

interface Outcome {
  readonly accounts: number;
  readonly whole: boolean;
  readonly damaged_records: readonly string[];
  readonly vaults: readonly {
    readonly vault_id: string;
    readonly snapshots: number;
    readonly hidden: readonly string[];
  }[];
}

const parsed = ({ text }: { readonly text: string }) => JSON.parse(text) as Outcome;

async function vaultOf({ database }: TestService, accountId: string): Promise<string> {
  const query = "select id from emanet.vaults where account_id = $1 and kind = 'default'";
  const [vault] = await storedRows<{ id: string }>(database, query, [accountId]);
  return vault?.id ?? assert.fail("no default vault");
}

/** The first is held, the second is locked: nobody deletes them. */
async function assertInForce(service: TestService, headers: Readonly<Record<string, string>>, ids: readonly string[]) {
  for (const [at, code] of ["legal_hold", "retention_locked"].entries()) {
    const refused = await service.send("DELETE", `/v1/snapshots/${ids[at]}`, { headers });
    assert.deepEqual([refused.status, refused.json?.code], [409, code]);
  }
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
       values ($1, $2, null, 30, 7, now())`,
      [demo.account_id, vaultId],
    );
    await setRetention(vault, (ids[1] ?? "").replaceAll("-", ""), { expiresAt: null, lockedUntil, hold: false });
    const before = await Promise.all(ids.map((id) => first.shown(id)));
    // Several records, so that those after the rebuild must have higher numbers.
    for (const source of ["bir", "iki", "üç"]) {
      await first.recorded();
      await first.upload(`source=${encodeURIComponent(source)}`, { a: "1" });
    }
    await first.recorded();
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

describe("a database of yesterday with a store of today", () => {
  test("nothing is served until recover; then nothing is lost, and who was removed stays out", async (t) => {
    const dataDir = await temporaryFolder(t);
    const database = await testDatabase(t);
    const first = await startWith(t, { database, dataDir });
    const old = await first.upload("source=muhasebe", { a: "dün" });
    const { demo } = first;
    const member = await tokenFor(first.service, { as: "member", role: "viewer", accountId: demo.account_id });
    await first.recorded();
    await first.beaten();
    await first.service.running.stop();
    const yesterday = await testDatabase(t, { copyOf: database });

    const today = await startWith(t, { database, dataDir, clock: first.service.clock });
    const fresh = await today.upload("source=yeni", { a: "bugün" });
    const before = await Promise.all([old, fresh].map((id) => today.shown(id)));
    const owner = await signInAs(today.service, demo);
    // Who loses access is recorded before the answer, not by the job of the next minute.
    await storedRows(database, "update emanet.jobs set run_at = 'infinity' where task = 'recovery.write_records'");
    const removed = await today.service.send("DELETE", `/v1/members/${member.personId}`, { headers: owner.auth });
    assert.equal(removed.status, 204, removed.body.toString());
    const revoked = await today.service.send("DELETE", `/v1/oauth-clients/${demo.client_id}`, {
      headers: owner.auth,
    });
    assert.equal(revoked.status, 204, revoked.body.toString());
    await today.beaten();
    await today.service.running.stop();

    const kept = { database: yesterday, dataDir, clock: today.service.clock };
    await assert.rejects(startTestService(t, { ...kept, settings }), { code: "database_older_than_store" });
    const outcome = parsed(await recoverServiceOf(configOf(kept), jsonOutput));
    assert.deepEqual([outcome.accounts, outcome.whole], [1, true]);
    assert.deepEqual(await storedRows(yesterday, "select id from emanet.sessions where revoked_at is null"), []);
    const service = await startTestService(t, { ...kept, settings });
    const form = `grant_type=client_credentials&client_id=${demo.client_id}&client_secret=${demo.client_secret}`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    assert.equal((await service.send("POST", "/oauth2/token", { headers, body: form })).status, 401);
    assert.equal((await service.send("GET", "/v1/account", { headers: owner.auth })).status, 401);
    const states = await storedRows(yesterday, "select state from emanet.people where id = $1", [member.personId]);
    assert.deepEqual(states, [{ state: "removed" }]);
    const { auth } = await signInAs(service, demo);
    for (const [at, id] of [old, fresh].entries()) {
      const archive = await service.send("GET", `/v1/snapshots/${id}/archive?format=tar`, { headers: auth });
      assert.equal(archive.body.toString("base64"), before[at]?.archive);
    }
    await service.running.stop();
  });

  test("an upload that ran while the dump was made is there, if it was acknowledged afterwards", async (t) => {
    const dataDir = await temporaryFolder(t);
    const database = await testDatabase(t);
    const first = await startWith(t, { database, dataDir });
    const id = await first.upload("source=gece&label=uzun", { a: "1" });
    const before = await first.shown(id);
    await first.recorded();
    await first.beaten();
    await first.service.running.stop();
    // The row as the dump has it: the upload has begun, and nothing has come yet.
    const yesterday = await testDatabase(t, { copyOf: database });
    await storedRows(
      yesterday,
      `update emanet.snapshots set state = 'running', completed_at = null, size_bytes = null, file_count = null, warning_count = null,
         root_hash = null, stored_bytes = 0, verified_at = null, version = 1 where id = $1`,
      [id],
    );
    const kept = { database: yesterday, dataDir, clock: first.service.clock };
    assert.equal(parsed(await recoverServiceOf(configOf(kept), jsonOutput)).whole, true);
    const after = await startWith(t, kept);
    assert.deepEqual(await after.shown(id), before);
    assert.equal((await after.get(`/v1/snapshots/${id}`)).json?.status, "completed");
    await after.service.running.stop();
  });

  test("what was undeleted after the dump is there; what was deleted before it stays deleted, and can be undeleted for 72 hours", async (t) => {
    const dataDir = await temporaryFolder(t);
    const database = await testDatabase(t);
    const first = await startWith(t, { database, dataDir });
    const [back, gone] = [
      await first.upload("source=geri", { a: "1" }),
      await first.upload("source=giden", { a: "2" }),
    ];
    const before = await first.shown(back);
    const personOf = async ({ service, demo }: Pick<typeof first, "service" | "demo">) => {
      const { auth } = await signInAs(service, demo);
      return (method: string, at: string) => service.send(method, `/v1/snapshots/${at}`, { headers: auth });
    };
    const ask = await personOf(first);
    for (const id of [back, gone]) assert.ok((await ask("DELETE", id)).status < 300);
    await first.recorded();
    await first.beaten();
    await first.service.running.stop();
    const yesterday = await testDatabase(t, { copyOf: database });
    const today = await startWith(t, { database, dataDir, clock: first.service.clock });
    assert.equal((await (await personOf(today))("POST", `${back}/undelete`)).status, 200);
    await today.beaten();
    await today.service.running.stop();

    const kept = { database: yesterday, dataDir, clock: today.service.clock };
    // A sandbox whose clock is far ahead of PostgreSQL's.
    const aheadMs = 30 * 24 * 3_600_000;
    await storedRows(yesterday, "insert into emanet.sandbox_clock (id, offset_ms) values (1, $1)", [aheadMs]);
    assert.equal(parsed(await recoverServiceOf(configOf(kept), jsonOutput)).whole, true);
    const waits = "select deleted_at > now() + interval '29 days' as by_that_clock from emanet.snapshots where id = $1";
    assert.deepEqual(await storedRows(yesterday, waits, [gone]), [{ by_that_clock: true }]);
    await storedRows(yesterday, "delete from emanet.sandbox_clock");
    const after = await startWith(t, kept);
    assert.deepEqual(await after.shown(back), before);
    const states = await storedRows(yesterday, "select state from emanet.snapshots where id = $1", [gone]);
    assert.deepEqual(states, [{ state: "deleted" }]);
    assert.equal((await (await personOf(after))("POST", `${gone}/undelete`)).status, 200);
    await after.service.running.stop();
  });
});
