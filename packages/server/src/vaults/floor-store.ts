/** The floor of a policy: so many days no snapshot of the source is removed, by nobody. */

import { sql } from "kysely";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx } from "../kernel/tx.ts";

/**
 * The floor in days that holds for a source: that of its own policy, or of its vault's if it has none. Null: there is none. Policies
 * are a later domain, which this one cannot ask.
 */
export async function floorDaysOf(tx: ReadTx, vaultId: string, sourceId: string): Promise<number | null> {
  const { rows } = await sql<{ floor_days: number | null }>`
    select floor_days from retention_policies
    where vault_id = ${vaultId} and (source_id = ${sourceId} or source_id is null)
    order by source_id nulls last limit 1`.execute(tx.db);
  return rows[0]?.floor_days ?? null;
}

interface Snapshot {
  readonly vault_id: string;
  readonly source_id: string;
  readonly completed_at: Date | null;
}

/** Throws `retention_locked` while the floor keeps a snapshot. Days are those of Istanbul. */
export async function assertOverFloor(tx: ReadTx, snapshot: Snapshot): Promise<void> {
  const floor = snapshot.completed_at && (await floorDaysOf(tx, snapshot.vault_id, snapshot.source_id));
  if (floor === null || snapshot.completed_at === null) return;
  if (dayIn(tx.now) - dayIn(snapshot.completed_at) <= floor) throw new Problem("retention_locked");
}

const hourMs = 3_600_000;

/** The number of a day in Istanbul, which is three hours ahead all year. */
function dayIn(moment: Date): number {
  return Math.floor((moment.getTime() + 3 * hourMs) / (24 * hourMs));
}
