/**
 * The rows that an erased vault leaves: what has names of files, people or firms is deleted or blanked, what says that something happened (ids, times,
 * sizes) stays, because audit records and receipts name it. The vault is marked, so nobody adds rows.
 */

import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";

interface ErasedVault {
  readonly accountId: string;
  readonly vaultId: string;
  readonly signal: AbortSignal;
}

type Run = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

/** Of one transaction: some hundred milliseconds. */
const rowsPerStep = 20_000;

/** A kit is kept sealed for a day with the key of its request, to be answered again. */
const answersWithKeys = "recovery_kits.download";

/** A name that was erased. It is no name of anything. */
const erasedName = "erased";
const erasedTaxId = "0000000000";

/** By the number of the vault in the catalog. */
const catalogTables = [
  ...["catalog_claims", "catalog_damaged_items", "catalog_frames", "catalog_held", "catalog_hooks", "catalog_items"],
  ...["catalog_owners", "catalog_packs", "catalog_pins", "catalog_reservations", "catalog_revoked_writers"],
  ...["catalog_sessions", "catalog_snapshots", "catalog_units", "catalog_uploads"],
];
/** By the number of the vault in the projection. */
const projectedTables = ["projected_grams", "projected_paths", "projected_versions"];
/** By the snapshot. */
const snapshotTables = ["snapshot_file_parts", "snapshot_files", "file_uploads", "file_sessions"];
/** By the restore. */
const restoreTables = ["restore_parts", "restore_warnings"];

export async function eraseRows(run: Run, { accountId, vaultId, signal }: ErasedVault): Promise<void> {
  const ofSnapshot = sql`snapshot_id in (select id from snapshots where vault_id = ${vaultId})`;
  const ofRestore = sql`restore_id in (select id from restores where vault_id = ${vaultId})`;
  const deletions = [
    ...catalogTables.map((table) => ({
      table,
      of: sql`vault = (select vault from catalogs where vault_id = ${vaultId})`,
    })),
    ...projectedTables.map((table) => ({
      table,
      of: sql`vault = (select vault from projections where vault_id = ${vaultId})`,
    })),
    ...["projected_snapshots", "projections"].map((table) => ({ table, of: sql`vault_id = ${vaultId}` })),
    ...snapshotTables.map((table) => ({ table, of: ofSnapshot })),
    ...restoreTables.map((table) => ({ table, of: ofRestore })),
    { table: "download_links", of: sql`(${ofSnapshot} or ${ofRestore})` },
    // Of other vaults of the account too: the answer is sealed as a whole.
    { table: "idempotency_keys", of: sql`(account_id = ${accountId} and operation = ${answersWithKeys})` },
    ...["source_aliases"].map((table) => ({ table, of: sql`vault_id = ${vaultId}` })),
  ];
  for (const { table, of } of deletions) {
    for (let left = true; left; ) {
      signal.throwIfAborted();
      left = await run(async (tx) => {
        const { numAffectedRows } = await sql`
          delete from ${sql.table(table)} where ctid = any (array(
            select ctid from ${sql.table(table)} where ${of} limit ${rowsPerStep}))`.execute(tx.db);
        return Number(numAffectedRows ?? 0) >= rowsPerStep;
      });
    }
  }
  await run((tx) => blankNames(tx, accountId, vaultId));
}

async function blankNames(tx: Tx, accountId: string, vaultId: string): Promise<void> {
  await sql`
    update snapshots set label = null, external_reference = null, metadata = '{}', failure_reason = null, hold_reason = null,
      root_hash = null, draft = null, draft_upload = null, pruned_at = coalesce(pruned_at, ${tx.now}),
      state = 'deleted', deleted_state = coalesce(deleted_state, case when state in ('failed', 'canceled') then state else 'expired' end),
      deleted_at = coalesce(deleted_at, ${tx.now}), removed_at = coalesce(removed_at, ${tx.now}),
      expired_at = coalesce(expired_at, ${tx.now}), legal_hold = false, version = version + 1
    where account_id = ${accountId} and vault_id = ${vaultId}`.execute(tx.db);
  await sql`update restores set paths = null, left_out_nodes = '{}' where vault_id = ${vaultId}`.execute(tx.db);
  await sql`
    update restore_orders set path = null where restore_id in (select id from restores where vault_id = ${vaultId})`.execute(
    tx.db,
  );
  await sql`update sources set name = ${erasedName}, name_order = ${erasedName} where vault_id = ${vaultId}`.execute(
    tx.db,
  );
  await sql`
    update taxpayers set name = ${erasedName}, name_order = ${erasedName}, tax_id = ${erasedTaxId}
    where vault_id = ${vaultId}`.execute(tx.db);
  await sql`
    update vaults set name = ${erasedName}, name_order = ${erasedName}, stored_bytes = 0, updated_at = ${tx.now}
    where id = ${vaultId}`.execute(tx.db);
}
