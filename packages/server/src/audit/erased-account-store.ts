/**
 * The SQL of erasing a closed account: who its people were, and what else says whose it was. Rows that audit records, proofs and invoices name by
 * their id stay, without names.
 */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { erasedName } from "./identities.ts";

/** An account whose last vault was erased by its closing. */
export interface ErasedAccount {
  readonly id: string;
  readonly application_id: string | null;
  readonly erased_at: Date;
}

/** Accounts whose last vault was erased by their closing and whose people are not erased yet; row access `system`. */
export async function accountsToErase(tx: ReadTx, limit: number): Promise<readonly ErasedAccount[]> {
  const { rows } = await sql<ErasedAccount>`
    select a.id, a.application_id, e.erased_at from accounts a
      join vaults v on v.account_id = a.id and v.kind = 'default'
      join erasures e on e.vault_id = v.id and e.state = 'erased' and e.cause = 'account_closing'
    where a.state = 'closed' and a.erased_at is null and a.erase_after is not null
      and not exists (select from vaults o left join erasures oe on oe.vault_id = o.id
        where o.account_id = a.id and oe.state is distinct from 'erased' and (o.deleted_at is null or o.keys_made_at is not null))
    order by e.erased_at limit ${limit}`.execute(tx.db);
  return rows;
}

/** People of the account whose names are still there; without owners, or all. */
export async function peopleToErase(
  tx: ReadTx,
  accountId: string,
  owners: "with" | "without",
): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select p.id from people p left join audit_identities i on i.person_id = p.id
    where p.account_id = ${accountId} and (p.role <> 'owner' or p.state = 'removed' or ${owners === "with"})
      and (p.full_name <> ${erasedName} or p.state <> 'removed' or i.erased_at is null) order by p.id`.execute(tx.db);
  return rows.map(({ id }) => id);
}

/** What a person had beside factors: sessions end, links and known devices go. */
export async function endPerson(tx: Tx, personId: string): Promise<void> {
  await sql`
    update sessions set revoked_at = ${tx.now}, revoked_reason = 'account_erased'
    where person_id = ${personId} and revoked_at is null`.execute(tx.db);
  await sql`delete from links where person_id = ${personId}`.execute(tx.db);
  await sql`delete from devices where person_id = ${personId}`.execute(tx.db);
  await sql`delete from second_factor_resets where person_id = ${personId}`.execute(tx.db);
}

/** A host under .invalid belongs to nobody (RFC 2606). */
const erasedUrl = "https://erased.invalid/";
const erasedTaxId = "0000000000";

/** Names of the account, its machines, programs and receivers; row access to the account. */
export async function eraseAccountRows(tx: Tx, accountId: string): Promise<void> {
  for (const statement of [
    sql`update oauth_clients set name = ${erasedName}, redirect_uris = '{}', revoked_at = coalesce(revoked_at, ${tx.now})
      where account_id = ${accountId}`,
    sql`delete from oauth_client_secrets where account_id = ${accountId}`,
    sql`update agents set name = ${erasedName}, host = null, os = null, roots = '{}', revoked_at = coalesce(revoked_at, ${tx.now})
      where account_id = ${accountId}`,
    sql`update webhooks set url = ${erasedUrl}, description = null, removed_at = coalesce(removed_at, ${tx.now})
      where account_id = ${accountId}`,
    sql`delete from webhook_secrets where account_id = ${accountId}`,
    sql`update audit_shares set label = ${erasedName} where account_id = ${accountId}`,
    sql`update limit_requests set reason = ${erasedName} where account_id = ${accountId}`,
    sql`delete from invitations where account_id = ${accountId}`,
    sql`update accounts set name = ${erasedName}, tax_id = ${erasedTaxId}, erased_at = ${tx.now}, updated_at = ${tx.now}, version = version + 1
      where id = ${accountId}`,
  ])
    await statement.execute(tx.db);
}

/** The application that the account was made from; row access `system`. */
export async function eraseApplication(tx: Tx, id: string): Promise<void> {
  const email = `${id}@erased.invalid`;
  await sql`
    update applications set full_name = ${erasedName}, email = ${email}, email_key = ${email}, phone = '', company_name = ${erasedName},
      tax_id = ${erasedTaxId}, note = null, decision_reason = null, updated_at = ${tx.now}, version = version + 1
    where id = ${id}`.execute(tx.db);
}
