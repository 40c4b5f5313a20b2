/** All SQL of vaults, except what is stored in them (`quota-store.ts`). */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { VaultsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { nameOrder } from "./name-order.ts";

export type VaultRow = Selectable<VaultsRow> & { readonly source_count: number };

export interface NewVault {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** Null: the vault of no taxpayer. */
  readonly taxpayerId: string | null;
  readonly quotaBytes: number | null;
  readonly quotaWarningBytes: number | null;
}

export async function insertVault(tx: Tx, vault: NewVault): Promise<void> {
  await tx.db
    .insertInto("vaults")
    .values({
      id: vault.id,
      account_id: vault.accountId,
      name: vault.name,
      name_order: nameOrder(vault.name),
      kind: vault.taxpayerId === null ? "other" : "taxpayer",
      taxpayer_id: vault.taxpayerId,
      quota_bytes: vault.quotaBytes,
      quota_warning_bytes: vault.quotaWarningBytes,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .execute();
}

export async function findVault(tx: ReadTx, accountId: string, id: string): Promise<VaultRow | undefined> {
  return vaults(tx, accountId).where("vaults.id", "=", id).executeTakeFirst();
}

/** The same, also if it is deleted: what it has is still to be removed. Not if it is being erased. */
export async function findVaultToOpen(tx: ReadTx, accountId: string, id: string): Promise<VaultRow | undefined> {
  return anyVaults(tx, accountId).where("vaults.id", "=", id).where("vaults.erasing_at", "is", null).executeTakeFirst();
}

/** Also if it is deleted or being erased. */
export async function findAnyVault(tx: ReadTx, accountId: string, id: string): Promise<VaultRow | undefined> {
  return anyVaults(tx, accountId).where("vaults.id", "=", id).executeTakeFirst();
}

/** The default vault of the account, also if it is being erased. */
export async function findAnyDefaultVault(tx: ReadTx, accountId: string): Promise<VaultRow | undefined> {
  return anyVaults(tx, accountId).where("vaults.kind", "=", "default").executeTakeFirst();
}

export async function findDefaultVault(tx: ReadTx, accountId: string): Promise<VaultRow | undefined> {
  return vaults(tx, accountId).where("vaults.kind", "=", "default").executeTakeFirst();
}

export async function findVaultOfTaxpayer(
  tx: ReadTx,
  accountId: string,
  taxpayerId: string,
): Promise<VaultRow | undefined> {
  return vaults(tx, accountId).where("vaults.taxpayer_id", "=", taxpayerId).executeTakeFirst();
}

/** The vault of the taxpayer with this tax number, which is unique in the account. */
export async function findVaultOfTaxId(tx: ReadTx, accountId: string, taxId: string): Promise<VaultRow | undefined> {
  const taxpayer = tx.db
    .selectFrom("taxpayers")
    .select("taxpayers.id")
    .where("taxpayers.account_id", "=", accountId)
    .where("taxpayers.tax_id", "=", taxId)
    .where("taxpayers.deleted_at", "is", null);
  return vaults(tx, accountId).where("vaults.taxpayer_id", "=", taxpayer).executeTakeFirst();
}

/** The same as {@link findVault}, held until the end of the transaction. Uploads that store at the same time wait. */
export async function lockVault(tx: Tx, accountId: string, id: string): Promise<VaultRow | undefined> {
  await tx.db
    .selectFrom("vaults")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .execute();
  return findVault(tx, accountId, id);
}

export interface VaultFilter {
  readonly kind?: VaultsRow["kind"];
  /** Null: every vault of the account. */
  readonly within: readonly string[] | null;
}

export async function listVaults(
  tx: ReadTx,
  accountId: string,
  filter: VaultFilter,
  page: PageStart,
): Promise<VaultRow[]> {
  let select = vaults(tx, accountId);
  if (filter.kind !== undefined) select = select.where("vaults.kind", "=", filter.kind);
  if (filter.within !== null) select = select.where(sql<boolean>`vaults.id = any(${[...filter.within]}::uuid[])`);
  return pageRows(select, page, "vaults");
}

/** Of one account: more than any office has clients. Each vault costs key objects and a row of the catalog. */
export const maxVaults = 5000;

/** Counts under a lock of the account's default vault, so that two transactions cannot both take the last place. */
export async function countVaults(tx: Tx, accountId: string): Promise<number> {
  await tx.db
    .selectFrom("vaults")
    .select("id")
    .where("account_id", "=", accountId)
    .where("kind", "=", "default")
    .forNoKeyUpdate()
    .execute();
  const { count } = await tx.db
    .selectFrom("vaults")
    .select((call) => call.fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  return count;
}

/** Notes the end of a verification. The row stays locked until the transaction ends: note it last. */
export async function noteVerification(
  tx: Tx,
  vaultId: string,
  { files, failed }: { readonly files: number; readonly failed: number },
): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({ last_verified_at: tx.now, last_verified_files: files, last_verified_failed: failed })
    .where("id", "=", vaultId)
    .execute();
}

export interface VaultChange {
  readonly name?: string;
  readonly quota_bytes?: number | null;
  readonly quota_warning_bytes?: number | null;
}

export async function updateVault(tx: Tx, accountId: string, id: string, change: VaultChange): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({
      ...change,
      ...(change.name !== undefined && { name_order: nameOrder(change.name) }),
      updated_at: tx.now,
      version: sql`version + 1`,
    })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

/** Gives a vault the new name of its taxpayer, unless a person has named it otherwise. */
export async function renameVault(tx: Tx, vaultId: string, from: string, to: string): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({ name: to, name_order: nameOrder(to), updated_at: tx.now, version: sql`version + 1` })
    .where("id", "=", vaultId)
    .where("name", "=", from)
    .execute();
}

/** Notes that the vault has a catalog, unless it has one. Who gets true makes it, in this transaction. */
export async function claimCatalog(tx: Tx, accountId: string, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("vaults")
    .set({ has_catalog: true })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("has_catalog", "=", false)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** From now on the vault is only opened. */
export async function noteKeysMade(tx: Tx, accountId: string, id: string): Promise<void> {
  await tx.db
    .updateTable("vaults")
    .set({ keys_made_at: tx.now })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("keys_made_at", "is", null)
    .execute();
}

/** From now on every process opens the vault with the keys of this epoch. False: there is no such vault. */
export async function noteRotation(tx: Tx, accountId: string, id: string, epoch: number): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("vaults")
    .set({ key_epoch: epoch, keys_rotated_at: tx.now, updated_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Whether any vault has its keys in the object store; row access `system`. */
export async function hasVaultWithKeys(tx: ReadTx): Promise<boolean> {
  const row = await tx.db.selectFrom("vaults").select("id").where("keys_made_at", "is not", null).limit(1).execute();
  return row.length > 0;
}

function vaults(tx: ReadTx, accountId: string) {
  return anyVaults(tx, accountId).where("vaults.deleted_at", "is", null);
}

function anyVaults(tx: ReadTx, accountId: string) {
  return tx.db
    .selectFrom("vaults")
    .selectAll("vaults")
    .select(
      sql<number>`(select count(*) from sources s where s.vault_id = vaults.id and s.deleted_at is null)`.as(
        "source_count",
      ),
    )
    .where("vaults.account_id", "=", accountId);
}

export interface VaultPlace {
  readonly accountId: string;
  readonly vaultId: string;
  /** Its keys are destroyed, or will be: nothing of it is made again. */
  readonly isErasing: boolean;
}

/** Every vault of every account; row access `system`. */
export async function allVaults(tx: ReadTx): Promise<readonly VaultPlace[]> {
  const rows = await tx.db
    .selectFrom("vaults")
    .select(["account_id", "id", "erasing_at"])
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map(({ account_id: accountId, id: vaultId, erasing_at: erasingAt }) => ({
    ...{ accountId, vaultId },
    isErasing: erasingAt !== null,
  }));
}
