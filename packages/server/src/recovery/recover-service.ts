/**
 * `recover`: brings a database and an object store of different days together, for example yesterday's dump and today's bucket. Steps:
 * 1. Master data: each account whose record in the store is newer than the database becomes what the record says. So people and clients
 *    that were removed meanwhile stay out, and new ones stay in.
 * 2. What was given to somebody ends: sessions, grants, links, codes. People sign in again, with what they know now.
 * 3. Waits begin again: what was deleted can be undeleted for another 72 hours. Orders to machines end: they may be done since.
 * 4. What the record says is erased is erased here too: rows with names that the older database has, and people (`erasures`, `audit`).
 * 5. Each vault begins a new incarnation in its chain, and its catalog is made from the store. Snapshots that the database did not
 *    know come back; those that the store does not have are named.
 * 6. Every record is noted as changed, so that an older store gets the newest. The beat becomes higher than the store's, so that the service starts.
 * Every step can be repeated. Until step 6 the service does not start on an older database.
 */

import { recover } from "@emanet/engine";
import { allVaults, vaultBytes } from "../vaults/index.ts";
import { listRecords, type RecordPlace, readRecord } from "./account-record.ts";
import { applyRecord, freeRecord } from "./apply-store.ts";
import { ofService, raiseBeat, readStoreBeat } from "./beat.ts";
import { endWhatWasGiven } from "./ended-store.ts";
import { newestRecord, type RecoveryParts } from "./rebuild-index.ts";
import { type LostVault, RebuiltVaults, type VaultResult } from "./rebuild-vault.ts";
import { erasedVaults, knownGeneration, noteAllAccounts, skipGenerations } from "./record-store.ts";

export interface RecoverResult {
  /** Accounts whose record was newer than the database. */
  readonly accounts: number;
  readonly ended_sessions: number;
  readonly vaults: readonly VaultResult[];
  readonly lost_vaults: readonly LostVault[];
  readonly damaged_records: readonly string[];
  readonly whole: boolean;
}

export async function recoverService(parts: RecoveryParts, reason: string): Promise<RecoverResult> {
  const { owner, transactions, secrets, store } = parts;
  const damaged: string[] = [];
  const accounts = await takeNewerRecords(parts, damaged);
  const endedSessions = await endWhatWasGiven(owner, parts.clock.now());
  // The record says that they are erased; the rows of the dump are of before.
  for (const place of await transactions.read(ofService, { kind: "system" }, (tx) => erasedVaults(tx)))
    await parts.eraseRows(place);
  const results = new RebuiltVaults();
  for (const place of await transactions.read(ofService, { kind: "system" }, (tx) => allVaults(tx))) {
    if (place.isErasing || !(await isUsed(parts, place.vaultId))) continue;
    const onProgress = ({ packs }: { packs: number }) => parts.onProgress?.({ vaultId: place.vaultId, packs });
    await results.add(parts, place, (vault) => recover(vault, reason, onProgress));
  }
  await raiseBeat({ transactions, secrets }, store, await readStoreBeat(store, secrets));
  const whole = results.areWhole && damaged.length === 0;
  const { vaults, lost } = results;
  return { accounts, ended_sessions: endedSessions, vaults, lost_vaults: lost, damaged_records: damaged, whole };
}

/** Applies the records of the store that are newer than the database. */
async function takeNewerRecords(parts: RecoveryParts, damaged: string[]): Promise<number> {
  const { transactions, owner, store } = parts;
  const ordered = [...(await listRecords(store))].sort(([a], [b]) =>
    a === null ? -1 : b === null ? 1 : a < b ? -1 : 1,
  );
  const newer: RecordPlace[] = [];
  for (const [accountId, places] of ordered) {
    const known = await transactions.read(ofService, { kind: "system" }, (tx) => knownGeneration(tx, accountId));
    const record = await newestRecord(parts, places, damaged);
    if (record === null || record.generation <= known) continue;
    await freeRecord(owner, record);
    newer.push(...places.filter(({ generation }) => generation === record.generation));
  }
  for (const place of newer) {
    // Read again: the records of all accounts may not fit into memory.
    const record = await readRecord(store, parts.secrets, place);
    if (record === null) throw new Error(`${place.name} is gone: another process uses the store`);
    await applyRecord(owner, record, "newest");
    await transactions.run(ofService, { kind: "system" }, (tx) =>
      skipGenerations(tx, place.accountId, place.generation),
    );
  }
  // Those of an older copy of the store, and damaged ones, are written again.
  await transactions.run(ofService, { kind: "system" }, (tx) => noteAllAccounts(tx));
  return newer.filter(({ accountId }) => accountId !== null).length;
}

async function isUsed({ store }: RecoveryParts, vaultId: string): Promise<boolean> {
  for await (const _ of store.list(`vaults/${vaultBytes(vaultId).toString("hex")}/`)) return true;
  return false;
}
