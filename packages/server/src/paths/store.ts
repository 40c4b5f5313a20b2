/** The SQL of projections and of the snapshots that they have. */

import { type Selectable, sql } from "kysely";
import type { ProjectedSnapshotsRow, ProjectionsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type ProjectionRow = Selectable<ProjectionsRow>;
export type ProjectedSnapshot = Selectable<ProjectedSnapshotsRow>;

/** A projection that the caller's transaction may change: until it ends nobody else does. */
export async function lockProjection(tx: Tx, vaultId: string): Promise<ProjectionRow | undefined> {
  return tx.db
    .selectFrom("projections")
    .selectAll()
    .where("vault_id", "=", vaultId)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export async function insertProjection(
  tx: Tx,
  row: { readonly account_id: string; readonly vault_id: string; readonly sealed_key: Buffer },
): Promise<void> {
  await tx.db
    .insertInto("projections")
    .values(row)
    .onConflict((conflict) => conflict.column("vault_id").doNothing())
    .execute();
}

/** The projections of these vaults, or of all of the account, by vault. */
export async function projectionsOf(
  tx: ReadTx,
  accountId: string,
  vaultIds: readonly string[] | null,
): Promise<readonly ProjectionRow[]> {
  let select = tx.db.selectFrom("projections").selectAll().where("account_id", "=", accountId);
  if (vaultIds !== null) select = select.where(sql<boolean>`vault_id = any (${vaultIds}::uuid[])`);
  return select.orderBy("vault_id").execute();
}

export type NewProjected = Pick<
  ProjectedSnapshot,
  "snapshot_id" | "account_id" | "vault_id" | "source_id" | "created_at"
>;

/** A snapshot is in the projection without a change of its versions. Returns false where it was known before. */
export async function containSnapshot(tx: Tx, row: NewProjected): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto("projected_snapshots")
    .values({ ...row, wanted: true, state: "contained" })
    .onConflict((conflict) => conflict.column("snapshot_id").doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** A snapshot is to be in the projection of its vault. */
export async function wantSnapshot(tx: Tx, row: NewProjected): Promise<void> {
  await tx.db
    .insertInto("projected_snapshots")
    .values({ ...row, wanted: true, state: "waiting" })
    .onConflict((conflict) => conflict.column("snapshot_id").doUpdateSet({ wanted: true }))
    .execute();
}

/** Returns false if it was not to be there. From this commit on, search and history do not show it. */
export async function unwantSnapshot(tx: Tx, snapshotId: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("projected_snapshots")
    .set({ wanted: false })
    .where("snapshot_id", "=", snapshotId)
    .where("wanted", "=", true)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** What the job of a vault does next: what was begun, then what is to go, then what is to come, the oldest first. */
export async function nextSnapshot(tx: Tx, vaultId: string): Promise<ProjectedSnapshot | undefined> {
  const { rows } = await sql<ProjectedSnapshot>`
    select * from projected_snapshots
    where vault_id = ${vaultId} and (state <> 'contained' or not wanted) and (state <> 'skipped' or not wanted)
    order by state not in ('applying', 'removing'), wanted, snapshot_id limit 1`.execute(tx.db);
  return rows[0];
}

/**
 * Moves a snapshot from a state and a count of differences to others. Returns false if it is not there any more: another process
 * has gone on.
 */
export async function moveSnapshot(
  tx: Tx,
  { snapshot_id: id, state, done }: Pick<ProjectedSnapshot, "snapshot_id" | "state" | "done">,
  to: Partial<Pick<ProjectedSnapshot, "state" | "done" | "failed_at">>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("projected_snapshots")
    .set(to)
    .where("snapshot_id", "=", id)
    .where("state", "=", state)
    .where("done", "=", done)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The projection has nothing of it, and is to have nothing of it. */
export async function forgetSnapshot(tx: Tx, snapshotId: string): Promise<void> {
  await tx.db
    .deleteFrom("projected_snapshots")
    .where("snapshot_id", "=", snapshotId)
    .where("wanted", "=", false)
    .execute();
}

/** The snapshots of the source before and after one that the projection has, whether they are to stay or not. */
export async function neighboursOf(
  tx: ReadTx,
  { source_id: sourceId, snapshot_id: id }: Pick<ProjectedSnapshot, "source_id" | "snapshot_id">,
): Promise<{ readonly previous: string | null; readonly next: string | null }> {
  const { rows } = await sql<{ previous: string | null; next: string | null }>`
    select
      (select snapshot_id from projected_snapshots where source_id = ${sourceId} and state = 'contained' and snapshot_id < ${id}
        order by snapshot_id desc limit 1) as previous,
      (select snapshot_id from projected_snapshots where source_id = ${sourceId} and state = 'contained' and snapshot_id > ${id}
        order by snapshot_id limit 1) as next`.execute(tx.db);
  return rows[0] ?? { previous: null, next: null };
}

export interface OpenVault {
  readonly account_id: string;
  readonly vault_id: string;
}

/** Vaults whose projection is to change. Row access `system`. */
export async function vaultsToProject(tx: ReadTx, limit: number): Promise<readonly OpenVault[]> {
  const { rows } = await sql<OpenVault>`
    select w.account_id, w.vault_id from (
      select distinct account_id, vault_id from projected_snapshots
      where (state <> 'contained' or not wanted) and (state <> 'skipped' or not wanted)
      union select account_id, vault_id from projections where is_clearing) w
    join vaults v on v.id = w.vault_id and v.erasing_at is null
    limit ${limit}`.execute(tx.db);
  return rows;
}

/** Snapshots that could not be read before this time are tried again. Row access `system`. */
export async function retrySkipped(tx: Tx, before: Date): Promise<void> {
  await tx.db
    .updateTable("projected_snapshots")
    .set({ state: "waiting", done: 0, failed_at: null })
    .where("state", "=", "skipped")
    .where("failed_at", "<=", before)
    .execute();
}

/** Begins to make a projection again: nothing is in it from this commit on. Returns false without one. */
export async function beginClearing(tx: Tx, vaultId: string): Promise<boolean> {
  if ((await lockProjection(tx, vaultId)) === undefined) return false;
  await tx.db.updateTable("projections").set({ is_clearing: true }).where("vault_id", "=", vaultId).execute();
  await tx.db
    .updateTable("projected_snapshots")
    .set({ state: "waiting", done: 0, failed_at: null })
    .where("vault_id", "=", vaultId)
    .execute();
  return true;
}

/** All rows are gone: it begins again, with a new key. */
export async function endClearing(tx: Tx, vaultId: string, sealedKey: Buffer): Promise<void> {
  await tx.db
    .updateTable("projections")
    .set({ is_clearing: false, sealed_key: sealedKey, next_path: 0 })
    .where("vault_id", "=", vaultId)
    .execute();
}

export async function setNextPath(tx: Tx, vault: number, next: number): Promise<void> {
  await tx.db.updateTable("projections").set({ next_path: next }).where("vault", "=", vault).execute();
}
