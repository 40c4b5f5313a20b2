/** All SQL of signing keys. Runs with row access `platform`. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export interface SigningKeyRow {
  readonly kid: string;
  readonly public_jwk: unknown;
  readonly sealed_private: Buffer;
  readonly created_at: Date;
  readonly active_at: Date;
  readonly expires_at: Date | null;
}

/** Keys that may still verify tokens, newest first. */
export async function liveKeys(tx: ReadTx): Promise<SigningKeyRow[]> {
  return tx.db
    .selectFrom("signing_keys")
    .select(["kid", "public_jwk", "sealed_private", "created_at", "active_at", "expires_at"])
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", tx.now)]))
    .orderBy("active_at", "desc")
    .execute();
}

/** A lock until the end of the transaction: one process at a time decides whether a key is due. */
export async function lockRotation(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('emanet.signing_keys'))`.execute(tx.db);
}

export async function insertKey(
  tx: Tx,
  key: { kid: string; publicJwk: object; sealedPrivate: Buffer; activeAt: Date },
): Promise<void> {
  await tx.db
    .insertInto("signing_keys")
    .values({
      kid: key.kid,
      public_jwk: JSON.stringify(key.publicJwk),
      sealed_private: key.sealedPrivate,
      created_at: tx.now,
      active_at: key.activeAt,
    })
    .execute();
}

/** All keys except one stop signing. They verify until `expiresAt`. */
export async function retireOthers(tx: Tx, kid: string, retiredAt: Date, expiresAt: Date): Promise<void> {
  await tx.db
    .updateTable("signing_keys")
    .set({ retired_at: retiredAt, expires_at: expiresAt })
    .where("kid", "<>", kid)
    .where("expires_at", "is", null)
    .execute();
}

export async function deleteExpired(tx: Tx): Promise<void> {
  await tx.db.deleteFrom("signing_keys").where("expires_at", "<=", tx.now).execute();
}
