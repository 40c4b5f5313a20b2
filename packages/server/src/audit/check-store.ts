/** All SQL of the last self-check of each chain. */

import type { Selectable } from "kysely";
import type { AuditChecksRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type CheckRow = Selectable<AuditChecksRow>;

export async function saveCheck(tx: Tx, row: CheckRow): Promise<void> {
  const { chain: _chain, account_id: _account, ...result } = row;
  await tx.db
    .insertInto("audit_checks")
    .values(row)
    .onConflict((on) => on.column("chain").doUpdateSet(result))
    .execute();
}

export async function findCheck(tx: ReadTx, chain: string): Promise<CheckRow | undefined> {
  return tx.db.selectFrom("audit_checks").selectAll().where("chain", "=", chain).executeTakeFirst();
}
