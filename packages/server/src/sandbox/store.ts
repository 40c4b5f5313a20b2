/** The SQL of the sandbox clock: one row, how far the application's clock is ahead. Runs with row access `platform`. */

import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";

export async function advanceClock(tx: Tx, ms: number): Promise<void> {
  await sql`
    insert into sandbox_clock as c (id, offset_ms) values (1, ${ms})
    on conflict (id) do update set offset_ms = c.offset_ms + excluded.offset_ms`.execute(tx.db);
}
