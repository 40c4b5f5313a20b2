import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Catalog, CatalogError } from "@emanet/engine/catalog";
import { playActors } from "@emanet/engine/testing";
import { sql } from "kysely";
import { openPools } from "../kernel/database/pool.ts";
import { Problem } from "../kernel/problems.ts";
import { inReverse } from "../testing/cleanup.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { scaled } from "../testing/scale.ts";
import { gatedTransactions, type Rewrite, StatementScheduler } from "./testing/statement-scheduler.ts";
import { makeVault, openCatalog, type TestVault, testContext, testTransactions } from "./testing/vaults.ts";

/** More than there are actors: one that waits for a connection would look as if it ran. */
const connections = 16;

const cleanup = inReverse({ after });
const { target, owner } = await testDatabase(cleanup);
const pools = await openPools({ target, log: silentLog, appConnections: connections });
cleanup.after(() => pools.close());
const transactions = testTransactions(pools.app);

async function countBlocked(): Promise<number> {
  const { rows } = await owner.query<{ n: number }>(
    "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows[0]?.n ?? 0;
}

/** Rows that only running uploads have. */
async function leftovers({ accountId, vaultId }: TestVault): Promise<unknown> {
  return transactions.run(testContext, { kind: "account", accountId }, async (tx) => {
    await sql`select use_vault(${vaultId})`.execute(tx.db);
    const { rows } = await sql`
      select (select count(*) from catalog_uploads) as uploads, (select count(*) from catalog_pins) as pins,
        (select count(*) from catalog_held) as held, (select count(*) from catalog_reservations) as reservations`.execute(
      tx.db,
    );
    return rows[0];
  });
}

interface Bug {
  readonly rewrite?: Rewrite;
  readonly break?: (catalog: Catalog) => Catalog;
}

/** Runs one interleaving; throws when it loses something, leaves something or fails an upload. Returns the number of turns. */
async function interleave(seed: number, { rewrite, break: broken = (catalog) => catalog }: Bug = {}): Promise<number> {
  const vault = await makeVault(transactions);
  const scheduler = new StatementScheduler(seed, countBlocked);
  const process = () => broken(openCatalog(gatedTransactions(transactions, scheduler, rewrite), vault));
  const check = openCatalog(transactions, vault);
  await playActors(seed, { check, a: process(), b: process(), leasesEnd: true }, (actors) => scheduler.run(actors));
  await check.expireUploads(Number.MAX_SAFE_INTEGER);
  assert.deepEqual(await leftovers(vault), { uploads: 0, pins: 0, held: 0, reservations: 0 });
  return scheduler.turns;
}

test("uploads, deletions, prune, repack and expiry interleave at every statement: nothing is lost, left over or deadlocked", async (t) => {
  let turns = 0;
  const seeds = scaled(15, 3_000);
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      turns += await interleave(seed);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  t.diagnostic(`${seeds} interleavings, ${turns} statements`);
});

/** Replaces a part of statements; the part must be in one. */
const replacing =
  (part: string | RegExp, by = ""): Rewrite =>
  (text) =>
    text.replace(part, by);

/** Does not send statements that begin like this. */
const skipping =
  (start: RegExp): Rewrite =>
  (text) =>
    start.test(text.trim()) ? null : text;

/** Returns a revision that is later than the bitmaps. */
const tornRoots = (catalog: Catalog): Catalog => {
  let early: readonly Uint8Array[] = [];
  return new Proxy(catalog, {
    get: (target, name) => {
      if (name === "revision")
        return async () => {
          early = await Array.fromAsync(target.allReach());
          return target.revision();
        };
      if (name === "allReach")
        return async function* () {
          yield* early;
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
};

/** `heavy`: few interleavings show it. */
const bugs: Readonly<Record<string, Bug & { readonly heavy?: true }>> = {
  "without the lock of the vault": { rewrite: skipping(/^select pg_advisory_xact_lock/) },
  "removals with a shared lock": { rewrite: replacing("xact_lock(", "xact_lock_shared(") },
  "answers without pins": { rewrite: skipping(/^insert into catalog_pins/), heavy: true },
  "condemned packs stay condemned": { rewrite: skipping(/^update catalog_packs set state = 'live'/), heavy: true },
  "nothing raises the revision": { rewrite: skipping(/^update catalogs set revision = revision \+ 1/), heavy: true },
  "a replaced recipe pins nothing": {
    rewrite: replacing(/^\s*select session from catalog_uploads where vault = \$1/, "$& and false"),
    heavy: true,
  },
  "an upload may end within its step": { rewrite: replacing("for key share of u"), heavy: true },
  "the base of an upload may go while it begins": { rewrite: replacing(/for key share$/), heavy: true },
  "the revision is read after the bitmaps": { break: tornRoots, heavy: true },
};

/** What a bug may lead to: something lost or left over, a refused upload, a deadlock. Not a wrong statement of this test. */
function isFinding(error: unknown): boolean {
  if (error instanceof Problem)
    return error.cause instanceof Error && "code" in error.cause && error.cause.code === "40P01";
  // A marking names an item that was lost before the check at the end does.
  const isLoss = error instanceof Error && error.name === "IncompleteCatalogError";
  return isLoss || error instanceof assert.AssertionError || error instanceof CatalogError;
}

describe("the same simulation finds a bug", () => {
  const seeds = scaled(20, 3_000);
  const isHeavy = scaled(0, 1) === 1;
  for (const [name, { heavy = false, ...bug }] of Object.entries(bugs)) {
    test(name, { skip: heavy && !isHeavy }, async (t) => {
      for (let seed = 1; seed <= seeds; seed++) {
        try {
          await interleave(seed, bug);
        } catch (error) {
          if (!isFinding(error)) throw error;
          t.diagnostic(`seed ${seed}: ${String(error).slice(0, 100)}`);
          return;
        }
      }
      assert.fail(`no seed up to ${seeds} finds it`);
    });
  }
});
