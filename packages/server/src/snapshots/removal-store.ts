/** The SQL of removal: deleted snapshots whose time has passed, and vaults that need a prune. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { arrivedKeptMs, longestWaitMs, strayKeptMs, undeleteMs } from "./rules.ts";

export interface UnprunedVault {
  readonly account_id: string;
  readonly vault_id: string;
}

/**
 * Vaults with deleted snapshots or ended uploads whose time has passed. A vault with an upload that ended within the last day waits,
 * because the next try uses what arrived; but not longer than {@link longestWaitMs}. Also vaults with a snapshot that was completed
 * a week ago: processes that were killed while they stored it can have left packs. Expired snapshots do not wait. Row access `system`.
 */
export async function vaultsToPrune(tx: ReadTx, limit: number): Promise<readonly UnprunedVault[]> {
  const before = (ms: number) => new Date(tx.now.getTime() - ms);
  const { rows } = await sql<UnprunedVault>`
    select account_id, vault_id from snapshots
    where pruned_at is null and state in ('failed', 'canceled', 'deleted', 'completed', 'expired')
      and not exists (select from vaults v where v.id = vault_id and (v.upkeep_paused_at is not null or v.erasing_at is not null))
    group by account_id, vault_id
    having min(coalesce(deleted_at, active_at)) filter (where state not in ('completed', 'expired')) <= ${before(undeleteMs + longestWaitMs)}
      or (min(coalesce(deleted_at, active_at)) filter (where state not in ('completed', 'expired')) <= ${before(undeleteMs)}
        and coalesce(max(active_at) filter (where state in ('failed', 'canceled')), '-infinity') <= ${before(arrivedKeptMs)})
      or bool_or(state = 'expired')
      or min(active_at) filter (where state = 'completed') <= ${before(strayKeptMs)}
    order by min(coalesce(deleted_at, active_at)), vault_id limit ${limit}`.execute(tx.db);
  return rows;
}

/**
 * Ends the time in which deleted snapshots of a vault can be undeleted, for those deleted 72 hours ago or before. One that is being
 * undeleted at this moment is locked, and left out. Held and locked ones stay as they are.
 */
export async function beginRemovals(
  tx: Tx,
  { accountId, vaultId, now }: { readonly accountId: string; readonly vaultId: string; readonly now: Date },
  limit: number,
): Promise<void> {
  const until = new Date(now.getTime() - undeleteMs);
  await sql`
    update snapshots set removed_at = ${tx.now}, version = version + 1
    where id in (
      select id from snapshots
      where account_id = ${accountId} and vault_id = ${vaultId} and state = 'deleted' and removed_at is null
        and deleted_at <= ${until} and not legal_hold and coalesce(locked_until, '-infinity') <= ${now}
      order by deleted_at limit ${limit} for no key update skip locked)`.execute(tx.db);
}

export interface Removal {
  readonly id: string;
  readonly source_id: string;
}

/** Snapshots of a vault whose removal has begun and is not done, also by an earlier run. */
export async function openRemovals(
  tx: ReadTx,
  accountId: string,
  vaultId: string,
  limit: number,
): Promise<readonly Removal[]> {
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "source_id"])
    .where("account_id", "=", accountId)
    .where("vault_id", "=", vaultId)
    .where("state", "in", ["deleted", "expired"])
    .where("removed_at", "is not", null)
    .where("pruned_at", "is", null)
    .orderBy("removed_at")
    .orderBy("id")
    .limit(limit)
    .execute();
}

/** The chain of the vault forbids the removal: the snapshot is deleted as before. */
export async function stopRemoval(tx: Tx, accountId: string, id: string): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ removed_at: null, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "=", "deleted")
    .execute();
}

/** Of these ids, those of uploads that ended without a snapshot: the API never had them as completed. */
export async function endedAmong(
  tx: ReadTx,
  accountId: string,
  vaultId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("snapshots")
    .select("id")
    .where("account_id", "=", accountId)
    .where("vault_id", "=", vaultId)
    .where("id", "=", sql<string>`any (${ids}::uuid[])`)
    .where(sql<boolean>`(state in ('failed', 'canceled') or deleted_state in ('failed', 'canceled'))`)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Notes a prune of the vault that began at this time, for the removals that it has carried out and for uploads whose time had passed
 * then. A removal that another process began meanwhile is for the next prune. Of a removed snapshot nothing is kept that people wrote.
 */
export async function notePruned(
  tx: Tx,
  accountId: string,
  vaultId: string,
  { removals, begunAt }: { readonly removals: readonly Removal[]; readonly begunAt: Date },
): Promise<void> {
  const until = new Date(begunAt.getTime() - undeleteMs);
  const removed = removals.map(({ id }) => id);
  await sql`
    update snapshots set pruned_at = ${tx.now},
      label = case when removed_at is null then label end,
      metadata = case when removed_at is null then metadata else '{}' end,
      external_reference = case when removed_at is null then external_reference end
    where account_id = ${accountId} and vault_id = ${vaultId} and pruned_at is null
      and ((removed_at is not null and id = any (${removed}::uuid[]))
        or (state in ('failed', 'canceled', 'completed') and active_at <= ${until}))`.execute(tx.db);
}
