/** The SQL of the sandbox clock: one row with the milliseconds that the application's clock is ahead. */

import { sql } from "kysely";
import type { Pool } from "pg";
import { notifyClockMoved } from "../kernel/jobs/index.ts";
import type { Tx } from "../kernel/tx.ts";

/** With row access `platform`. Workers of all processes then look for jobs that have become due. */
export async function advanceClock(tx: Tx, ms: number): Promise<void> {
  await sql`
    insert into sandbox_clock as c (id, offset_ms) values (1, ${ms})
    on conflict (id) do update set offset_ms = c.offset_ms + excluded.offset_ms`.execute(tx.db);
  await notifyClockMoved(tx);
}

/** The application role may read it without row access. */
export async function readClockOffset(app: Pool): Promise<number> {
  const { rows } = await app.query<{ offset_ms: number }>("select emanet.sandbox_offset() as offset_ms");
  return rows[0]?.offset_ms ?? 0;
}
