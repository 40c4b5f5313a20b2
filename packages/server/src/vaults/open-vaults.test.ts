import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { MemoryCatalog, openVault } from "@emanet/engine";
import type { ObjectStore } from "@emanet/engine/object-store";
import { MemoryStore } from "@emanet/storage";
import { FaultyStore, StoreCrash } from "@emanet/storage/testing";
import { systemRandom } from "../kernel/clock.ts";
import { migrate, readMigrations } from "../kernel/database/migrate.ts";
import { createSecrets } from "../kernel/secrets.ts";
import { localMasterKey, openRootKey } from "../keys/index.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { nameOrder } from "./name-order.ts";
import { vaultBytes } from "./open-vaults.ts";
import { vaultEnvironment } from "./testing.ts";

/** The number of the migration that makes the tables of vaults. */
const vaultsMigration = 19;

const environment = await vaultEnvironment({ after });
const { store, openProcess, newAccount, rows, sources } = environment;

async function objectsOf(vaultId: string, of = store): Promise<string[]> {
  const names: string[] = [];
  const prefix = `vaults/${vaultId.replaceAll("-", "")}/`;
  for await (const { name } of of.list(prefix)) names.push(name.slice(prefix.length));
  return names;
}

describe("the default vault", () => {
  test("exists with every account, in its language, with a UUIDv7 of the account's time", async () => {
    const { accountId, vaultId } = await newAccount();
    const [vault] = await rows<Record<string, unknown>>("select * from emanet.vaults where account_id = $1", [
      accountId,
    ]);
    assert.deepEqual([vault?.name, vault?.kind, vault?.keys_made_at], ["Varsayılan", "default", null]);
    assert.equal(Number.parseInt(vaultId.replaceAll("-", "").slice(0, 12), 16), environment.clock.now().getTime());
    assert.match(vaultId, /^.{14}7.{4}[89ab]/);
  });

  test("is sorted by its name in both languages as the application would sort it", async () => {
    await newAccount("tr");
    await newAccount("en");
    const found = await rows<{ name: string; name_order: string }>("select name, name_order from emanet.vaults");
    assert.deepEqual([...new Set(found.map(({ name }) => name))].sort(), ["Default", "Varsayılan"]);
    for (const { name, name_order } of found) assert.equal(name_order, nameOrder(name));
  });
});

test("accounts from before there were vaults get their default vault by the migration", async (t) => {
  const { owner } = await testDatabase(t, { empty: true });
  const all = await readMigrations();
  const before = all.filter(({ number }) => number < vaultsMigration);
  await migrate({ owner, log: silentLog, migrations: before });
  const inScope = async (text: string) => {
    const [, , { rows: found = [] } = {}] = (await owner.query(
      `begin; set local emanet.scope = 'system'; ${text}; commit`,
    )) as unknown as { rows: Record<string, unknown>[] }[];
    return found;
  };
  await inScope(`insert into emanet.accounts
      (id, kind, name, tax_id, package, state, language, state_changed_at, created_at, updated_at)
    select gen_random_uuid(), 'company', 'Test', '1234567808', 'starter', 'active', 'en', now(), now(), now()
    from generate_series(1, 3)`);
  await migrate({ owner, log: silentLog });
  const found = await inScope("select account_id, name, kind from emanet.vaults");
  assert.equal(new Set(found.map(({ account_id }) => account_id)).size, 3);
  for (const { name, kind } of found) assert.deepEqual([name, kind], ["Default", "default"]);
});

describe("an open vault", () => {
  test("is made by its first use and found again by another process, with the same keys", async () => {
    const { accountId, vaultId } = await newAccount();
    const first = await (await openProcess()).open(accountId, vaultId);
    assert.deepEqual(await objectsOf(vaultId), ["chain/000000000001", "keys/00000001", "keys/00000001.copy"]);
    const second = await (await openProcess()).open(accountId, vaultId);
    assert.deepEqual(second.keys.blockIdKey, first.keys.blockIdKey);
    assert.deepEqual(await second.catalog.chainHead(), await first.catalog.chainHead());
    assert.equal((await first.catalog.chainHead()).sequence, 1);
  });

  test("is one and the same for all who open it at once, in several processes", async () => {
    const { accountId, vaultId } = await newAccount();
    const processes = await Promise.all([openProcess(), openProcess(), openProcess()]);
    const opened = await Promise.all([...processes, ...processes].map((one) => one.open(accountId, vaultId)));
    const keys = new Set(opened.map(({ keys: { blockIdKey } }) => Buffer.from(blockIdKey).toString("hex")));
    assert.equal(keys.size, 1);
    assert.deepEqual(await objectsOf(vaultId), ["chain/000000000001", "keys/00000001", "keys/00000001.copy"]);
    const [object, copy] = ["keys/00000001", "keys/00000001.copy"].map((name) => store.get(nameOf(vaultId, name)));
    assert.deepEqual(await object, await copy, "scrub compares the two");
    assert.equal(await processes[0]?.open(accountId, vaultId), opened[0], "opened once per process");
  });

  test("has one set of keys also when two processes have both found none", async () => {
    const { accountId, vaultId } = await newAccount();
    const both = Promise.withResolvers<void>();
    let asked = 0;
    const waiting: ObjectStore = {
      put: (name, body, options) => store.put(name, body, options),
      get: (name, options) => store.get(name, options),
      list: (prefix, options) => store.list(prefix, options),
      delete: (name, options) => store.delete(name, options),
      async stat(name, options) {
        const found = await store.stat(name, options);
        if (name !== nameOf(vaultId, "keys/00000001.copy")) return found;
        if (++asked === 2) both.resolve();
        await both.promise;
        return found;
      },
    };
    const processes = await Promise.all([openProcess(waiting), openProcess(waiting)]);
    const [one, other] = await Promise.all(processes.map((each) => each.open(accountId, vaultId)));
    assert.deepEqual(one?.keys, other?.keys);
    assert.equal(asked, 2);
    assert.deepEqual(await objectsOf(vaultId), ["chain/000000000001", "keys/00000001", "keys/00000001.copy"]);
  });

  test("is whole after a process that ended at any step of making it", async () => {
    const inner = store;
    // The check of the store at the start makes two calls.
    const begin = 2;
    for (let step = 1, crashed = true; crashed; step++) {
      for (const when of ["before", "after"] as const) {
        const { accountId, vaultId } = await newAccount();
        const faulty = new FaultyStore(inner, ({ number }) =>
          number === begin + step ? { kind: "crash", when } : null,
        );
        const ended = await openProcess(faulty).then((vaults) =>
          vaults.open(accountId, vaultId).catch((error) => error),
        );
        crashed = ended instanceof StoreCrash;
        const left = await objectsOf(vaultId, inner);
        const key = left.includes("keys/00000001") ? await inner.get(nameOf(vaultId, "keys/00000001")) : null;
        const vault = await (await openProcess(inner)).open(accountId, vaultId);
        assert.deepEqual(
          await objectsOf(vaultId, inner),
          ["chain/000000000001", "keys/00000001", "keys/00000001.copy"],
          `step ${step} ${when}`,
        );
        if (key !== null) assert.deepEqual(await inner.get(nameOf(vaultId, "keys/00000001")), key, "no second keys");
        assert.equal((await vault.chain.read()).head.sequence, 1);
      }
      assert.ok(step < 30, "the faults end");
    }
  });

  test("gets no new keys when its key objects are gone", async () => {
    const { accountId, vaultId } = await newAccount();
    await (await openProcess()).open(accountId, vaultId);
    for (const name of ["keys/00000001", "keys/00000001.copy"]) await store.delete(nameOf(vaultId, name));
    await assert.rejects((await openProcess()).open(accountId, vaultId), { name: "FormatError" });
    assert.deepEqual(await objectsOf(vaultId), ["chain/000000000001"]);
  });

  test("404: is not opened for another account", async () => {
    const [mine, other] = [await newAccount(), await newAccount()];
    const vaults = await openProcess();
    await vaults.open(mine.accountId, mine.vaultId);
    await assert.rejects(vaults.open(other.accountId, mine.vaultId), { code: "not_found" });
    assert.deepEqual(await objectsOf(other.vaultId), []);
  });

  test("has a wrapping key of its own: that of another vault does not open it", async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    const vault = await (await openProcess()).open(one.accountId, one.vaultId);
    const access = { ctx: vault.ctx, store, catalog: vault.catalog };
    const opens = (vaultId: string) =>
      openVault(access, sources.secrets.digest("vault-keys", vaultId), vaultBytes(one.vaultId));
    assert.deepEqual((await opens(one.vaultId)).keys.blockIdKey, vault.keys.blockIdKey);
    await assert.rejects(opens(other.vaultId), { name: "FormatError" });
  });

  test("503: a store that does not answer is tried again by the next use", async () => {
    const { accountId, vaultId } = await newAccount();
    let down = false;
    const faulty = new FaultyStore(store, () => (down ? { kind: "fail", code: "unavailable" } : null));
    const vaults = await openProcess(faulty);
    down = true;
    await assert.rejects(vaults.open(accountId, vaultId), { code: "unavailable" });
    down = false;
    await vaults.open(accountId, vaultId);
  });
});

describe("the store of a service", () => {
  test("opens every vault with the master key alone, when the database is lost", async (t) => {
    const { accountId, vaultId } = await newAccount();
    const vault = await (await openProcess()).open(accountId, vaultId);
    const { owner } = await testDatabase(t);
    const masterKey = localMasterKey(Buffer.alloc(32, 1), systemRandom);
    const empty = { owner, clock: environment.clock, random: systemRandom, openStore: async () => store };
    const { digest } = createSecrets(await openRootKey(empty, masterKey), systemRandom);
    const access = { ctx: vault.ctx, store, catalog: new MemoryCatalog(vault.ctx) };
    const found = await openVault(access, digest("vault-keys", vaultId), vaultBytes(vaultId));
    assert.deepEqual(found.keys, vault.keys);
  });

  test("an empty one is refused once the database has vaults with keys, and nothing is written to it", async () => {
    const { accountId, vaultId } = await newAccount();
    await (await openProcess()).open(accountId, vaultId);
    const empty = new MemoryStore();
    await assert.rejects(openProcess(empty), { code: "storage_of_another_service" });
    for await (const { name } of empty.list("")) assert.fail(name);
  });
});

function nameOf(vaultId: string, name: string): string {
  return `vaults/${vaultId.replaceAll("-", "")}/${name}`;
}
