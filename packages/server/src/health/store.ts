/** The one statement of this domain: it asks whether the database answers. */

import { sql } from "kysely";
import type { ReadTx } from "../kernel/tx.ts";

export async function pingDatabase(tx: ReadTx): Promise<void> {
  await sql`select 1`.execute(tx.db);
}
