/**
 * `rebuild-index`: makes the rows of a lost database again from the object store and the master key. Steps:
 * 1. The platform and each account that the database does not have come back from their records.
 * 2. The catalog of each vault is made from its chain, manifests and packs, and the rows of its snapshots from these.
 * A vault whose erasure has begun is left to it. An account that exists is not changed; with a vault named, only that vault is. Other vaults are served meanwhile.
 */

import { ChainMismatchError, rebuild } from "@emanet/engine";
import type { ObjectStore } from "@emanet/engine/object-store";
import type { Pool } from "pg";
import type { Clock, Random } from "../kernel/clock.ts";
import type { Secrets } from "../kernel/secrets.ts";
import { StartError } from "../kernel/start-error.ts";
import type { Transactions } from "../kernel/tx.ts";
import { allVaults, type Vaults, vaultBytes } from "../vaults/index.ts";
import { type AccountRecord, listRecords, type RecordPlace, readRecord } from "./account-record.ts";
import { applyRecord } from "./apply-store.ts";
import { ofService, raiseBeat, readStoreBeat } from "./beat.ts";
import { type LostVault, RebuiltVaults, type VaultPlace, type VaultResult } from "./rebuild-vault.ts";
import { knownGeneration, skipGenerations } from "./record-store.ts";

export interface RecoveryParts {
  readonly owner: Pool;
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly vaults: Vaults;
  readonly store: ObjectStore;
  /** Deletes the names that an older database still has of an erased vault (`erasures`). */
  readonly eraseRows: (place: VaultPlace) => Promise<void>;
  /** Called while a vault is read, about every pack. */
  readonly onProgress?: ((progress: { readonly vaultId: string; readonly packs: number }) => void) | undefined;
}

export interface RebuildResult {
  /** Accounts that came back from their records. */
  readonly accounts: number;
  readonly vaults: readonly VaultResult[];
  readonly lost_vaults: readonly LostVault[];
  /** Vaults of the store that no record names: they cannot be given to an account. */
  readonly unknown_vaults: readonly string[];
  /** Records that do not open. */
  readonly damaged_records: readonly string[];
  /** Nothing is missing that the store should have. */
  readonly whole: boolean;
}

/** Rebuilds everything, or one vault. */
export async function rebuildIndex(parts: RecoveryParts, only?: string): Promise<RebuildResult> {
  const { transactions, store, secrets } = parts;
  const restored = only === undefined ? await restoreAccounts(parts) : { accounts: 0, damaged: [] };
  const places = await placesOf(parts, only);
  if (only !== undefined && places.length === 0)
    throw new StartError("setting_unusable", `No account has the vault ${only}. The list is in GET /v1/vaults.`);
  const used = await usedVaults(store, only);
  const results = new RebuiltVaults();
  for (const place of places)
    if (used.has(place.vaultId) && !place.isErasing)
      await results.add(parts, place, (vault) => rebuilt(parts, place, vault));
  const placed = new Set(places.map(({ vaultId }) => vaultId));
  const unknown = only === undefined ? [...used].filter((id) => !placed.has(id)) : [];
  // The database is now as new as the store: the service may start.
  if (only === undefined) await raiseBeat({ transactions, secrets }, store, await readStoreBeat(store, secrets));
  return {
    accounts: restored.accounts,
    vaults: results.vaults,
    lost_vaults: results.lost,
    unknown_vaults: unknown,
    damaged_records: restored.damaged,
    whole: results.areWhole && unknown.length === 0 && restored.damaged.length === 0,
  };
}

async function rebuilt(parts: RecoveryParts, { vaultId }: VaultPlace, vault: Parameters<typeof rebuild>[0]) {
  try {
    return await rebuild(vault, ({ packs }) => parts.onProgress?.({ vaultId, packs }));
  } catch (error) {
    if (!(error instanceof ChainMismatchError)) throw error;
    throw new StartError(
      "database_older_than_store",
      `Vault ${vaultId}: database and object store are of different days (${error.message}). Run \`npm start -- recover\`.`,
      { cause: error },
    );
  }
}

async function placesOf({ transactions }: RecoveryParts, only: string | undefined) {
  const all = await transactions.read(ofService, { kind: "system" }, (tx) => allVaults(tx));
  return only === undefined ? all : all.filter(({ vaultId }) => vaultId === only);
}

/** Vaults with at least one object in the store. */
async function usedVaults(store: ObjectStore, only: string | undefined): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  const prefix = only === undefined ? "vaults/" : `vaults/${vaultBytes(only).toString("hex")}/`;
  for await (const { name } of store.list(prefix)) {
    const [, hex = ""] = /^vaults\/([0-9a-f]{32})\//.exec(name) ?? [];
    if (hex !== "") used.add(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"));
  }
  return used;
}

/** Brings the platform and the accounts back that the database does not have. */
async function restoreAccounts(parts: RecoveryParts): Promise<{ accounts: number; damaged: readonly string[] }> {
  const damaged: string[] = [];
  let accounts = 0;
  const found = await listRecords(parts.store);
  // The platform first: clients and sessions of accounts refer to its own client.
  const ordered = [...found].sort(([a], [b]) => (a === null ? -1 : b === null ? 1 : a < b ? -1 : 1));
  for (const [accountId, places] of ordered) {
    const generation = await parts.transactions.read(ofService, { kind: "system" }, (tx) =>
      knownGeneration(tx, accountId),
    );
    if (generation > 0) continue;
    const record = await newestRecord(parts, places, damaged);
    if (record === null) continue;
    await applyRecord(parts.owner, record, "missing");
    await parts.transactions.run(ofService, { kind: "system" }, (tx) =>
      skipGenerations(tx, accountId, record.generation),
    );
    if (accountId !== null) accounts++;
  }
  return { accounts, damaged };
}

/** The newest of these records that opens. */
export async function newestRecord(
  { store, secrets }: Pick<RecoveryParts, "store" | "secrets">,
  places: readonly RecordPlace[],
  damaged: string[],
): Promise<AccountRecord | null> {
  for (const place of places)
    try {
      const record = await readRecord(store, secrets, place);
      if (record !== null) return record;
    } catch {
      damaged.push(place.name);
    }
  return null;
}
