/** All SQL of accounts. Runs with row access to the account, with row access `staff` for lists. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { AccountsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type AccountRow = Selectable<AccountsRow> & { readonly entitlements: readonly string[] };

/** The account with what its package and its own settings entitle it to. */
export async function findAccount(tx: ReadTx, accountId: string): Promise<AccountRow | undefined> {
  const found = await accounts(tx).where("accounts.id", "=", accountId).executeTakeFirst();
  return found && withEntitlements(found);
}

/** The same, held until the end of the transaction. */
export async function lockAccount(tx: Tx, accountId: string): Promise<AccountRow | undefined> {
  await tx.db.selectFrom("accounts").select("id").where("id", "=", accountId).forUpdate().execute();
  return findAccount(tx, accountId);
}

export interface NewAccount {
  readonly id: string;
  readonly kind: AccountsRow["kind"];
  readonly name: string;
  readonly taxId: string;
  readonly package: string;
  readonly language: "tr" | "en";
  readonly applicationId: string | null;
}

export async function insertAccount(tx: Tx, account: NewAccount): Promise<void> {
  await tx.db
    .insertInto("accounts")
    .values({
      id: account.id,
      kind: account.kind,
      name: account.name,
      tax_id: account.taxId,
      package: account.package,
      state: "active",
      language: account.language,
      application_id: account.applicationId,
      state_changed_at: tx.now,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .execute();
}

export interface AccountChange {
  readonly name?: string;
  readonly language?: "tr" | "en";
  readonly sms_sign_in?: boolean;
  readonly package?: string;
  readonly early_access?: boolean;
  readonly state?: "active" | "suspended" | "closed";
  readonly erase_after?: Date;
}

export async function updateAccount(tx: Tx, accountId: string, change: AccountChange): Promise<void> {
  await tx.db
    .updateTable("accounts")
    .set({
      ...change,
      ...(change.state !== undefined && { state_changed_at: tx.now }),
      updated_at: tx.now,
      version: sql`version + 1`,
    })
    .where("id", "=", accountId)
    .execute();
}

/** Switches an entitlement on or off for one account, or back to what its package says (`null`). */
export async function setEntitlement(
  tx: Tx,
  accountId: string,
  entitlement: string,
  enabled: boolean | null,
): Promise<void> {
  await tx.db
    .deleteFrom("account_entitlements")
    .where("account_id", "=", accountId)
    .where("entitlement", "=", entitlement)
    .execute();
  if (enabled === null) return;
  await tx.db.insertInto("account_entitlements").values({ account_id: accountId, entitlement, enabled }).execute();
}

/** A page of all accounts, newest first; row access `staff`. */
export async function listAccounts(
  tx: ReadTx,
  filter: { readonly state?: AccountsRow["state"] },
  page: PageStart,
): Promise<AccountRow[]> {
  const all = accounts(tx);
  const some = filter.state === undefined ? all : all.where("accounts.state", "=", filter.state);
  return (await pageRows(some, page, "accounts")).map(withEntitlements);
}

export async function countAccountsByState(tx: ReadTx): Promise<Readonly<Record<string, number>>> {
  const rows = await tx.db
    .selectFrom("accounts")
    .select(["state", (call) => call.fn.countAll<number>().as("count")])
    .groupBy("state")
    .execute();
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
}

interface FoundAccount extends Selectable<AccountsRow> {
  readonly package_entitlements: readonly string[];
  readonly switched_on: readonly string[];
  readonly switched_off: readonly string[];
}

/** What the package includes, less what was switched off, plus what was switched on. */
function withEntitlements(found: FoundAccount): AccountRow {
  const { package_entitlements: included, switched_on: on, switched_off: off, ...row } = found;
  const entitlements = new Set(included).difference(new Set(off)).union(new Set(on));
  return { ...row, entitlements: [...entitlements].sort() };
}

/** Three lists, and not one that PostgreSQL joins: setting up that plan takes longer than running these. */
function accounts(tx: ReadTx) {
  return tx.db
    .selectFrom("accounts")
    .selectAll("accounts")
    .select([
      sql<readonly string[]>`(select k.entitlements from packages k where k.name = accounts.package)`.as(
        "package_entitlements",
      ),
      switched(true).as("switched_on"),
      switched(false).as("switched_off"),
    ]);
}

function switched(enabled: boolean) {
  const condition = enabled ? sql`o.enabled` : sql`not o.enabled`;
  return sql<readonly string[]>`array(
    select o.entitlement from account_entitlements o where o.account_id = accounts.id and ${condition})`;
}
