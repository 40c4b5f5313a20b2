/** What the tests of erasures share. */

import assert from "node:assert/strict";
import type { ObjectStore } from "@emanet/engine/object-store";
import { systemRandom } from "../kernel/clock.ts";
import { createTransactions } from "../kernel/tx.ts";
import { dayMs, hourMs, type RetentionTest, retentionTest } from "../retention/testing.ts";
import { runTask, tarOf } from "../snapshots/testing.ts";
import { type Cleanup, silentLog } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import type { TestService } from "../testing/running.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { vaultBytes } from "../vaults/index.ts";
import { makeVault } from "../vaults/testing.ts";
import { eraseVault } from "./jobs.ts";
import { type ErasureRow, vaultsToErase } from "./store.ts";

export { dayMs, hourMs };

export async function erasureTest(cleanup: Cleanup, settings: Readonly<Record<string, string>> = {}) {
  const env = await retentionTest(cleanup, settings);
  const { accountId, service } = env;
  const [standard] = await env.rows<{ id: string }>(
    "select id from emanet.vaults where account_id = $1 and kind = 'default'",
    [accountId],
  );
  const store: ObjectStore = (await service.running.services?.recovery.openStore()) ?? assert.fail("no store");
  // Tests run the jobs themselves, step by step. In the queue neither upkeep nor retention of a vault runs beside its erasure.
  await env.rows(
    "update emanet.jobs set run_at = 'infinity' where task like 'erasures.%' or task like 'upkeep.%' or task = 'retention.find_vaults_to_apply'",
  );
  const prefixOf = (vaultId: string) => `vaults/${vaultBytes(vaultId).toString("hex")}/`;
  return {
    ...env,
    ...{ store, prefixOf, defaultVault: standard?.id ?? "" },
    /** Uploads into a vault. */
    async backUpInto(
      vaultId: string,
      source: string,
      files: Readonly<Record<string, string>>,
      query = "",
    ): Promise<string> {
      const headers = { ...(await env.client()), "content-type": "application/x-tar" };
      const path = `/v1/snapshots?source=${source}&vault_id=${vaultId}${query}`;
      const sent = await service.send("POST", path, { body: tarOf(files), headers });
      assert.equal(sent.status, 201, sent.body.toString());
      return String(sent.json?.id);
    },
    async newVault(name: string): Promise<string> {
      return makeVault(service, await env.owner(), name);
    },
    /** Orders the deletion of a vault, waits, and expires its snapshots. Returns the act. */
    deleteVault: (vaultId: string) => deleteNow(env, vaultId),
    async closeAccount(): Promise<void> {
      assert.equal((await env.call("POST", "/v1/account/close")).status, 202);
      env.wait(72 * hourMs);
      await env.applyTo(standard?.id ?? "");
      assert.equal((await env.call("GET", "/v1/account")).json?.state, "closed");
    },
    erase: (vaultId: string) => runTask(env, eraseVault, { accountId, vaultId }),
    /** The same with another store in its place. */
    eraseWith: (other: ObjectStore, vaultId: string) =>
      runTask({ service: withStore(service, other) }, eraseVault, { accountId, vaultId }),
    /** The vaults that the finder would enqueue a job for. */
    found: async () => [...(await foundVaults(service, 100))].sort(),
    /** The first of them. */
    firstFound: async () => (await foundVaults(service, 1))[0],
    async objects(vaultId: string): Promise<readonly string[]> {
      const names: string[] = [];
      for await (const { name } of store.list(prefixOf(vaultId))) names.push(name);
      return names;
    },
    erasure: async (vaultId: string) =>
      (await env.rows<ErasureRow>("select * from emanet.erasures where vault_id = $1", [vaultId]))[0],
  };
}

async function foundVaults({ database, clock }: TestService, limit: number): Promise<readonly string[]> {
  const transactions = createTransactions(database.app, clock, systemRandom, silentLog);
  const { signal } = new AbortController();
  const rows = await transactions.read({ signal }, { kind: "system" }, (tx) => vaultsToErase(tx, limit));
  return rows.map(({ vault_id: id }) => id);
}

async function deleteNow(env: RetentionTest, vaultId: string): Promise<string> {
  const ordered = await env.call("DELETE", `/v1/vaults/${vaultId}`);
  assert.equal(ordered.status, 202, ordered.body.toString());
  // A bucket says its time in whole seconds.
  env.wait(72 * hourMs + 5_000);
  await env.applyTo(vaultId);
  // In the queue no prune runs beside an erasure; here the job is called directly.
  await env.rows("delete from emanet.jobs where task = 'snapshots.prune_vault' and worker is null");
  await jobsDone(env.service, "snapshots.prune_vault");
  const [act] = await env.rows("select state from emanet.pending_acts where id = $1", [ordered.json?.id]);
  assert.deepEqual(act, { state: "done" });
  return String(ordered.json?.id);
}

export type ErasureTest = Awaited<ReturnType<typeof erasureTest>>;

function withStore(service: TestService, store: ObjectStore): TestService {
  const { services } = service.running;
  assert.ok(services !== null);
  const recovery = { ...services.recovery, openStore: async () => store };
  const running = { ...service.running, services: { ...services, recovery } };
  return { ...service, running };
}

/** A store that says what it is asked to list, before it does. */
export function tellsLists(store: ObjectStore, told: (prefix: string) => Promise<void>): ObjectStore {
  return {
    ...passedOn(store),
    async *list(prefix, ...more) {
      await told(prefix);
      yield* store.list(prefix, ...more);
    },
  };
}

/** A store whose lists lack some names, as a server does that lags. */
export function hidesInLists(store: ObjectStore, isHidden: (name: string) => boolean): ObjectStore {
  return {
    ...passedOn(store),
    async *list(prefix, ...more) {
      for await (const entry of store.list(prefix, ...more)) if (!isHidden(entry.name)) yield entry;
    },
  };
}

function passedOn(store: ObjectStore): ObjectStore {
  return {
    put: (...call) => store.put(...call),
    get: (...call) => store.get(...call),
    stat: (...call) => store.stat(...call),
    list: (...call) => store.list(...call),
    delete: (...call) => store.delete(...call),
  };
}

/** A store whose process ends at a deletion of an object of a vault: nothing after so many of them is done. */
export function endsAfter(store: ObjectStore, deletions: number): ObjectStore {
  let left = deletions;
  return {
    ...passedOn(store),
    delete: async (name, ...more) => {
      if (name.startsWith("vaults/") && left-- <= 0) throw new Error("the process ends here");
      await store.delete(name, ...more);
    },
  };
}

/** Tables with a row that has the word, in clear or in bytes. Jobs and answers of idempotency live for hours and days. */
export async function tablesWith(
  { database }: Pick<TestService, "database">,
  word: string,
): Promise<readonly string[]> {
  const tables = await storedRows<{ name: string }>(
    database,
    `select table_name as name from information_schema.tables where table_schema = 'emanet' and table_type = 'BASE TABLE'
     and table_name not in ('jobs', 'idempotency_keys')`,
  );
  const found: string[] = [];
  const hex = Buffer.from(word).toString("hex");
  for (const { name } of tables) {
    const query = `select 1 from emanet."${name}" t where to_jsonb(t)::text like $1 or to_jsonb(t)::text like $2 limit 1`;
    if ((await storedRows(database, query, [`%${word}%`, `%${hex}%`])).length > 0) found.push(name);
  }
  return found;
}
