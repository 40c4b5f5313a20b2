/** All SQL of checkpoints: those that were made, and the chains that need one. */

import { type Selectable, sql } from "kysely";
import type { AuditCheckpointsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type CheckpointRow = Selectable<AuditCheckpointsRow>;

/** Does nothing where the chain has one at this number. */
export async function insertCheckpoint(tx: Tx, row: Omit<CheckpointRow, "stored_at" | "time_stamp">): Promise<void> {
  await tx.db
    .insertInto("audit_checkpoints")
    .values(row)
    .onConflict((on) => on.columns(["chain", "seq"]).doNothing())
    .execute();
}

export async function findCheckpoint(tx: ReadTx, chain: string, seq: number): Promise<CheckpointRow | undefined> {
  return tx.db
    .selectFrom("audit_checkpoints")
    .selectAll()
    .where("chain", "=", chain)
    .where("seq", "=", seq)
    .executeTakeFirst();
}

export async function lastCheckpoint(tx: ReadTx, chain: string): Promise<CheckpointRow | undefined> {
  return tx.db
    .selectFrom("audit_checkpoints")
    .selectAll()
    .where("chain", "=", chain)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Those of the numbers between two, both included, in order, made before a time. */
export async function checkpointsBetween(
  tx: ReadTx,
  chain: string,
  first: number,
  last: number,
  madeBefore: Date,
): Promise<Pick<CheckpointRow, "seq" | "hash" | "jws">[]> {
  return tx.db
    .selectFrom("audit_checkpoints")
    .select(["seq", "hash", "jws"])
    .where("chain", "=", chain)
    .where("seq", ">=", first)
    .where("seq", "<=", last)
    .where("made_at", "<", madeBefore)
    .orderBy("seq")
    .execute();
}

/** Checkpoints of a chain that are not in the object store yet, the oldest first. */
export async function unstoredCheckpoints(tx: ReadTx, chain: string, limit: number): Promise<CheckpointRow[]> {
  return tx.db
    .selectFrom("audit_checkpoints")
    .selectAll()
    .where("chain", "=", chain)
    .where("stored_at", "is", null)
    .orderBy("seq")
    .limit(limit)
    .execute();
}

export async function setStored(tx: Tx, chain: string, seq: number, timeStamp: Buffer | null): Promise<void> {
  await tx.db
    .updateTable("audit_checkpoints")
    .set({ stored_at: tx.now, time_stamp: timeStamp })
    .where("chain", "=", chain)
    .where("seq", "=", seq)
    .execute();
}

/** Chains after one that have records after their last checkpoint, or checkpoints that are not stored. */
export async function chainsToCheckpoint(tx: ReadTx, after: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ chain: string }>`
    select chain from audit_heads h where chain > ${after} and (
      seq > coalesce((select max(seq) from audit_checkpoints c where c.chain = h.chain), 0)
      or exists (select from audit_checkpoints c where c.chain = h.chain and stored_at is null))
    order by chain limit ${limit}`.execute(tx.db);
  return rows.map(({ chain }) => chain);
}
