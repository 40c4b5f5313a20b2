/** All SQL of the first run: one row with the sealed secrets. Runs with row access `platform`. */

import type { ReadTx, Tx } from "../kernel/tx.ts";

/** False when there is a row already. */
export async function insertFirstRun(tx: Tx, sealed: Buffer): Promise<boolean> {
  const result = await tx.db
    .insertInto("first_run")
    .values({ id: 1, sealed, created_at: tx.now })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export async function findFirstRun(tx: ReadTx): Promise<Buffer | undefined> {
  const row = await tx.db.selectFrom("first_run").select("sealed").where("id", "=", 1).executeTakeFirst();
  return row?.sealed;
}
