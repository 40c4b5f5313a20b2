/** The SQL of the parts of archives: consecutive entries, with what the tree alone does not say of them. */

import { type Selectable, sql } from "kysely";
import type { RestorePartsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { openStates } from "./rules.ts";

export type PartRow = Omit<Selectable<RestorePartsRow>, "restore_id" | "account_id">;

/** Of a CRC-32 in `checksums`, little endian. */
export const checksumBytes = 4;

export async function insertPart(tx: Tx, accountId: string, id: string, part: PartRow): Promise<void> {
  await tx.db
    .insertInto("restore_parts")
    .values({ restore_id: id, account_id: accountId, ...part })
    .execute();
}

function parts(tx: ReadTx, accountId: string, id: string) {
  return tx.db.selectFrom("restore_parts").selectAll().where("account_id", "=", accountId).where("restore_id", "=", id);
}

/** All parts, in order. Some kilobytes each. */
export async function allParts(tx: ReadTx, accountId: string, id: string): Promise<readonly PartRow[]> {
  return parts(tx, accountId, id).orderBy("part").execute();
}

export async function findPart(tx: ReadTx, accountId: string, id: string, part: number): Promise<PartRow | undefined> {
  return parts(tx, accountId, id).where("part", "=", part).executeTakeFirst();
}

/** The last part that begins at or before a place: of the members, or of the directory. */
export async function partAt(
  tx: ReadTx,
  accountId: string,
  id: string,
  where: "member_offset" | "directory_offset",
  offset: number,
): Promise<PartRow | undefined> {
  return parts(tx, accountId, id)
    .where(where, "<=", offset)
    .orderBy(where, "desc")
    .orderBy("part", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Deletes parts that no download needs any more: of restores that expired before this time, or ended otherwise. Returns how many. */
export async function deleteOldParts(tx: Tx, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from restore_parts where ctid in (
      select p.ctid from restore_parts p join restores r on r.id = p.restore_id
      where r.state not in (${sql.join(openStates)}) and coalesce(r.expires_at, r.ended_at) <= ${tx.now}
      limit ${limit})`.execute(tx.db);
  return Number(numAffectedRows ?? 0n);
}
