/** The one statement of this domain: it asks whether the database answers. */

import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";

export async function pingDatabase(tx: Tx): Promise<void> {
  await sql`select 1`.execute(tx.db);
}
