/** All SQL of download links: they are found by the hash of their token, used once, and deleted when their time to resume has ended. */

import { type Insertable, type Selectable, sql } from "kysely";
import type { DownloadLinksRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { keptMs, resumableMs } from "./rules.ts";

export type LinkRow = Selectable<DownloadLinksRow>;
export type NewLink = Omit<Insertable<DownloadLinksRow>, "created_at">;

export async function insertLink(tx: Tx, row: NewLink): Promise<void> {
  await tx.db
    .insertInto("download_links")
    .values({ ...row, created_at: tx.now })
    .execute();
}

/** Row access `system`: the account is known only from the row. */
export async function findLink(tx: ReadTx, tokenHash: Buffer): Promise<LinkRow | undefined> {
  return tx.db.selectFrom("download_links").selectAll().where("token_hash", "=", tokenHash).executeTakeFirst();
}

/** Returns false when another request has used the link, or its time has passed. */
export async function markUsed(tx: Tx, { id, account_id: accountId }: LinkRow, cookieHash: Buffer): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("download_links")
    .set({ used_at: tx.now, cookie_hash: cookieHash })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("used_at", "is", null)
    .where("expires_at", ">", tx.now)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Rows of one statement. */
export const purgeBatchSize = 1_000;

/** Deletes links whose time to resume has ended. Returns how many. */
export async function deleteOldLinks(tx: Tx): Promise<number> {
  const before = new Date(tx.now.getTime() - resumableMs - keptMs);
  const { numAffectedRows } = await sql`
    delete from download_links where id in (
      select id from download_links where expires_at <= ${before} limit ${purgeBatchSize} for update skip locked)`.execute(
    tx.db,
  );
  return Number(numAffectedRows ?? 0n);
}
