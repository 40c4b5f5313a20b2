/** The SQL of snapshots that retention decides about. The restores that need them are read here, too: they are one statement. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { Kept } from "./rules.ts";

/** A completed snapshot as the database has it. */
export interface VaultSnapshot extends Kept {
  readonly sourceId: string;
}

interface Row {
  readonly id: string;
  readonly source_id: string;
  readonly completed_at: Date;
  readonly legal_hold: boolean;
  readonly locked_until: Date | null;
  readonly is_good: boolean;
  readonly is_suspicious: boolean;
  readonly is_pinned: boolean;
  readonly is_deleted: boolean;
  readonly expires_at: Date | null;
}

/**
 * The completed snapshots of a vault, or of one source of it. One that was not compared with the snapshot before it yet is not
 * believed: it counts as suspicious. With row access to the account.
 */
export async function completedSnapshots(
  tx: ReadTx,
  { vaultId, sourceId }: { readonly vaultId: string; readonly sourceId: string | null },
): Promise<readonly VaultSnapshot[]> {
  const { rows } = await sql<Row>`
    select s.id, s.source_id, s.completed_at, s.legal_hold, s.locked_until, s.expires_at,
      s.verification_failed_at is null as is_good,
      s.accepted_at is null and (s.suspicious_at is not null or s.assessed_at is null) as is_suspicious,
      ${isNeeded(tx.now)} as is_pinned,
      exists (select from sources o join vaults v on v.id = o.vault_id
        where o.id = s.source_id and (o.deleted_at is not null or v.deleted_at is not null)) as is_deleted
    from snapshots s
    where s.vault_id = ${vaultId} and s.state = 'completed'
      and (${sourceId}::uuid is null or s.source_id = ${sourceId})
    order by s.created_at, s.id`.execute(tx.db);
  return rows.map((row) => ({
    ...{ id: row.id, sourceId: row.source_id, completedAt: row.completed_at.getTime(), isHeld: row.legal_hold },
    ...{ lockedUntil: row.locked_until?.getTime() ?? null, isGood: row.is_good, isSuspicious: row.is_suspicious },
    ...{ isPinned: row.is_pinned, isDeleted: row.is_deleted },
    ...{ noticeEndsAt: row.expires_at?.getTime() ?? null },
  }));
}

/** Somebody reads the snapshot `s`, or a restore needs it: while it is open, and while it can be downloaded. */
function isNeeded(now: Date) {
  return sql<boolean>`(coalesce(s.read_until, '-infinity') > ${now} or exists (select from restores r
    where r.snapshot_id = s.id and (r.state in ('pending', 'running') or (r.state = 'completed' and r.expires_at > ${now}))))`;
}

/** How many snapshots of a vault are completed, and how many have expired since a time. */
export async function countForToday(
  tx: ReadTx,
  vaultId: string,
  since: Date,
): Promise<{ readonly total: number; readonly goneToday: number }> {
  const { rows } = await sql<{ total: number; gone: number }>`
    select (select count(*)::integer from snapshots where vault_id = ${vaultId} and state = 'completed') as total,
      (select count(*)::integer from snapshots
        where vault_id = ${vaultId} and expired_at is not null and expired_at >= ${since}) as gone`.execute(tx.db);
  return { total: rows[0]?.total ?? 0, goneToday: rows[0]?.gone ?? 0 };
}

export interface Expired {
  readonly id: string;
  readonly source_id: string;
}

/**
 * Locks completed snapshots and expires those that nothing keeps now: no hold, no lock, no restore, no reader. Those of a deleted source do
 * not wait for restores and readers, which end with them. The restores are read by a later
 * statement than the one that locks, so one that was started meanwhile is seen.
 */
export async function expireSnapshots(
  tx: Tx,
  accountId: string,
  ids: readonly string[],
  now: Date,
): Promise<readonly Expired[]> {
  await sql`
    select id from snapshots where account_id = ${accountId} and id = any (${ids}::uuid[])
    order by id for no key update`.execute(tx.db);
  const { rows } = await sql<Expired>`
    update snapshots s set state = 'expired', expired_at = ${now}, removed_at = ${now}, pruned_at = null,
      expires_at = ${now}, version = version + 1
    where s.account_id = ${accountId} and s.id = any (${ids}::uuid[]) and s.state = 'completed'
      and not s.legal_hold and coalesce(s.locked_until, '-infinity') <= ${now}
      and (exists (select from sources o where o.id = s.source_id and o.deleted_at is not null)
        or not ${isNeeded(now)})
    returning s.id, s.source_id`.execute(tx.db);
  return rows;
}

/** Notes when a snapshot goes, after the mail about a ceiling. Null: it does not go by itself. */
export async function setExpiry(tx: Tx, accountId: string, id: string, expiresAt: Date | null): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ expires_at: expiresAt, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "=", "completed")
    .execute();
}

export interface Hold {
  readonly reason: string;
  readonly reviewAt: Date | null;
  readonly by: string;
  /** Since when; now, unless given. */
  readonly at?: Date;
}

export interface HoldToReview {
  readonly id: string;
  readonly account_id: string;
  readonly hold_reason: string | null;
}

/** Held snapshots that people wanted to look at by now, and nobody was mailed about. Row access `system`. */
export async function holdsToReview(tx: ReadTx, limit: number): Promise<readonly HoldToReview[]> {
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "account_id", "hold_reason"])
    .where("legal_hold", "=", true)
    .where("hold_review_at", "<=", tx.now)
    .where("hold_review_mailed_at", "is", null)
    .where("state", "=", "completed")
    .orderBy("hold_review_at")
    .orderBy("id")
    .limit(limit)
    .execute();
}

/** Returns false where somebody else has noted it, or the hold has changed. */
export async function noteReviewMailed(tx: Tx, accountId: string, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("snapshots")
    .set({ hold_review_mailed_at: tx.now })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("legal_hold", "=", true)
    .where("hold_review_at", "<=", tx.now)
    .where("hold_review_mailed_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Snapshots that are held and whose reason was lost with the database. */
export async function holdsWithoutReason(tx: ReadTx, vaultId: string): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("snapshots")
    .select("id")
    .where("vault_id", "=", vaultId)
    .where("legal_hold", "=", true)
    .where("hold_reason", "is", null)
    .execute();
  return rows.map(({ id }) => id);
}

/** Null: no hold any more. */
export async function setHold(tx: Tx, accountId: string, id: string, hold: Hold | null): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({
      ...{ legal_hold: hold !== null, hold_reason: hold?.reason ?? null, hold_review_at: hold?.reviewAt ?? null },
      ...{ held_by: hold?.by ?? null, held_at: hold === null ? null : (hold.at ?? tx.now) },
      ...{ hold_review_mailed_at: null, version: sql`version + 1` },
    })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

export async function setLock(tx: Tx, accountId: string, id: string, until: Date): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ locked_until: until, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

export interface Unassessed {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly source_id: string;
  readonly created_at: Date;
  readonly state: string;
  readonly assessed_at: Date | null;
}

export async function findForAssessment(tx: ReadTx, accountId: string, id: string): Promise<Unassessed | undefined> {
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "account_id", "vault_id", "source_id", "created_at", "state", "assessed_at"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
}

export interface Before {
  readonly id: string;
  readonly file_count: number;
}

/** The completed snapshot of the same source that was created last before this one. */
export async function snapshotBefore(tx: ReadTx, of: Unassessed): Promise<Before | undefined> {
  const { rows } = await sql<Before>`
    select id, file_count::float8 as file_count from snapshots
    where source_id = ${of.source_id} and state = 'completed'
      and (created_at, id) < (${of.created_at}::timestamptz, ${of.id}::uuid)
    order by created_at desc, id desc limit 1`.execute(tx.db);
  return rows[0];
}

export interface Suspicion {
  readonly lost: number;
  readonly changed: number;
}

/** Returns false when it was assessed before. */
export async function setAssessment(
  tx: Tx,
  accountId: string,
  id: string,
  suspicion: Suspicion | null,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("snapshots")
    .set({
      assessed_at: tx.now,
      ...(suspicion !== null && {
        ...{ suspicious_at: tx.now, lost_files: suspicion.lost, changed_files: suspicion.changed },
        version: sql`version + 1`,
      }),
    })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("assessed_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function setAccepted(tx: Tx, accountId: string, id: string): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ accepted_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("suspicious_at", "is not", null)
    .execute();
}

export interface VaultToApply {
  readonly account_id: string;
  readonly vault_id: string;
}

/**
 * Vaults with an act whose time has come, vaults with something left of a deleted source, and vaults with a policy to which retention was not applied since a time; the one that
 * waits longest first. Row access `system`.
 */
export async function vaultsToApply(tx: ReadTx, since: Date, limit: number): Promise<readonly VaultToApply[]> {
  const { rows } = await sql<VaultToApply>`
    select v.account_id, v.id as vault_id from vaults v
    where v.upkeep_paused_at is null and v.erasing_at is null
      and (v.id in (select vault_id from pending_acts where state = 'waiting' and due_at <= ${tx.now})
        or v.id in (select o.vault_id from sources o join snapshots s on s.source_id = o.id
          where o.deleted_at is not null and s.state in ('queued', 'running', 'completed'))
        or (coalesce(v.retention_applied_at, '-infinity') <= ${since}
          and v.id in (select vault_id from retention_policies)))
    order by v.retention_applied_at nulls first, v.id limit ${limit}`.execute(tx.db);
  return rows;
}

export async function noteApplied(tx: Tx, vaultId: string): Promise<void> {
  await tx.db.updateTable("vaults").set({ retention_applied_at: tx.now }).where("id", "=", vaultId).execute();
}

/** Completed snapshots that were not assessed: of before this release, or whose job has failed. Row access `system`. */
export async function unassessedSnapshots(tx: ReadTx, limit: number) {
  const { rows } = await sql<{ id: string; account_id: string; vault_id: string }>`
    select id, account_id, vault_id from snapshots where state = 'completed' and assessed_at is null
    order by created_at, id limit ${limit}`.execute(tx.db);
  return rows;
}

/** The account of a snapshot, and the completed snapshot of its source that was created last before it. Undefined if the API does not have it. */
export async function findWithBefore(
  tx: ReadTx,
  id: string,
): Promise<{ readonly account_id: string; readonly before: string | null } | undefined> {
  const { rows } = await sql<{ account_id: string; before: string | null }>`
    select s.account_id, (select o.id from snapshots o
      where o.source_id = s.source_id and o.state = 'completed' and (o.created_at, o.id) < (s.created_at, s.id)
      order by o.created_at desc, o.id desc limit 1) as before
    from snapshots s where s.id = ${id}`.execute(tx.db);
  return rows[0];
}
