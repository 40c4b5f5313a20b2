/**
 * An account was closed and erased today, and the database is a dump of before: `recover` does not bring it back to life, its names are gone, and every
 * other account is as it was.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { eraseAccounts, proofsReadableMs } from "../../packages/server/src/audit/erase-accounts.ts";
import { recoverServiceOf } from "../../packages/server/src/commands.ts";
import { readConfig } from "../../packages/server/src/config.ts";
import { checkErased, eraseVault } from "../../packages/server/src/erasures/jobs.ts";
import { dayMs, endsAfter, erasureTest, hourMs, tablesWith } from "../../packages/server/src/erasures/testing.ts";
import { listRecords } from "../../packages/server/src/recovery/account-record.ts";
import { beatStore, writeRecords } from "../../packages/server/src/recovery/write-records.ts";
import { applyRetention } from "../../packages/server/src/retention/apply.ts";
import { runTask, tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { type Cleanup, type TestDatabase, testDatabase } from "../../packages/server/src/testing/database.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService, type TestService } from "../../packages/server/src/testing/running.ts";

const word = "gizlikelime";
const settings = {
  EMANET_LIMIT_SNAPSHOTS_CREATE: "10000/60",
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "10000/60",
};

interface Outcome {
  readonly whole: boolean;
  readonly damaged_records: readonly string[];
  readonly lost_vaults: readonly { readonly vault_id: string; readonly account_id: string }[];
  readonly vaults: readonly { readonly account_id: string }[];
}

async function recovered({ target }: TestDatabase, dataDir: string): Promise<Outcome> {
  const host = encodeURIComponent(target.host);
  const config = readConfig({
    EMANET_PROFILE: "sandbox",
    EMANET_DATA_DIR: dataDir,
    EMANET_LOG_LEVEL: "silent",
    EMANET_DATABASE_URL: `postgres://${target.user}@localhost:${target.port}/${target.database}?host=${host}`,
  });
  return JSON.parse((await recoverServiceOf(config, { json: true, say: () => undefined })).text) as Outcome;
}

const as = async (service: TestService, accountId: string, personId?: string) =>
  (await tokenFor(service, personId === undefined ? { accountId, role: "owner" } : { accountId, personId })).auth;

async function upload(
  service: TestService,
  accountId: string,
  source: string,
  files: Readonly<Record<string, string>>,
) {
  const headers = { ...(await as(service, accountId)), "content-type": "application/x-tar" };
  const path = `/v1/snapshots?source=${source}&label=${source}`;
  const sent = await service.send("POST", path, { body: tarOf(files), headers });
  assert.equal(sent.status, 201, sent.body.toString());
  return String(sent.json?.id);
}

async function read(service: TestService, accountId: string, id: string): Promise<string> {
  const headers = await as(service, accountId);
  return (await service.send("GET", `/v1/snapshots/${id}/files/f`, { headers })).body.toString();
}

/** Two accounts with snapshots, a dump of that day, and a service that goes on with the database. */
async function prepared(cleanup: Cleanup) {
  const env = await erasureTest(cleanup);
  const { accountId: closing, service: first, vaultId, defaultVault } = env;
  const { accountId: other } = await tokenFor(first, { role: "owner" });
  assert.ok(other !== null);
  const lost = await upload(first, closing, `kaynak-${word}`, { f: "kapanan" });
  await env.backUpInto(vaultId, `ikinci-${word}`, { f: "kapanan" }, `&label=${word}`);
  const kept = await upload(first, other, "defter", { f: "dün" });
  await env.rows("update emanet.people set full_name = $2 where account_id = $1", [closing, `Ada ${word}`]);
  for (const task of [writeRecords, beatStore]) await runTask(env, task, {});
  const { dataDir, clock, database } = first;
  await first.running.stop();
  const yesterday = await testDatabase(cleanup, { copyOf: database });
  const service = await startTestService(cleanup, { database, dataDir, clock, settings });
  await storedRows(
    database,
    "update emanet.jobs set run_at = 'infinity' where task like 'erasures.%' or task = 'audit.erase_accounts'",
  );
  const headers = await as(service, closing);
  assert.equal((await service.send("POST", "/v1/account/close", { headers })).status, 202);
  clock.advance(72 * hourMs);
  await runTask({ service }, applyRetention, { accountId: closing, vaultId: defaultVault });
  clock.advance(90 * dayMs);
  return { env, service, yesterday, closing, other, lost, kept, vaultId, defaultVault };
}

test("an erased account stays erased with an older dump: nothing is read, no name is back, its people stay out, and others lose nothing", async (t) => {
  const cleanup = inReverse(t);
  const { service, yesterday, closing, other, lost, kept, vaultId, defaultVault } = await prepared(cleanup);
  for (const id of [vaultId, defaultVault]) await runTask({ service }, eraseVault, { accountId: closing, vaultId: id });
  service.clock.advance(proofsReadableMs);
  await runTask({ service }, eraseAccounts, {});
  assert.deepEqual(await tablesWith(service, word), []);
  const fresh = await upload(service, other, "yeni", { f: "bugün" });
  for (const task of [writeRecords, beatStore, beatStore]) await runTask({ service }, task, {});
  await service.running.stop();

  assert.ok((await tablesWith({ database: yesterday }, word)).length > 2, "the dump has names");
  const { dataDir, clock } = service;
  await assert.rejects(startTestService(cleanup, { database: yesterday, dataDir, clock, settings }), {
    code: "database_older_than_store",
  });
  const outcome = await recovered(yesterday, dataDir);
  assert.deepEqual([outcome.whole, outcome.lost_vaults], [true, []]);
  assert.ok(outcome.vaults.every(({ account_id: id }) => id !== closing));
  assert.deepEqual(await tablesWith({ database: yesterday }, word), []);
  const again = await startTestService(cleanup, { database: yesterday, dataDir, clock, settings });
  const people = await storedRows<{ state: string }>(
    yesterday,
    "select distinct state from emanet.people where account_id = $1",
    [closing],
  );
  assert.deepEqual(people, [{ state: "removed" }]);
  assert.deepEqual(
    await storedRows(
      yesterday,
      "select from emanet.credentials c join emanet.people p on p.id = c.person_id where p.account_id = $1",
      [closing],
    ),
    [],
  );
  const shown = await storedRows(
    yesterday,
    "select state, proof is not null as proved from emanet.erasures where account_id = $1",
    [closing],
  );
  assert.deepEqual(shown, [
    { state: "erased", proved: true },
    { state: "erased", proved: true },
  ]);
  // Even somebody who is made an owner again reads nothing.
  const headers = await as(again, closing);
  assert.equal((await again.send("GET", `/v1/snapshots/${lost}/files/f`, { headers })).status, 404);
  assert.equal((await again.send("GET", "/v1/account", { headers })).json?.state, "closed");
  assert.deepEqual([await read(again, other, kept), await read(again, other, fresh)], ["dün", "bugün"]);
  await upload(again, other, "defter2", { f: "yarın" });
  await runTask({ service: again }, checkErased, {});
  await runTask({ service: again }, eraseAccounts, {});
  assert.deepEqual(await tablesWith(again, word), []);
});

test("an erasure that the dump does not know, with its record damaged: the vault is named, and the others come back", async (t) => {
  const cleanup = inReverse(t);
  const { env, service, yesterday, closing, other, kept, vaultId } = await prepared(cleanup);
  const { services } = service.running;
  assert.ok(services !== null);
  const recovery = { ...services.recovery, openStore: async () => endsAfter(env.store, 6) };
  const killed = { ...service, running: { ...service.running, services: { ...services, recovery } } };
  await assert.rejects(runTask({ service: killed }, eraseVault, { accountId: closing, vaultId }), /ends here/);
  const fresh = await upload(service, other, "yeni", { f: "bugün" });
  for (const task of [writeRecords, beatStore, beatStore]) await runTask({ service }, task, {});
  await service.running.stop();
  for (const { name } of (await listRecords(env.store, closing)).get(closing) ?? [])
    await env.store.put(name, Buffer.from("damaged"));
  const { dataDir, clock } = service;
  const outcome = await recovered(yesterday, dataDir);
  assert.equal(outcome.whole, false);
  assert.deepEqual(
    outcome.lost_vaults.map(({ vault_id: id }) => id),
    [vaultId],
  );
  assert.equal(outcome.damaged_records.length, 1);
  const again = await startTestService(cleanup, { database: yesterday, dataDir, clock, settings });
  assert.deepEqual([await read(again, other, kept), await read(again, other, fresh)], ["dün", "bugün"]);
});
