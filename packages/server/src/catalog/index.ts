/**
 * The catalog on PostgreSQL: the engine's port `Catalog`, for one vault of one account. It owns the tables `catalogs` and
 * `catalog_*` (migration 0018), which nobody else reads or writes.
 *
 * Always true:
 * - A transaction sees the rows of one vault, chosen under the row access of its account.
 * - Every change of a vault is one transaction under the lock of the vault; what listeners of other domains change is in it.
 * - Any process may do any step. What a killed process has not committed has not happened.
 */

import type { Catalog } from "@emanet/engine/catalog";
import { drawNumber } from "@emanet/engine/catalog";
import type { Random } from "../kernel/clock.ts";
import type { Transactions, Tx, TxContext } from "../kernel/tx.ts";
import type { CatalogListeners } from "./listeners.ts";
import { PostgresCatalog } from "./postgres-catalog.ts";
import { insertCatalog, type KnownVault } from "./vault-store.ts";

export type { CatalogListeners } from "./listeners.ts";
export { holdUpload } from "./upload-store.ts";
export type { KnownVault } from "./vault-store.ts";

export interface CatalogOptions {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly accountId: string;
  readonly vaultId: string;
  readonly listeners?: CatalogListeners | undefined;
  /** For whom listeners act, and what ends the steps. If absent the service itself acts, and nothing ends a step. */
  readonly context?: TxContext | undefined;
  /** What catalogs of the same vault share: nothing is asked twice that never changes. */
  readonly known?: KnownVault | undefined;
}

/** Opens the catalog of a vault. Nothing is read before the first step. */
export function postgresCatalog({ random, listeners = {}, context = ofService, ...of }: CatalogOptions): Catalog {
  return new PostgresCatalog({ ...of, context }, engineContext(random), listeners);
}

const ofService: TxContext = {
  actor: { kind: "system" },
  context: {},
  signal: new AbortController().signal,
};

/** Makes the row of a new vault's catalog; in the transaction that makes the vault. */
export async function createCatalogRow(
  tx: Pick<Tx, "db">,
  { accountId, vaultId, random }: Pick<CatalogOptions, "accountId" | "vaultId" | "random">,
): Promise<void> {
  await insertCatalog(tx, { accountId, vaultId, catalogId: drawNumber(engineContext(random)) });
}

function engineContext(random: Random) {
  // A catalog draws numbers and asks for no time: its callers give it.
  return { now: () => 0, random: (length: number) => random.bytes(length) };
}
