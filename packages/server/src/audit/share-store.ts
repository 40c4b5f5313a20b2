/** All SQL of shares: making, finding by id or token, revoking, and whether one can be read now. */

import type { Insertable, Selectable } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { AuditSharesRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type ShareRow = Selectable<AuditSharesRow>;
export type NewShare = Omit<Insertable<AuditSharesRow>, "revoked_at" | "revoked_by">;

export async function insertShare(tx: Tx, row: NewShare): Promise<ShareRow> {
  return tx.db.insertInto("audit_shares").values(row).returningAll().executeTakeFirstOrThrow();
}

/** Shares that can be read now. Two that are made at the same time count each other: the account's row is locked. */
export async function countLiveShares(tx: Tx, accountId: string): Promise<number> {
  await tx.db.selectFrom("accounts").select("id").where("id", "=", accountId).forNoKeyUpdate().execute();
  const { count } = await tx.db
    .selectFrom("audit_shares")
    .select((is) => is.fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", tx.now)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function findShare(tx: ReadTx, accountId: string, id: string): Promise<ShareRow | undefined> {
  return tx.db
    .selectFrom("audit_shares")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
}

export async function lockShare(tx: Tx, accountId: string, id: string): Promise<ShareRow | undefined> {
  return tx.db
    .selectFrom("audit_shares")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
}

export async function listShares(tx: ReadTx, accountId: string, page: PageStart): Promise<ShareRow[]> {
  return pageRows(tx.db.selectFrom("audit_shares").selectAll().where("account_id", "=", accountId), page);
}

export async function revokeShare(tx: Tx, id: string, by: string): Promise<void> {
  await tx.db.updateTable("audit_shares").set({ revoked_at: tx.now, revoked_by: by }).where("id", "=", id).execute();
}

/** Row access `system`: the account is known only from the row. */
export async function findByToken(
  tx: ReadTx,
  tokenHash: Buffer,
): Promise<(ShareRow & { readonly account_state: string }) | undefined> {
  return tx.db
    .selectFrom("audit_shares")
    .innerJoin("accounts", "accounts.id", "audit_shares.account_id")
    .selectAll("audit_shares")
    .select("accounts.state as account_state")
    .where("token_hash", "=", tokenHash)
    .executeTakeFirst();
}

/** Whether it can be read at this moment. */
export async function isLive(tx: ReadTx, { id, account_id: accountId }: ShareRow): Promise<boolean> {
  const row = await tx.db
    .selectFrom("audit_shares")
    .innerJoin("accounts", "accounts.id", "audit_shares.account_id")
    .select("audit_shares.id")
    .where("audit_shares.account_id", "=", accountId)
    .where("audit_shares.id", "=", id)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", tx.now)
    .where("accounts.state", "<>", "closed")
    .executeTakeFirst();
  return row !== undefined;
}
