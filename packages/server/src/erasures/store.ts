/** All SQL of erasures: the table `erasures`. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { ErasuresRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { Decided } from "./decided.ts";

export type ErasureRow = Selectable<ErasuresRow>;

/** Begins an erasure, and marks the vault: from the commit on nothing opens it. Acts of the vault that wait have no effect any more. */
export async function insertErasure(tx: Tx, erasure: Decided, sealed: Buffer): Promise<ErasureRow> {
  const { accountId, vaultId } = erasure;
  await sql`select id from vaults where id = ${vaultId} for no key update`.execute(tx.db);
  await sql`update vaults set erasing_at = coalesce(erasing_at, ${tx.now}) where id = ${vaultId}`.execute(tx.db);
  await sql`
    update pending_acts set state = 'canceled', ended_at = ${tx.now}
    where vault_id = ${vaultId} and state = 'waiting'`.execute(tx.db);
  await tx.db
    .insertInto("erasures")
    .values({
      ...{ id: erasure.id, account_id: accountId, vault_id: vaultId, cause: erasure.cause, act_id: erasure.actId },
      ...{ ordered_by: erasure.orderedBy, due_at: erasure.dueAt, state: "erasing" },
      ...{ created_at: erasure.begunAt, sealed },
      ...{ key_objects: erasure.keyObjects, objects: erasure.objects, bytes: erasure.bytes },
      snapshots: erasure.snapshots,
    })
    // Another process may have begun it meanwhile; then it is the same erasure.
    .onConflict((conflict) => conflict.column("vault_id").doNothing())
    .execute();
  return erasures(tx).where("vault_id", "=", vaultId).executeTakeFirstOrThrow();
}

export async function findErasure(tx: ReadTx, accountId: string, vaultId: string): Promise<ErasureRow | undefined> {
  return erasures(tx).where("account_id", "=", accountId).where("vault_id", "=", vaultId).executeTakeFirst();
}

export async function noteKeysDestroyed(tx: Tx, id: string, at: Date, sealed: Buffer): Promise<void> {
  await tx.db.updateTable("erasures").set({ keys_destroyed_at: at, sealed }).where("id", "=", id).execute();
}

/** Returns false if it has ended before. */
export async function endErasure(
  tx: Tx,
  id: string,
  { proof, erasedAt }: { readonly proof: string; readonly erasedAt: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("erasures")
    .set({ state: "erased", erased_at: erasedAt, proof, checked_at: tx.now })
    .where("id", "=", id)
    .where("state", "=", "erasing")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Null: of every account, with row access `staff`. */
export async function listErasures(tx: ReadTx, accountId: string | null, page: PageStart): Promise<ErasureRow[]> {
  const all = erasures(tx);
  return pageRows(accountId === null ? all : all.where("account_id", "=", accountId), page);
}

/** Erased vaults whose objects were not looked for since a time, or never by this database. Row access `system`. */
export async function erasedToCheck(tx: ReadTx, before: Date, limit: number): Promise<readonly ErasureRow[]> {
  return erasures(tx)
    .where("state", "=", "erased")
    .where((where) => where.or([where("checked_at", "is", null), where("checked_at", "<=", before)]))
    .orderBy(sql`checked_at nulls first`)
    .limit(limit)
    .execute();
}

export async function noteChecked(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable("erasures").set({ checked_at: tx.now }).where("id", "=", id).execute();
}

/**
 * Vaults whose erasure has begun, deleted vaults of which no snapshot is left, and vaults of closed accounts whose 90 days are over. The
 * default vault is the last of its account: its chain has the closing. Vaults that were asked about and are kept come last, so they do not stand in
 * the way of others. Row access `system`.
 */
export async function vaultsToErase(
  tx: ReadTx,
  limit: number,
): Promise<readonly { readonly account_id: string; readonly vault_id: string }[]> {
  const { rows } = await sql<{ account_id: string; vault_id: string }>`
    select account_id, vault_id from (
    select account_id, vault_id, null::timestamptz as asked_at from erasures where state = 'erasing'
    union all
    select v.account_id, v.id, v.erasure_asked_at from vaults v where v.deleted_at is not null and v.erasing_at is null and v.keys_made_at is not null
      and not exists (select from snapshots s where s.vault_id = v.id and s.state in ('queued', 'running', 'completed'))
    union all
    select v.account_id, v.id, v.erasure_asked_at from accounts a join vaults v on v.account_id = a.id
    where a.state = 'closed' and a.erase_after <= ${tx.now} and v.deleted_at is null and v.erasing_at is null
      and (v.kind <> 'default' or not exists (select from vaults o
        left join erasures e on e.vault_id = o.id
        where o.account_id = a.id and o.kind <> 'default' and e.state is distinct from 'erased'
          and (o.deleted_at is null or o.keys_made_at is not null)))
    ) found order by asked_at nulls first limit ${limit}`.execute(tx.db);
  return rows;
}

/** Whether a vault of the account is left beside its default vault. */
export async function hasOtherVaults(tx: ReadTx, accountId: string): Promise<boolean> {
  const { rows } = await sql<{ left: boolean }>`
    select exists (select from vaults o left join erasures e on e.vault_id = o.id
      where o.account_id = ${accountId} and o.kind <> 'default' and e.state is distinct from 'erased'
        and (o.deleted_at is null or o.keys_made_at is not null)) as "left"`.execute(tx.db);
  return rows[0]?.left === true;
}

/** The vault is not erased now, because a hold or a lock keeps it or its erasure was not ordered. The job takes it up again after all other vaults. */
export async function noteAsked(tx: Tx, vaultId: string): Promise<void> {
  await sql`update vaults set erasure_asked_at = ${tx.now} where id = ${vaultId}`.execute(tx.db);
}

/** Snapshots that the vault ever completed. */
export async function countSnapshots(tx: ReadTx, vaultId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("snapshots")
    .select((call) => call.fn.countAll<number>().as("count"))
    .where("vault_id", "=", vaultId)
    .where("completed_at", "is not", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

function erasures(tx: ReadTx) {
  return tx.db.selectFrom("erasures").selectAll();
}
