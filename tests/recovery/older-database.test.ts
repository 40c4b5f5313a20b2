/** A drill of docs/DISASTER.md: a database of yesterday meets a store of today, or the other way round. */

import assert from "node:assert/strict";
import { cp, rename, rm } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { makeAgent } from "../../packages/server/src/agents/testing.ts";
import { rebuildIndexOf, recoverServiceOf } from "../../packages/server/src/commands.ts";
import { engineId } from "../../packages/server/src/snapshots/engine-id.ts";
import { pruneVault } from "../../packages/server/src/snapshots/removal.ts";
import { runTask } from "../../packages/server/src/snapshots/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { testDatabase } from "../../packages/server/src/testing/database.ts";
import { signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { configOf, jsonOutput, parsed, settings, startWith, vaultOf } from "./testing/kept-service.ts";

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

  test("what was removed after the dump is not shown as there, and cannot be undeleted", async (t) => {
    const dataDir = await temporaryFolder(t);
    const database = await testDatabase(t);
    const first = await startWith(t, { database, dataDir });
    const accountId = first.demo.account_id;
    const vaultId = await vaultOf(first.service, accountId);
    const ids = {
      kept: await first.upload("source=kalan", { a: "1" }),
      deletedBefore: await first.upload("source=once", { a: "2" }),
      deletedAfter: await first.upload("source=sonra", { a: "3" }),
    };
    const personOf = async ({ service, demo }: Pick<typeof first, "service" | "demo">) => {
      const { auth } = await signInAs(service, demo);
      return (method: string, at: string) => service.send(method, `/v1/snapshots/${at}`, { headers: auth });
    };
    assert.equal((await (await personOf(first))("DELETE", ids.deletedBefore)).status, 204);
    await first.recorded();
    await first.beaten();
    await first.service.running.stop();
    const yesterday = await testDatabase(t, { copyOf: database });

    const today = await startWith(t, { database, dataDir, clock: first.service.clock });
    assert.equal((await (await personOf(today))("DELETE", ids.deletedAfter)).status, 204);
    today.service.clock.advance(73 * 3_600_000);
    await runTask({ service: today.service }, pruneVault, { accountId, vaultId });
    const vault = await today.service.running.services?.vaults.open(accountId, vaultId);
    assert.equal(await vault?.catalog.snapshot(engineId(ids.deletedAfter)), null, "it is removed");
    await today.beaten();
    await today.service.running.stop();

    const kept = { database: yesterday, dataDir, clock: today.service.clock };
    const outcome = parsed(await recoverServiceOf(configOf(kept), jsonOutput));
    assert.deepEqual([outcome.whole, outcome.vaults[0]?.removed, outcome.vaults[0]?.missing], [true, 2, []]);
    const after = await startWith(t, kept);
    const ask = await personOf(after);
    assert.equal((await ask("GET", `${ids.kept}/archive?format=tar`)).status, 200);
    assert.equal((await ask("GET", `${ids.deletedAfter}/archive?format=tar`)).status, 410);
    assert.equal((await ask("POST", `${ids.deletedBefore}/undelete`)).status, 404);
    const list = await after.get("/v1/snapshots?status=completed");
    assert.deepEqual(
      ((list.json?.data ?? []) as { id: string }[]).map(({ id }) => id),
      [ids.kept],
    );
    await after.service.running.stop();

    // A row of an upload that is newer than the copy of the store: the store has never seen it.
    const newer = `insert into emanet.snapshots
      select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'external_reference', null))).*
      from emanet.snapshots s where id = $1`;
    await storedRows(yesterday, newer, [ids.kept]);
    const older = parsed(await recoverServiceOf(configOf(kept), jsonOutput));
    assert.deepEqual([older.whole, older.vaults[0]?.missing.length], [false, 1]);
  });

  test("what the table has as removed comes back if the store still has it: the store was another one at the last recover", async (t) => {
    const dataDir = await temporaryFolder(t);
    const database = await testDatabase(t);
    const first = await startWith(t, { database, dataDir });
    const id = await first.upload("source=gece", { "defter.txt": "1" });
    const before = await first.shown(id);
    await first.recorded();
    await first.beaten();
    await first.service.running.stop();
    await storedRows(
      database,
      `update emanet.snapshots set state = 'expired', expired_at = completed_at, expires_at = completed_at, removed_at = completed_at
       where id = $1`,
      [id],
    );
    const kept = { database, dataDir, clock: first.service.clock };
    assert.equal(parsed(await recoverServiceOf(configOf(kept), jsonOutput)).whole, true);
    const after = await startWith(t, kept);
    assert.deepEqual(await after.shown(id), before);
    assert.equal((await after.get(`/v1/snapshots/${id}`)).json?.status, "completed");
    await after.service.running.stop();
  });

  test("an older bucket gets the newest records again: who was removed stays out after the next loss too", async (t) => {
    const dataDir = await temporaryFolder(t);
    const database = await testDatabase(t);
    const first = await startWith(t, { database, dataDir });
    await first.upload("source=muhasebe", { a: "1" });
    const { demo } = first;
    const member = await tokenFor(first.service, { as: "member", role: "viewer", accountId: demo.account_id });
    await first.recorded();
    const objects = path.join(dataDir, "objects");
    await cp(objects, `${objects}.old`, { recursive: true });
    const owner = await signInAs(first.service, demo);
    const removed = await first.service.send("DELETE", `/v1/members/${member.personId}`, { headers: owner.auth });
    assert.equal(removed.status, 204, removed.body.toString());
    await first.recorded();
    await first.service.running.stop();
    await rm(objects, { recursive: true });
    await rename(`${objects}.old`, objects);
    const kept = { database, dataDir, clock: first.service.clock };
    assert.equal(parsed(await recoverServiceOf(configOf(kept), jsonOutput)).whole, true);
    const after = await startWith(t, kept);
    await after.recorded();
    await after.service.running.stop();

    const empty = await testDatabase(t, { empty: true });
    await rebuildIndexOf(configOf({ database: empty, dataDir }), jsonOutput);
    const states = await storedRows(empty, "select state from emanet.people where id = $1", [member.personId]);
    assert.deepEqual(states, [{ state: "removed" }]);
  });

  test("orders to machines and resets of second factors of the dump end: they may be done or canceled since", async (t) => {
    const dataDir = await temporaryFolder(t);
    const database = await testDatabase(t);
    const first = await startWith(t, { database, dataDir });
    const id = await first.upload("source=muhasebe", { a: "1" });
    const { demo, service } = first;
    const agent = await makeAgent(service, demo.account_id, {
      ...{ bearer: { scopes: ["snapshots:write"] }, seed: 1, json: { roots: ["/srv"], allow_overwrite: true } },
    });
    const target = { kind: "agent", agent_id: agent.id, path: "/srv", on_conflict: "overwrite" };
    const { auth } = await signInAs(service, demo);
    const ordered = await service.send("POST", "/v1/restore", { json: { snapshot_id: id, target }, headers: auth });
    assert.equal(ordered.status, 202, ordered.body.toString());
    const member = await tokenFor(service, { as: "member", role: "viewer", accountId: demo.account_id });
    const staff = await tokenFor(service, { as: "staff" });
    const asked = await service.send("POST", `/v1/admin/members/${member.personId}/reset-second-factor`, {
      ...{ json: { reason: "telefon kayıp" }, headers: staff.auth },
    });
    assert.equal(asked.status, 202, asked.body.toString());
    await first.recorded();
    await service.running.stop();
    const yesterday = await testDatabase(t, { copyOf: database });
    await recoverServiceOf(configOf({ database: yesterday, dataDir }), jsonOutput);
    const states = await storedRows(
      yesterday,
      "select state from emanet.restores union all select state from emanet.second_factor_resets",
    );
    assert.deepEqual(states, [{ state: "canceled" }, { state: "canceled" }]);
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
