import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Catalog } from "@emanet/engine/catalog";
import { begin, frameRow, itemRow, snapshotOf, unitOf } from "@emanet/engine/testing";
import { type RawBuilder, sql } from "kysely";
import { readSchema } from "../kernel/database/schema.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { Tx } from "../kernel/tx.ts";
import { testDatabase } from "../testing/database.ts";
import { vaultTables } from "./scan-store.ts";
import { makeVault, openCatalog, type TestVault, testContext, testTransactions } from "./testing/vaults.ts";

const { app, owner } = await testDatabase({ after });
const transactions = testTransactions(app);

/** A vault with rows in every table. */
async function fullVault(accountId?: string): Promise<TestVault & { readonly catalog: Catalog }> {
  const vault = await makeVault(transactions, accountId);
  const catalog = openCatalog(transactions, vault);
  await begin(catalog, "u1");
  await catalog.addUnit("u1", 1, unitOf("p1", [frameRow(10, "p1")], [itemRow(1, 10)]));
  await catalog.commit("u1", 1, snapshotOf("s1", [1]));
  await catalog.beginUpload({ upload: "u2", owner: "a", leaseUntil: 1000, base: "s1", ordinals: 5 });
  await catalog.addUnit("u2", 1, unitOf("p2", [frameRow(20, "p2")], [itemRow(2, 20)]), 1);
  await catalog.setDamaged([{ frame: 10, pack: "p1", generation: 0 }], true);
  await catalog.revokeWriter("w", 3);
  return { ...vault, catalog };
}

const alice = await fullVault();
const secondOfAlice = await fullVault(alice.accountId);
const bob = await fullVault();

const accountOf = ({ accountId }: TestVault): RowAccess => ({ kind: "account", accountId });
const useVault = ({ vaultId }: TestVault) => sql<{ vault: number }>`select use_vault(${vaultId}) as vault`;

/** The number of rows that a transaction sees in each table without saying whose. */
async function seen(tx: Pick<Tx, "db">): Promise<number[]> {
  const counts = await Promise.all(
    vaultTables.map((table) => sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(tx.db)),
  );
  return counts.map(({ rows }) => rows[0]?.n ?? -1);
}

async function run<T>(query: RawBuilder<T>, tx: Pick<Tx, "db">): Promise<T[]> {
  return (await query.execute(tx.db)).rows;
}

const nothing = vaultTables.map(() => 0);
const ofOneVault = await transactions.run(testContext, accountOf(alice), async (tx) => {
  await run(useVault(alice), tx);
  return seen(tx);
});

describe("a transaction sees the rows of the vault that it has chosen", () => {
  test("every table has rows of the vault, and the rows of the others are not among them", async () => {
    assert.ok(
      ofOneVault.every((n) => n > 0),
      String(ofOneVault),
    );
    await transactions.run(testContext, accountOf(alice), async (tx) => {
      const [chosen] = await run(useVault(alice), tx);
      for (const table of vaultTables) {
        const vaults = await run(sql<{ vault: number }>`select distinct vault from ${sql.table(table)}`, tx);
        assert.deepEqual(vaults, [chosen], table);
      }
      assert.deepEqual(await seen(tx), ofOneVault);
    });
  });

  test("without a chosen vault it sees nothing, whatever its row access is", async () => {
    const system: RowAccess = { kind: "system" };
    for (const access of [accountOf(alice), system, { kind: "platform" } as const, { kind: "staff" } as const]) {
      assert.deepEqual(await transactions.run(testContext, access, seen), nothing, access.kind);
    }
    const client = await app.connect();
    await client.query("select set_config('emanet.vault', '1', false)");
    const { rows } = await client.query("select * from catalog_items");
    client.release(true);
    assert.deepEqual(rows, [], "without any row access");
  });

  test("the choice ends with the transaction, and with its row access", async () => {
    await transactions.run(testContext, accountOf(alice), async (tx) => {
      await run(useVault(alice), tx);
      await tx.within(accountOf(bob), async (inner) => assert.deepEqual(await seen(inner), nothing));
      await tx.within({ kind: "system" }, async (inner) => assert.deepEqual(await seen(inner), nothing));
      assert.deepEqual(await seen(tx), ofOneVault);
    });
    // More often than there are connections: each of them has been used before.
    for (let i = 0; i < 12; i++) assert.deepEqual(await transactions.run(testContext, accountOf(alice), seen), nothing);
  });

  test("a deletion or a change that forgets the vault leaves the others as they are", async () => {
    const victim = await fullVault(alice.accountId);
    await transactions.run(testContext, accountOf(victim), async (tx) => {
      await run(useVault(victim), tx);
      for (const table of vaultTables) await run(sql`delete from ${sql.table(table)}`, tx);
      assert.deepEqual(await seen(tx), nothing);
    });
    for (const vault of [alice, secondOfAlice, bob]) {
      const kept = await transactions.run(testContext, accountOf(vault), async (tx) => {
        await run(useVault(vault), tx);
        return seen(tx);
      });
      assert.deepEqual(kept, ofOneVault);
    }
  });

  test("no row can be written into another vault", async () => {
    const write = transactions.run(testContext, accountOf(alice), async (tx) => {
      const [other] = await run(useVault(secondOfAlice), tx);
      await run(useVault(alice), tx);
      await run(sql`insert into catalog_units (vault, session, number) values (${other?.vault}, 1, 1)`, tx);
    });
    await assert.rejects(write, /row-level security/);
  });
});

describe("the vault of another account", () => {
  test("cannot be chosen, nor one that does not exist, nor any without row access to an account", async () => {
    const missing = { ...alice, vaultId: alice.accountId };
    for (const [access, vault] of [
      [accountOf(alice), bob],
      [accountOf(alice), missing],
      [{ kind: "system" }, alice],
      [{ kind: "staff" }, alice],
    ] as const) {
      await assert.rejects(
        transactions.run(testContext, access, (tx) => run(useVault(vault), tx)),
        /no catalog of this vault/,
      );
    }
  });

  test("no step of its catalog works, and nothing of it is read", async () => {
    const foreign = openCatalog(transactions, { accountId: alice.accountId, vaultId: bob.vaultId });
    for (const step of [
      () => foreign.snapshotPage(),
      () => foreign.revision(),
      () => foreign.acquire("u2", []),
      () => begin(foreign, "u9"),
      () => Array.fromAsync(foreign.allItems()),
    ])
      await assert.rejects(step, /no catalog of this vault/);
    assert.equal((await bob.catalog.snapshotPage()).length, 1);
  });
});

test("every table of the catalog is in the list of those that a vault is cleared by, with forced row-level security", async () => {
  const { relations } = await readSchema(owner);
  const tables = relations.filter(({ name, kind }) => kind === "table" && name.startsWith("catalog_"));
  assert.deepEqual(tables.map(({ name }) => name).sort(), [...vaultTables].sort());
  for (const { name, rowSecurity, rowSecurityForced, policies } of tables)
    assert.deepEqual([rowSecurity, rowSecurityForced, policies.length], [true, true, 1], name);
});

test("a cleared vault is empty, and the others are as they were", async () => {
  const { catalog, ...vault } = await fullVault(bob.accountId);
  await catalog.clear({ now: () => 0, random: (length) => Buffer.alloc(length, 7) });
  for (const [of, expected] of [
    [vault, nothing],
    [bob, ofOneVault],
    [alice, ofOneVault],
  ] as const) {
    const found = await transactions.run(testContext, accountOf(of), async (tx) => {
      await run(useVault(of), tx);
      return seen(tx);
    });
    assert.deepEqual(found, expected);
  }
  assert.equal((await begin(catalog, "u1")).catalogId, 0x070707070707);
});
