/** All SQL of restores. The parts of their archives are in `part-store.ts`. */

import { type Insertable, type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { RestoreOrdersRow, RestoresRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { downloadLifeMs, type FailureCode, openStates, type Status, type WarningCode } from "./rules.ts";

/** What an order adds to its restore. All of it is null in a download. */
type OrderFacts = Pick<
  Selectable<RestoreOrdersRow>,
  "agent_id" | "on_conflict" | "planned_at" | "run_id" | "reported_at" | "damaged_count"
>;

/** A restore, with what decides about its content: the state of its snapshot. */
export interface RestoreRecord extends Selectable<RestoresRow>, Nullable<OrderFacts> {
  readonly snapshot_state: string;
  /** The folder on the agent's machine. */
  readonly target_path: string | null;
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

/** The kind of archive of a restore to a download. */
export function formatOf({ format }: Pick<RestoreRecord, "format">): "tar" | "zip" {
  if (format === null) throw new Error("a restore to an agent has no archive");
  return format;
}

export type NewRestore = Pick<
  Insertable<RestoresRow>,
  | ("id" | "account_id" | "vault_id" | "snapshot_id" | "paths" | "target_kind" | "format" | "on_damage")
  | ("bytes_total" | "files_total" | "created_by_kind" | "created_by_id")
>;

export async function insertRestore(tx: Tx, row: NewRestore): Promise<void> {
  await tx.db
    .insertInto("restores")
    .values({ ...row, state: "pending", created_at: tx.now })
    .execute();
}

export function records(tx: ReadTx) {
  return tx.db
    .selectFrom("restores")
    .innerJoin("snapshots", "snapshots.id", "restores.snapshot_id")
    .leftJoin("restore_orders", "restore_orders.restore_id", "restores.id")
    .selectAll("restores")
    .select("snapshots.state as snapshot_state")
    .select(["restore_orders.agent_id", "restore_orders.path as target_path", "restore_orders.on_conflict"])
    .select(["restore_orders.planned_at", "restore_orders.run_id", "restore_orders.reported_at"])
    .select("restore_orders.damaged_count");
}

export async function findRestore(tx: ReadTx, accountId: string, id: string): Promise<RestoreRecord | undefined> {
  return records(tx).where("restores.account_id", "=", accountId).where("restores.id", "=", id).executeTakeFirst();
}

/**
 * The same, and nobody else changes it until the transaction ends. In two statements: one that waits for the lock would have the other
 * tables as they were before the wait.
 */
export async function lockRestore(tx: Tx, accountId: string, id: string): Promise<RestoreRecord | undefined> {
  const locked = await tx.db
    .selectFrom("restores")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return locked === undefined ? undefined : findRestore(tx, accountId, id);
}

export interface RestoreFilters {
  readonly status?: Status | undefined;
  readonly snapshotId?: string | undefined;
  /** Only of these vaults; null: of all. */
  readonly vaultIds: readonly string[] | null;
}

export async function listRestores(
  tx: ReadTx,
  accountId: string,
  { status, snapshotId, vaultIds }: RestoreFilters,
  page: PageStart,
): Promise<readonly RestoreRecord[]> {
  let select = records(tx).where("restores.account_id", "=", accountId);
  if (status !== undefined) select = select.where("restores.state", "=", status);
  if (snapshotId !== undefined) select = select.where("restores.snapshot_id", "=", snapshotId);
  if (vaultIds !== null) select = select.where("restores.vault_id", "=", sql<string>`any (${vaultIds}::uuid[])`);
  return pageRows(select, page, "restores");
}

export async function setJob(tx: Tx, accountId: string, id: string, jobId: string): Promise<void> {
  await change(tx, accountId, id).set({ job_id: jobId }).execute();
}

function change(tx: Tx, accountId: string, id: string) {
  return tx.db.updateTable("restores").where("account_id", "=", accountId).where("id", "=", id);
}

export async function startRestore(tx: Tx, accountId: string, id: string): Promise<void> {
  await change(tx, accountId, id)
    .set({ state: "running", started_at: tx.now, version: sql`version + 1` })
    .where("state", "=", "pending")
    .execute();
}

/** How far a running restore is. */
export interface Progress {
  readonly bytesRestored: number;
  readonly filesRestored: number;
}

/** Says how far it is, between two parts. */
export async function noteProgress(tx: Tx, accountId: string, id: string, progress: Progress): Promise<void> {
  await change(tx, accountId, id)
    .set({ bytes_restored: progress.bytesRestored, files_restored: progress.filesRestored })
    .where("state", "=", "running")
    .execute();
}

/** What a part adds to its restore. */
export interface PartResult extends Progress {
  readonly warningCount: number;
  readonly leftOutNodes: readonly number[];
}

export async function notePart(tx: Tx, accountId: string, id: string, result: PartResult): Promise<void> {
  await change(tx, accountId, id)
    .set({
      ...{ bytes_restored: result.bytesRestored, files_restored: result.filesRestored },
      ...{ warning_count: result.warningCount, left_out_nodes: [...result.leftOutNodes] },
    })
    .execute();
}

/** The archive of a completed restore. */
export interface FrozenArchive {
  readonly layout: number;
  readonly memberBytes: number;
  readonly directoryBytes: number;
  readonly memberCount: number;
  readonly escapedNames: number;
  readonly archiveBytes: number;
}

/** Only a running one, whose row the transaction has locked. */
export async function completeRestore(tx: Tx, accountId: string, id: string, archive: FrozenArchive): Promise<void> {
  await change(tx, accountId, id)
    .set({
      ...{ state: "completed", ended_at: tx.now, expires_at: new Date(tx.now.getTime() + downloadLifeMs) },
      ...{ layout: archive.layout, member_bytes: archive.memberBytes, directory_bytes: archive.directoryBytes },
      ...{ member_count: archive.memberCount, escaped_names: archive.escapedNames },
      ...{ archive_bytes: archive.archiveBytes, version: sql`version + 1` },
    })
    .where("state", "=", "running")
    .execute();
}

/** Ends an open restore without its files. Returns false when it is not open any more. */
export async function endRestore(
  tx: Tx,
  accountId: string,
  id: string,
  end: { readonly state: "failed" | "canceled"; readonly code: FailureCode },
): Promise<boolean> {
  const { numUpdatedRows } = await change(tx, accountId, id)
    .set({ state: end.state, failure_code: end.code, ended_at: tx.now, version: sql`version + 1` })
    .where("state", "in", openStates)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export interface RestoreWarning {
  readonly number: number;
  readonly path: Buffer;
  readonly code: WarningCode;
}

export async function insertWarnings(
  tx: Tx,
  accountId: string,
  id: string,
  warnings: readonly RestoreWarning[],
): Promise<void> {
  if (warnings.length === 0) return;
  await sql`
    insert into restore_warnings (restore_id, account_id, number, path, code)
    select ${id}, ${accountId}, * from unnest(${warnings.map(({ number }) => number)}::int[],
      ${warnings.map(({ path }) => path)}::bytea[], ${warnings.map(({ code }) => code)}::text[])`.execute(tx.db);
}

/** The warnings from a number on. */
export async function listWarnings(tx: ReadTx, accountId: string, id: string, first: number, take: number) {
  return tx.db
    .selectFrom("restore_warnings")
    .select(["number", "path", "code"])
    .where("account_id", "=", accountId)
    .where("restore_id", "=", id)
    .where("number", ">=", first)
    .orderBy("number")
    .limit(take)
    .execute();
}

/** The directories that are named as unreadable so far. */
export async function unreadableDirectories(tx: ReadTx, accountId: string, id: string): Promise<readonly Buffer[]> {
  const rows = await tx.db
    .selectFrom("restore_warnings")
    .select("path")
    .where("account_id", "=", accountId)
    .where("restore_id", "=", id)
    .where("code", "=", "entries_unreadable")
    .execute();
  return rows.map(({ path }) => path);
}

/** Restores that are open. Row access `system`. */
export async function openRestores(tx: ReadTx, limit: number) {
  return records(tx).where("restores.state", "in", openStates).orderBy("restores.id").limit(limit).execute();
}
