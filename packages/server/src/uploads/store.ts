/** All SQL of uploads: who makes one, what it has registered, and what it holds of the quota of its vault. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export interface NewUpload {
  readonly snapshotId: string;
  readonly accountId: string;
  readonly vaultId: string;
  readonly agentId: string;
}

/** Adds the row of an upload, unless it has one. */
export async function addUpload(tx: Tx, upload: NewUpload): Promise<void> {
  await tx.db
    .insertInto("uploads")
    .values({
      snapshot_id: upload.snapshotId,
      account_id: upload.accountId,
      vault_id: upload.vaultId,
      agent_id: upload.agentId,
      begun_at: tx.now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Items that an upload has registered. */
export async function countItems(tx: ReadTx, snapshotId: string): Promise<number> {
  const row = await tx.db
    .selectFrom("uploads")
    .select("item_count")
    .where("snapshot_id", "=", snapshotId)
    .executeTakeFirst();
  return row?.item_count ?? 0;
}

export async function addItems(tx: Tx, snapshotId: string, count: number): Promise<void> {
  await tx.db
    .updateTable("uploads")
    .set({ item_count: sql`item_count + ${count}` })
    .where("snapshot_id", "=", snapshotId)
    .execute();
}

/** Adds to what an upload has reserved, or takes from it. Returns what was added or taken: never more than there was. */
export async function changeReserved(tx: Tx, snapshotId: string, bytes: number): Promise<number> {
  const { rows } = await sql<{ changed: number }>`
    with before as materialized (select reserved_bytes from uploads where snapshot_id = ${snapshotId} for no key update)
    update uploads u set reserved_bytes = greatest(u.reserved_bytes + ${bytes}, 0) from before
    where u.snapshot_id = ${snapshotId}
    returning u.reserved_bytes - before.reserved_bytes as changed`.execute(tx.db);
  return Number(rows[0]?.changed ?? 0);
}
