/** The SQL of upkeep: deletes expired rows, in batches, so that no statement locks many rows for long. */

import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";

/** A few milliseconds of work per statement. */
export const batchSize = 1_000;

/** Deletes one batch of the rows whose `column` is not after `before`, and counts them. */
export async function deleteOld(tx: Tx, table: string, key: string, column: string, before: Date): Promise<number> {
  const result = await sql`
    delete from ${sql.table(table)} where ${sql.ref(key)} in (
      select ${sql.ref(key)} from ${sql.table(table)} where ${sql.ref(column)} <= ${before}
      limit ${batchSize} for update skip locked
    )`.execute(tx.db);
  return Number(result.numAffectedRows ?? 0);
}
