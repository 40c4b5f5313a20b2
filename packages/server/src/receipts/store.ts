/** All SQL of receipt keys. Runs with row access `platform`. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export interface ReceiptKeyRow {
  readonly number: number;
  readonly kid: string;
  readonly public_key: Buffer;
  readonly sealed_private: Buffer | null;
  readonly introduction: string | null;
  readonly created_at: Date;
}

/** All keys, the newest first. */
export async function allKeys(tx: ReadTx): Promise<ReceiptKeyRow[]> {
  return tx.db
    .selectFrom("receipt_keys")
    .select(["number", "kid", "public_key", "sealed_private", "introduction", "created_at"])
    .orderBy("number", "desc")
    .execute();
}

/** A lock until the end of the transaction: one process at a time decides whether a key is due. */
export async function lockKeys(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('emanet.receipt_keys'))`.execute(tx.db);
}

/** Adds the next key and deletes the private parts of the others. */
export async function addKey(tx: Tx, key: ReceiptKeyRow): Promise<void> {
  await tx.db.insertInto("receipt_keys").values(key).execute();
  await tx.db.updateTable("receipt_keys").set({ sealed_private: null }).where("number", "<>", key.number).execute();
}
