/**
 * What is stored in a vault, counted. Bytes are reserved before they count as stored, in one statement that also checks the
 * quota, so that uploads at the same time cannot exceed it together. The row of the vault stays locked until the transaction
 * ends: reserve late, and do nothing slow afterwards.
 */

import { sql } from "kysely";
import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import { vaultQuotaWarning } from "./events.ts";

/**
 * Adds bytes to what is stored in a vault. Throws `quota_exceeded` and changes nothing when the vault would hold more than
 * its quota.
 */
export async function reserveBytes(tx: Tx, vaultId: string, bytes: number): Promise<void> {
  assertByteCount(bytes);
  const { rows } = await sql<WarningRow>`
    with before as materialized (select id, quota_warned from vaults where id = ${vaultId} for no key update)
    update vaults v set
      stored_bytes = v.stored_bytes + ${bytes},
      quota_warned = coalesce(v.stored_bytes + ${bytes} >= v.quota_warning_bytes, false)
    from before
    where v.id = before.id and (v.quota_bytes is null or v.stored_bytes + ${bytes} <= v.quota_bytes)
    returning v.stored_bytes, coalesce(v.quota_bytes, v.quota_warning_bytes) as quota_bytes,
      v.quota_warned and not before.quota_warned as warned`.execute(tx.db);
  if (rows[0] === undefined) throw new Problem("quota_exceeded");
  warn(tx, vaultId, rows[0]);
}

/** Adds what upkeep has stored. A quota does not stop upkeep: what it replaces is deleted soon. */
export async function addBytes(tx: Tx, vaultId: string, bytes: number): Promise<void> {
  assertByteCount(bytes);
  await sql`update vaults set stored_bytes = stored_bytes + ${bytes} where id = ${vaultId}`.execute(tx.db);
}

/** Throws where the quota is used up: a check before an upload. It locks nothing. */
export function assertQuotaLeft(vault: { readonly stored_bytes: number; readonly quota_bytes: number | null }): void {
  if (vault.quota_bytes !== null && vault.stored_bytes >= vault.quota_bytes) throw new Problem("quota_exceeded");
}

/** Takes bytes off what is stored: of an upload that ended without a snapshot, or of packs that were deleted. */
export async function releaseBytes(tx: Tx, vaultId: string, bytes: number): Promise<void> {
  assertByteCount(bytes);
  await sql`
    update vaults set
      stored_bytes = greatest(stored_bytes - ${bytes}, 0),
      quota_warned = coalesce(greatest(stored_bytes - ${bytes}, 0) >= quota_warning_bytes, false)
    where id = ${vaultId}`.execute(tx.db);
}

/** After the limits of a vault were changed: the warning is due at once where the new one is reached already. */
export async function settleQuotaWarning(tx: Tx, vaultId: string): Promise<void> {
  const { rows } = await sql<WarningRow>`
    with before as materialized (select id, quota_warned from vaults where id = ${vaultId} for no key update)
    update vaults v set quota_warned = coalesce(v.stored_bytes >= v.quota_warning_bytes, false)
    from before
    where v.id = before.id
    returning v.stored_bytes, coalesce(v.quota_bytes, v.quota_warning_bytes) as quota_bytes,
      v.quota_warned and not before.quota_warned as warned`.execute(tx.db);
  if (rows[0] !== undefined) warn(tx, vaultId, rows[0]);
}

interface WarningRow {
  readonly stored_bytes: number;
  readonly quota_bytes: number;
  /** The warning has become due by this statement. */
  readonly warned: boolean;
}

function warn(tx: Tx, vaultId: string, { stored_bytes, quota_bytes, warned }: WarningRow): void {
  if (warned) tx.emit(vaultQuotaWarning, { vault_id: vaultId, stored_bytes, quota_bytes }, { vaultId });
}

function assertByteCount(bytes: number): void {
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RangeError("a count of bytes is a whole number from 0 on");
}
