/** Catalogs on the database of a test. */

import { randomUUID } from "node:crypto";
import type { Catalog } from "@emanet/engine/catalog";
import type pg from "pg";
import { systemRandom } from "../../kernel/clock.ts";
import { createTransactions, type Transactions, type TxContext } from "../../kernel/tx.ts";
import { testClock } from "../../testing/clock.ts";
import { silentLog } from "../../testing/database.ts";
import { type CatalogListeners, createCatalogRow, postgresCatalog } from "../index.ts";

/** The context of steps that tests take themselves. */
export const testContext: TxContext = {
  actor: { kind: "system" },
  context: {},
  signal: new AbortController().signal,
};

export interface TestVault {
  readonly accountId: string;
  readonly vaultId: string;
}

export function testTransactions(app: pg.Pool): Transactions {
  return createTransactions(app, testClock(), systemRandom, silentLog);
}

/** Makes an empty vault, of a new account if none is given. */
export async function makeVault(transactions: Transactions, accountId: string = randomUUID()): Promise<TestVault> {
  const vault = { accountId, vaultId: randomUUID() };
  await transactions.run(testContext, { kind: "account", accountId }, (tx) =>
    createCatalogRow(tx, { ...vault, random: systemRandom }),
  );
  return vault;
}

export function openCatalog(transactions: Transactions, vault: TestVault, listeners?: CatalogListeners): Catalog {
  return postgresCatalog({ transactions, random: systemRandom, ...vault, listeners });
}
