/** All SQL of taxpayers. What their sources say is read through `summaryOfVault` of the vaults. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { TaxpayersRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { nameOrder, summaryOfVault, type VaultSummary } from "../vaults/index.ts";

export type TaxpayerRow = Selectable<TaxpayersRow> & VaultSummary & { readonly freshness_order: string };

export interface NewTaxpayer {
  readonly id: string;
  readonly accountId: string;
  readonly taxId: string;
  readonly name: string;
  readonly vaultId: string;
}

/** Returns false when the account has a taxpayer with this tax number. */
export async function insertTaxpayer(tx: Tx, taxpayer: NewTaxpayer): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto("taxpayers")
    .values({
      id: taxpayer.id,
      account_id: taxpayer.accountId,
      tax_id: taxpayer.taxId,
      name: taxpayer.name,
      name_order: nameOrder(taxpayer.name),
      state: "active",
      vault_id: taxpayer.vaultId,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .onConflict((conflict) => conflict.columns(["account_id", "tax_id"]).where("deleted_at", "is", null).doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function findTaxpayer(tx: ReadTx, accountId: string, id: string): Promise<TaxpayerRow | undefined> {
  return taxpayers(tx, accountId).where("taxpayers.id", "=", id).executeTakeFirst();
}

/** The same, held until the end of the transaction. */
export async function lockTaxpayer(tx: Tx, accountId: string, id: string): Promise<TaxpayerRow | undefined> {
  await tx.db
    .selectFrom("taxpayers")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .execute();
  return findTaxpayer(tx, accountId, id);
}

export interface TaxpayerFilter {
  readonly state?: TaxpayersRow["state"];
  readonly freshness?: VaultSummary["freshness"];
  /** Null: those of every vault of the account. */
  readonly within: readonly string[] | null;
}

export async function listTaxpayers(
  tx: ReadTx,
  accountId: string,
  filter: TaxpayerFilter,
  page: PageStart,
): Promise<TaxpayerRow[]> {
  let inner = taxpayers(tx, accountId);
  if (filter.state !== undefined) inner = inner.where("taxpayers.state", "=", filter.state);
  if (filter.within !== null) {
    inner = inner.where(sql<boolean>`taxpayers.vault_id = any(${[...filter.within]}::uuid[])`);
  }
  // One level further out, so that computed columns can be compared and sorted by.
  const select = tx.db.selectFrom(inner.as("found")).selectAll();
  const fresh = filter.freshness === undefined ? select : select.where("freshness", "=", filter.freshness);
  return pageRows(fresh, page);
}

export interface TaxpayerChange {
  readonly name?: string;
  readonly state?: TaxpayersRow["state"];
}

export async function updateTaxpayer(tx: Tx, accountId: string, id: string, change: TaxpayerChange): Promise<void> {
  await tx.db
    .updateTable("taxpayers")
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

/** The taxpayer of this vault is not found any more, and its tax number is free. Can be repeated. */
export async function deleteTaxpayer(tx: Tx, accountId: string, vaultId: string): Promise<void> {
  await tx.db
    .updateTable("taxpayers")
    .set({ deleted_at: tx.now, updated_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("vault_id", "=", vaultId)
    .where("deleted_at", "is", null)
    .execute();
}

function taxpayers(tx: ReadTx, accountId: string) {
  return tx.db
    .selectFrom("taxpayers")
    .innerJoinLateral(summaryOfVault("taxpayers.vault_id", tx.now).as<"summary">("summary"), (join) => join.onTrue())
    .selectAll("taxpayers")
    .selectAll("summary")
    .select(sql<string>`summary.freshness_rank::text || taxpayers.name_order`.as("freshness_order"))
    .where("taxpayers.account_id", "=", accountId)
    .where("taxpayers.deleted_at", "is", null);
}
