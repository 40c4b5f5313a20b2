/** All SQL of snapshots. A deleted snapshot is found only by {@link lockDeleted}. */

import { type Insertable, type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { SnapshotsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import {
  deadAfterMs,
  type FailureCode,
  idleUploadMs,
  longestUploadMs,
  openStates,
  type Status,
  statesBefore,
  type Trigger,
} from "./rules.ts";

/** A snapshot that is not deleted, with its source. */
export interface SnapshotRecord extends Omit<Selectable<SnapshotsRow>, "metadata"> {
  readonly status: Status;
  readonly metadata: Readonly<Record<string, string>>;
  readonly source_name: string;
  readonly source_kind: string;
}

export type NewSnapshot = Omit<Insertable<SnapshotsRow>, "metadata" | "active_at" | "created_at" | "alive_at"> & {
  readonly metadata: Readonly<Record<string, string>>;
};

/** Adds a snapshot. One that comes in one call lives from now on. */
export async function insertSnapshot(tx: Tx, row: NewSnapshot): Promise<void> {
  const isOneCall = row.upload_kind === "one_call";
  await tx.db
    .insertInto("snapshots")
    .values({
      ...row,
      metadata: JSON.stringify(row.metadata),
      created_at: tx.now,
      active_at: tx.now,
      alive_at: isOneCall ? sql<Date>`clock_timestamp()` : null,
    })
    .execute();
}

function records(tx: ReadTx) {
  return tx.db
    .selectFrom("snapshots")
    .innerJoin("sources", "sources.id", "snapshots.source_id")
    .selectAll("snapshots")
    .select(["sources.name as source_name", "sources.kind as source_kind"])
    .where("snapshots.state", "<>", "deleted");
}

type FoundRow = Selectable<SnapshotsRow> & { readonly source_name: string; readonly source_kind: string };

function recordOf(row: FoundRow): SnapshotRecord {
  if (row.state === "deleted") throw new Error("a deleted snapshot was read");
  return { ...row, status: row.state, metadata: row.metadata as Readonly<Record<string, string>> };
}

export async function findSnapshot(tx: ReadTx, accountId: string, id: string): Promise<SnapshotRecord | undefined> {
  const row = await records(tx)
    .where("snapshots.account_id", "=", accountId)
    .where("snapshots.id", "=", id)
    .executeTakeFirst();
  return row && recordOf(row);
}

/** The same, and nobody else changes it until the transaction ends. */
export async function lockSnapshot(tx: Tx, accountId: string, id: string): Promise<SnapshotRecord | undefined> {
  const row = await records(tx)
    .where("snapshots.account_id", "=", accountId)
    .where("snapshots.id", "=", id)
    .forNoKeyUpdate("snapshots")
    .executeTakeFirst();
  return row && recordOf(row);
}

/** Until when retention leaves a snapshot alone because it is read. */
export async function setReadLease(tx: Tx, accountId: string, id: string, until: Date): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ read_until: until })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

export interface SnapshotFilters {
  readonly status?: Status | undefined;
  readonly sourceId?: string | undefined;
  /** Only of these vaults; null: of all. */
  readonly vaultIds: readonly string[] | null;
  readonly trigger?: Trigger | undefined;
  /** Inclusive. */
  readonly createdAfter?: string | undefined;
  /** Exclusive. */
  readonly createdBefore?: string | undefined;
}

export async function listSnapshots(
  tx: ReadTx,
  accountId: string,
  filters: SnapshotFilters,
  page: PageStart,
): Promise<readonly SnapshotRecord[]> {
  const { status, sourceId, vaultIds, trigger, createdAfter, createdBefore } = filters;
  let select = records(tx).where("snapshots.account_id", "=", accountId);
  if (status !== undefined) select = select.where("snapshots.state", "=", status);
  if (sourceId !== undefined) select = select.where("snapshots.source_id", "=", sourceId);
  if (vaultIds !== null) select = select.where("snapshots.vault_id", "=", sql<string>`any (${vaultIds}::uuid[])`);
  if (trigger !== undefined) select = select.where("snapshots.trigger", "=", trigger);
  if (createdAfter !== undefined) select = select.where("snapshots.created_at", ">=", new Date(createdAfter));
  if (createdBefore !== undefined) select = select.where("snapshots.created_at", "<", new Date(createdBefore));
  return (await pageRows(select, page, "snapshots")).map(recordOf);
}

/** Until the transaction ends no other one of the account opens an upload. Then a count of them and a new one are one step. */
export async function lockOpenUploads(tx: Tx, accountId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`open_uploads ${accountId}`}, 0))`.execute(tx.db);
}

/** Uploads that are open. */
export async function countOpenUploads(tx: ReadTx, accountId: string): Promise<number> {
  const row = await tx.db
    .selectFrom("snapshots")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("state", "in", openStates)
    .executeTakeFirstOrThrow();
  return row.count;
}

/** The newest completed snapshot of a source. */
export async function newestCompleted(tx: ReadTx, sourceId: string): Promise<string | null> {
  const row = await tx.db
    .selectFrom("snapshots")
    .select("id")
    .where("source_id", "=", sourceId)
    .where("state", "=", "completed")
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

/** The completed snapshot of the same source that was created last before this one. */
export async function completedBefore(
  tx: ReadTx,
  { source_id: sourceId, created_at: createdAt, id }: SnapshotRecord,
): Promise<string | null> {
  const row = await tx.db
    .selectFrom("snapshots")
    .select("id")
    .where("source_id", "=", sourceId)
    .where("state", "=", "completed")
    .where(sql<boolean>`(created_at, id) < (${createdAt}::timestamptz, ${id}::uuid)`)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

/** Returns false when it is not queued any more. */
export async function startSnapshot(tx: Tx, accountId: string, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("snapshots")
    .set({ state: "running", started_at: tx.now, active_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "in", statesBefore("running"))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export interface CompletedFacts {
  readonly sizeBytes: number;
  readonly fileCount: number;
  readonly warningCount: number;
  readonly rootHash: Uint8Array;
}

const endedColumns = [
  ...(["source_id", "account_id", "vault_id", "created_at", "started_at", "parent_id"] as const),
  ...(["upload_kind", "created_by_kind", "created_by_id"] as const),
] as const;
/** `started_at` is null if nothing of it had come. */
export type EndedUpload = Pick<Selectable<SnapshotsRow>, (typeof endedColumns)[number]>;

/** A queued snapshot, to be started. */
export async function findQueued(tx: Tx, id: string) {
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "account_id", "vault_id", "source_id", "trigger"])
    .where("id", "=", id)
    .where("state", "=", "queued")
    .executeTakeFirst();
}

/** Returns undefined when no upload of it is running. */
export async function completeSnapshot(tx: Tx, id: string, facts: CompletedFacts): Promise<EndedUpload | undefined> {
  return tx.db
    .updateTable("snapshots")
    .set({
      state: "completed",
      completed_at: tx.now,
      active_at: tx.now,
      size_bytes: facts.sizeBytes,
      file_count: facts.fileCount,
      warning_count: facts.warningCount,
      root_hash: Buffer.from(facts.rootHash),
      version: sql`version + 1`,
    })
    .where("id", "=", id)
    .where("state", "in", statesBefore("completed"))
    .returning(endedColumns)
    .executeTakeFirst();
}

/** Ends an upload without a snapshot. Returns undefined when it is not open any more. */
export async function endSnapshot(
  tx: Tx,
  id: string,
  end: { readonly state: "failed" | "canceled"; readonly code: FailureCode; readonly reason: string | null },
): Promise<EndedUpload | undefined> {
  return tx.db
    .updateTable("snapshots")
    .set({
      ...{ state: end.state, failure_code: end.code, failure_reason: end.reason },
      ...{ active_at: tx.now, version: sql`version + 1` },
    })
    .where("id", "=", id)
    .where("state", "in", statesBefore(end.state))
    .returning(endedColumns)
    .executeTakeFirst();
}

/** Counts what an open upload has stored. Returns false when the upload is not open any more. */
export async function addStoredBytes(tx: Tx, id: string, bytes: number): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("snapshots")
    .set({ stored_bytes: sql`stored_bytes + ${bytes}`, active_at: tx.now })
    .where("id", "=", id)
    .where("state", "in", openStates)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** An open upload is alive, though nothing of it arrived. */
export async function touchUpload(tx: Tx, id: string): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ active_at: tx.now })
    .where("id", "=", id)
    .where("state", "in", openStates)
    .execute();
}

export async function setDetails(
  tx: Tx,
  accountId: string,
  id: string,
  details: { readonly label: string | null; readonly metadata: Readonly<Record<string, string>> },
): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ label: details.label, metadata: JSON.stringify(details.metadata), version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

export async function deleteSnapshot(tx: Tx, accountId: string, { id, status }: SnapshotRecord): Promise<void> {
  if (status === "queued" || status === "running") throw new Error("an open upload is not deleted");
  await tx.db
    .updateTable("snapshots")
    .set({ state: "deleted", deleted_state: status, deleted_at: tx.now, pruned_at: null, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "=", status)
    .execute();
}

/** A deleted snapshot whose removal has not begun and whose source is there, locked. */
export async function lockDeleted(tx: Tx, accountId: string, id: string) {
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "vault_id", "deleted_at", "deleted_state"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "=", "deleted")
    .where("removed_at", "is", null)
    .where(sql<boolean>`exists (select from sources o where o.id = snapshots.source_id and o.deleted_at is null)`)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export async function undeleteSnapshot(tx: Tx, accountId: string, id: string): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set(({ ref }) => ({
      state: sql<Status>`${ref("deleted_state")}`,
      deleted_state: null,
      deleted_at: null,
      version: sql`version + 1`,
    }))
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "=", "deleted")
    .execute();
}

/** Says that uploads in one call live. */
export async function keepAlive(tx: Tx, ids: readonly string[]): Promise<void> {
  await sql`update snapshots set alive_at = clock_timestamp() where id = any (${ids}::uuid[])`.execute(tx.db);
}

export interface OpenUpload {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
}

/** Uploads in one call whose process has died. */
export async function deadUploads(tx: ReadTx, limit: number): Promise<readonly OpenUpload[]> {
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "account_id", "vault_id"])
    .where("state", "in", openStates)
    .where("upload_kind", "=", "one_call")
    .where(sql<boolean>`alive_at < clock_timestamp() - ${deadAfterMs} * interval '1 millisecond'`)
    .limit(limit)
    .execute();
}

/** Uploads in several calls that are idle for too long, or open for too long. */
export async function abandonedUploads(tx: ReadTx, limit: number): Promise<readonly OpenUpload[]> {
  const idleSince = new Date(tx.now.getTime() - idleUploadMs);
  const openSince = new Date(tx.now.getTime() - longestUploadMs);
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "account_id", "vault_id"])
    .where("state", "in", openStates)
    .where("upload_kind", "<>", "one_call")
    .where((where) => where.or([where("active_at", "<=", idleSince), where("created_at", "<=", openSince)]))
    .limit(limit)
    .execute();
}

/** Records a verification of a completed snapshot. */
export async function setVerification(tx: Tx, accountId: string, id: string, isRight: boolean): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({
      ...(isRight ? { verified_at: tx.now, verification_failed_at: null } : { verification_failed_at: tx.now }),
      version: sql`version + 1`,
    })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

/** Notes the job of a verification that was asked for. */
export async function setVerifyJob(tx: Tx, accountId: string, id: string, jobId: string): Promise<void> {
  const change = tx.db.updateTable("snapshots").set({ verify_job_id: jobId });
  await change.where("account_id", "=", accountId).where("id", "=", id).execute();
}

/** A snapshot has the content of another one, which was verified: it was read back when that one was. Returns false where that one was not. */
export async function takeVerification(
  tx: Tx,
  { accountId, id, from }: { readonly accountId: string; readonly id: string; readonly from: string },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update snapshots s set verified_at = o.verified_at
    from snapshots o
    where s.account_id = ${accountId} and s.id = ${id} and o.account_id = ${accountId} and o.id = ${from}
      and o.state = 'completed' and o.verified_at is not null and o.verification_failed_at is null`.execute(tx.db);
  return (numAffectedRows ?? 0n) > 0n;
}

/** Snapshots of the same writer whose verification has failed since this time. */
export async function countFalseClaims(
  tx: ReadTx,
  { account_id: accountId, created_by_kind: kind, created_by_id: id }: SnapshotRecord,
  since: Date,
): Promise<number> {
  const { count } = await tx.db
    .selectFrom("snapshots")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("created_by_kind", "=", kind)
    .where("created_by_id", "=", id)
    .where("verification_failed_at", ">", since)
    .executeTakeFirstOrThrow();
  return Number(count);
}
