/** The SQL of upkeep: which vaults wait for it, and what it has found. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export interface WaitingVault {
  readonly account_id: string;
  readonly vault_id: string;
}

/** Vaults with keys that are not paused and that had no run since a time; the one that waits longest first. Row access `system`. */
export async function vaultsToKeepUp(tx: ReadTx, since: Date, limit: number): Promise<readonly WaitingVault[]> {
  const { rows } = await sql<WaitingVault>`
    select account_id, id as vault_id from vaults
    where keys_made_at is not null and upkeep_paused_at is null and deleted_at is null
      and (upkeep_begun_at is null or upkeep_begun_at <= ${since})
    order by upkeep_begun_at nulls first, id limit ${limit}`.execute(tx.db);
  return rows;
}

export interface UpkeepState {
  readonly upkeep_paused_at: Date | null;
  readonly scrub_slice: number;
  readonly scrubbed_at: Date | null;
  readonly repacked_at: Date | null;
  /** When a snapshot was last completed, or content was last removed. */
  readonly changed_at: Date | null;
}

export async function findUpkeep(tx: ReadTx, accountId: string, vaultId: string): Promise<UpkeepState | undefined> {
  const { rows } = await sql<UpkeepState>`
    select upkeep_paused_at, scrub_slice, scrubbed_at, repacked_at,
      (select max(greatest(completed_at, case when state in ('deleted', 'expired') then pruned_at end))
        from snapshots s where s.vault_id = v.id and s.completed_at is not null) as changed_at
    from vaults v where v.account_id = ${accountId} and v.id = ${vaultId}`.execute(tx.db);
  return rows[0];
}

export async function noteBegun(tx: Tx, vaultId: string): Promise<void> {
  await tx.db.updateTable("vaults").set({ upkeep_begun_at: tx.now }).where("id", "=", vaultId).execute();
}

export interface ScrubResult {
  readonly nextSlice: number;
  readonly endsRound: boolean;
  readonly packs: number;
  readonly findings: number;
}

export async function noteScrub(tx: Tx, vaultId: string, result: ScrubResult): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({
      ...{ scrub_slice: result.nextSlice, scrubbed_at: tx.now, scrubbed_packs: result.packs },
      scrub_findings: result.findings,
      ...(result.endsRound && { scrub_round_ended_at: tx.now }),
    })
    .where("id", "=", vaultId)
    .execute();
}

export async function noteHeal(
  tx: Tx,
  vaultId: string,
  result: { readonly healed: number; readonly damaged: number },
): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({
      damaged_frames: result.damaged,
      ...(result.healed > 0 && { healed_at: tx.now, healed_frames: result.healed }),
    })
    .where("id", "=", vaultId)
    .execute();
}

export async function noteRepack(tx: Tx, vaultId: string, packs: number): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({ repacked_at: tx.now, repacked_packs: packs })
    .where("id", "=", vaultId)
    .execute();
}

/** Of any account; row access `staff`. */
export async function accountOfVault(tx: ReadTx, vaultId: string): Promise<string | undefined> {
  const row = await tx.db.selectFrom("vaults").select("account_id").where("id", "=", vaultId).executeTakeFirst();
  return row?.account_id;
}

export async function setPaused(tx: Tx, accountId: string, vaultId: string, isPaused: boolean): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({ upkeep_paused_at: isPaused ? tx.now : null, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", vaultId)
    .execute();
}
