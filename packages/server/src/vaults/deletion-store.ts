/** The SQL of deletions: a source, or a vault with all its sources. Their snapshots are a later domain's. */

import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";

interface DeletedSource {
  readonly accountId: string;
  readonly vaultId: string;
  /** Null: all of the vault. */
  readonly sourceId: string | null;
}

/** Sources are not found any more, and their names are free. The rows stay, because snapshots refer to them. Can be repeated. */
export async function deleteSources(tx: Tx, { accountId, vaultId, sourceId }: DeletedSource): Promise<void> {
  await sql`select id from vaults where id = ${vaultId} for no key update`.execute(tx.db);
  await sql`
    update sources set deleted_at = ${tx.now}, updated_at = ${tx.now}, version = version + 1
    where account_id = ${accountId} and vault_id = ${vaultId} and deleted_at is null
      and (${sourceId}::uuid is null or id = ${sourceId})`.execute(tx.db);
  for (const table of ["source_aliases", "source_writers"])
    await sql`
      delete from ${sql.table(table)} t using sources s
      where s.id = t.source_id and s.vault_id = ${vaultId} and s.deleted_at is not null`.execute(tx.db);
}

/** The vault is not found any more. Jobs still open it, to remove what it has. Can be repeated. */
export async function deleteVault(tx: Tx, accountId: string, vaultId: string): Promise<void> {
  await sql`
    update vaults set deleted_at = ${tx.now}, updated_at = ${tx.now}, version = version + 1
    where account_id = ${accountId} and id = ${vaultId} and deleted_at is null`.execute(tx.db);
}
