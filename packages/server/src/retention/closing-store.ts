/** The SQL of closing an account: what keeps it open, and what it ends. */

import { sql } from "kysely";
import type { ReadTx } from "../kernel/tx.ts";

/** Whether any snapshot of the account is held, or locked at a time. */
export async function keptOfAccount(
  tx: ReadTx,
  accountId: string,
  now: Date,
): Promise<{ readonly held: boolean; readonly locked: boolean }> {
  const { rows } = await sql<{ held: boolean; locked: boolean }>`
    select coalesce(bool_or(legal_hold), false) as held, coalesce(bool_or(locked_until > ${now}), false) as locked
    from snapshots where account_id = ${accountId} and state = 'completed'
      and (legal_hold or locked_until is not null)`.execute(tx.db);
  return rows[0] ?? { held: false, locked: false };
}

/** Snapshots that somebody uploads. An account has at most 400 of them. */
export async function openUploadsOfAccount(tx: ReadTx, accountId: string): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("snapshots")
    .select("id")
    .where("account_id", "=", accountId)
    .where("state", "in", ["queued", "running"])
    .orderBy("id")
    .execute();
  return rows.map(({ id }) => id);
}

/** Vaults of the account that are not deleted. */
export async function vaultsOfAccount(tx: ReadTx, accountId: string): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("vaults")
    .select("id")
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .execute();
  return rows.map(({ id }) => id);
}

/** Vaults of the account that were ever used. */
export async function vaultsWithKeys(tx: ReadTx, accountId: string): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("vaults")
    .select("id")
    .where("account_id", "=", accountId)
    .where("keys_made_at", "is not", null)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .execute();
  return rows.map(({ id }) => id);
}
