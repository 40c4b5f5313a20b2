/** The clock of the database. Only what deletes asks for it: what is due is otherwise decided by the application's clock. */

import { sql } from "kysely";
import type { ReadTx } from "../kernel/tx.ts";

/** In milliseconds since 1970. */
export async function databaseTime(tx: ReadTx): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx.db);
  return rows[0]?.now.getTime() ?? Number.NaN;
}
