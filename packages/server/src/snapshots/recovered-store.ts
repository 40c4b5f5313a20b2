/**
 * Rows of snapshots after a rebuild of the catalog from the object store: those that the catalog has and the table does not, and those
 * that the table has and the catalog does not.
 */

import { FormatError, openDetails, openManifest, type SnapshotInfo, type Vault } from "@emanet/engine";
import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { isUuid } from "../kernel/uuid.ts";
import { projectSnapshot, unprojectSnapshot } from "../paths/index.ts";
import { noteSnapshot } from "../vaults/index.ts";
import { snapshotIdOf } from "./engine-id.ts";
import { verifySnapshot } from "./jobs.ts";
import { type Trigger, triggers } from "./rules.ts";
import { undeleteSnapshot } from "./store.ts";

export interface RecoveredSnapshot {
  readonly id: string;
  readonly sourceId: string;
  readonly info: SnapshotInfo;
  readonly label: string | null;
  readonly trigger: Trigger;
  readonly externalReference: string | null;
  readonly metadata: string;
  readonly parentId: string | null;
}

/** Who made it is not in the object store. */
const unknownCreator = "00000000-0000-0000-0000-000000000000";

/** What the manifest of a snapshot says about it. Throws `FormatError` for a manifest of another service. */
export async function readRecovered(vault: Vault, info: SnapshotInfo): Promise<RecoveredSnapshot> {
  const { store, names, keys } = vault;
  const expected = { snapshot: info.id, vaultId: keys.vaultId };
  const manifest = openManifest(await store.get(names.manifest(info.id)), expected, keys.authorityPublicKey);
  const details = openDetails(keys, manifest);
  if (!isUuid(details.source)) throw new FormatError("the manifest names no source of this service");
  return {
    ...{ id: snapshotIdOf(info.id), sourceId: details.source, info },
    label: details.label ?? null,
    trigger: triggers.find((one) => one === details.trigger) ?? "api",
    externalReference: details.externalReference ?? null,
    metadata: details.metadata ?? "{}",
    parentId: details.parent === undefined ? null : snapshotIdOf(details.parent),
  };
}

/**
 * Adds the row, with the retention that the chain of the vault has. An existing row keeps its state and gets this retention;
 * one that is deleted comes back where the chain does not let it go: it was undeleted after the dump, or deleted after the copy of the
 * store. One that was noted as removed and is there again comes back too: the store was an older one then. One that was still being
 * uploaded at the time of the dump is completed. Returns whether it is new or completed: then it is
 * verified and added to the search, as after an upload.
 */
export async function addRecovered(
  tx: Tx,
  place: { readonly accountId: string; readonly vaultId: string },
  found: RecoveredSnapshot,
): Promise<boolean> {
  const { accountId, vaultId } = place;
  const { id, sourceId, info } = found;
  const { expiresAt, lockedUntil, hold } = info.retention;
  const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms));
  const [createdAt, completedAt] = [new Date(info.startedAt), new Date(info.completedAt)];
  const { rows } = await sql<{ is_new: boolean; is_open: boolean; is_deleted: boolean; is_expired: boolean }>`
    insert into snapshots (id, account_id, vault_id, source_id, state, upload_kind, label, trigger, external_reference,
      metadata, created_by_kind, created_by_id, is_write_only, parent_id, stored_bytes, size_bytes, file_count, warning_count,
      root_hash, expires_at, locked_until, legal_hold, created_at, started_at, completed_at, active_at)
    values (${id}, ${accountId}, ${vaultId}, ${sourceId}, 'completed', 'upload', ${found.label}, ${found.trigger},
      ${found.externalReference}, ${found.metadata}::jsonb, 'client', ${unknownCreator}, false, ${found.parentId},
      ${info.storedBytes}, ${info.size}, ${info.files}, ${info.warnings}, ${Buffer.from(info.rootId)}, ${dateOf(expiresAt)},
      ${dateOf(lockedUntil)}, ${hold}, ${createdAt}, ${createdAt}, ${completedAt}, ${completedAt})
    on conflict (id) do update set
      expires_at = excluded.expires_at, locked_until = excluded.locked_until, legal_hold = excluded.legal_hold
    returning xmax = 0 as is_new, state in ('queued', 'running') as is_open,
      state = 'deleted' and deleted_state = 'completed' as is_deleted, state = 'expired' as is_expired`.execute(tx.db);
  if (rows[0]?.is_deleted === true && expiresAt === null) {
    await undeleteSnapshot(tx, accountId, id);
    await projectSnapshot(tx, { id, accountId, vaultId, sourceId, createdAt });
  }
  if (rows[0]?.is_expired === true && expiresAt === null) {
    await sql`
      update snapshots set state = 'completed', expired_at = null, removed_at = null, pruned_at = null, version = version + 1
      where id = ${id}`.execute(tx.db);
    await projectSnapshot(tx, { id, accountId, vaultId, sourceId, createdAt });
  }
  if (rows[0]?.is_open === true)
    await sql`
      update snapshots set state = 'completed', parent_id = ${found.parentId}, stored_bytes = ${info.storedBytes}, size_bytes = ${info.size},
        file_count = ${info.files}, warning_count = ${info.warnings}, root_hash = ${Buffer.from(info.rootId)},
        started_at = coalesce(started_at, ${createdAt}), completed_at = ${completedAt}, active_at = ${completedAt}, version = version + 1
      where id = ${id}`.execute(tx.db);
  else if (rows[0]?.is_new !== true) return false;
  await noteSnapshot(tx, sourceId, { id, status: "completed", completedAt, sizeBytes: info.size });
  await tx.job({ task: verifySnapshot, payload: { accountId, vaultId, snapshotId: id }, key: id });
  await projectSnapshot(tx, { id, accountId, vaultId, sourceId, createdAt });
  return true;
}

/** Snapshots that the table has as completed, or as deleted and still in their 72 hours; by id, behind `after`. */
export async function unremovedPage(
  tx: ReadTx,
  { accountId, vaultId }: { readonly accountId: string; readonly vaultId: string },
  after: string | null,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from snapshots
    where account_id = ${accountId} and vault_id = ${vaultId} and removed_at is null
      and (state = 'completed' or (state = 'deleted' and deleted_state = 'completed'))
      and (${after}::uuid is null or id > ${after}::uuid)
    order by id limit ${limit}`.execute(tx.db);
  return rows.map(({ id }) => id);
}

/** The content was removed after the dump: a completed snapshot has expired then, and a deleted one cannot be undeleted any more. */
export async function noteRemoved(
  tx: Tx,
  place: { readonly accountId: string; readonly vaultId: string },
  { id, letGoAt }: { readonly id: string; readonly letGoAt: Date },
): Promise<void> {
  await sql`
    update snapshots set removed_at = ${letGoAt}, version = version + 1,
      state = case state when 'completed' then 'expired' else state end,
      expired_at = case state when 'completed' then ${letGoAt}::timestamptz else expired_at end,
      expires_at = case state when 'completed' then ${letGoAt}::timestamptz else expires_at end
    where id = ${id} and account_id = ${place.accountId} and state in ('completed', 'deleted')`.execute(tx.db);
  await unprojectSnapshot(tx, { id, ...place });
}
