/** All SQL of credentials, recovery codes and known devices. Runs in the scope of their person. */

import { type Selectable, sql } from "kysely";
import type { Random } from "../kernel/clock.ts";
import type { CredentialsRow } from "../kernel/database/rows.generated.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Tx } from "../kernel/tx.ts";

export type CredentialRow = Selectable<CredentialsRow>;

/** Whose credentials: a member's account, or null for staff. */
export interface PersonRef {
  readonly id: string;
  readonly accountId: string | null;
}

/** The contract's ten. */
const recoveryCodeCount = 10;

export async function findCredentials(tx: Tx, personId: string): Promise<CredentialRow | undefined> {
  return tx.db.selectFrom("credentials").selectAll().where("person_id", "=", personId).executeTakeFirst();
}

export async function setCredentials(
  tx: Tx,
  person: PersonRef,
  { passwordHash, sealedTotp, totpStep }: { passwordHash: string; sealedTotp: Buffer; totpStep: number },
): Promise<void> {
  const row = {
    account_id: person.accountId,
    password_hash: passwordHash,
    password_changed_at: tx.now,
    changed_at: tx.now,
    sealed_totp: sealedTotp,
    totp_last_step: totpStep,
    sealed_totp_next: null,
    updated_at: tx.now,
  };
  await tx.db
    .insertInto("credentials")
    .values({ person_id: person.id, ...row })
    .onConflict((conflict) => conflict.column("person_id").doUpdateSet(row))
    .execute();
}

/** A new password; `changed` is false for the same one hashed anew. */
export async function setPasswordHash(tx: Tx, personId: string, hash: string, changed: boolean): Promise<void> {
  await tx.db
    .updateTable("credentials")
    .set({
      password_hash: hash,
      updated_at: tx.now,
      ...(changed && { password_changed_at: tx.now, changed_at: tx.now }),
    })
    .where("person_id", "=", personId)
    .execute();
}

/** Keeps an authenticator that was shown until a code of it confirms it. */
export async function setNextTotp(tx: Tx, personId: string, sealed: Buffer | null): Promise<void> {
  await tx.db
    .updateTable("credentials")
    .set({ sealed_totp_next: sealed, updated_at: tx.now })
    .where("person_id", "=", personId)
    .execute();
}

export async function replaceTotp(tx: Tx, personId: string, sealed: Buffer, step: number): Promise<void> {
  await tx.db
    .updateTable("credentials")
    .set({ sealed_totp: sealed, sealed_totp_next: null, totp_last_step: step, changed_at: tx.now, updated_at: tx.now })
    .where("person_id", "=", personId)
    .execute();
}

/** Whether password and factor are still those of that moment; they stay so until the end of the transaction. */
export async function areCredentialsCurrent(tx: Tx, personId: string, changedAt: Date): Promise<boolean> {
  // The person first, as everything does that replaces them: otherwise the two could wait for each other.
  await tx.db.selectFrom("people").select("id").where("id", "=", personId).forKeyShare().execute();
  const row = await tx.db
    .selectFrom("credentials")
    .select("changed_at")
    .where("person_id", "=", personId)
    // Not shared: a sign-in uses a code up next, and two that shared the row would wait for each other.
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row?.changed_at.getTime() === changedAt.getTime();
}

/** Uses up a time step: true for the first that asks, whichever process it runs in, and never for an earlier step. */
export async function spendStep(tx: Tx, personId: string, step: number): Promise<boolean> {
  const result = await tx.db
    .updateTable("credentials")
    .set({ totp_last_step: step, updated_at: tx.now })
    .where("person_id", "=", personId)
    .where("totp_last_step", "<", step)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Makes new recovery codes in place of the old ones and gives them back, this once. */
export async function renewRecoveryCodes(
  tx: Tx,
  { secrets, random }: { readonly secrets: Secrets; readonly random: Random },
  person: PersonRef,
): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, () => newRecoveryCode(random));
  await tx.db.deleteFrom("recovery_codes").where("person_id", "=", person.id).execute();
  const rows = codes.map((code) => ({
    person_id: person.id,
    account_id: person.accountId,
    code_hash: recoveryHash(secrets, person.id, code),
  }));
  await tx.db.insertInto("recovery_codes").values(rows).execute();
  return codes;
}

/** Uses up a recovery code: true once. */
export async function spendRecoveryCode(tx: Tx, secrets: Secrets, personId: string, code: string): Promise<boolean> {
  const result = await tx.db
    .updateTable("recovery_codes")
    .set({ used_at: tx.now })
    .where("person_id", "=", personId)
    .where("code_hash", "=", recoveryHash(secrets, personId, code))
    .where("used_at", "is", null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function countRecoveryCodes(tx: Tx, personId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("recovery_codes")
    .select((call) => call.fn.countAll<number>().as("count"))
    .where("person_id", "=", personId)
    .where("used_at", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Whether this device has been used by this person; notes that it is used again. */
export async function touchDevice(tx: Tx, personId: string, tokenHash: Buffer): Promise<boolean> {
  const result = await tx.db
    .updateTable("devices")
    .set({ last_used_at: tx.now })
    .where("token_hash", "=", tokenHash)
    .where("person_id", "=", personId)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function hasDevices(tx: Tx, personId: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("devices")
    .select("token_hash")
    .where("person_id", "=", personId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** More devices than anybody has; the ones unused for longest make room. */
const maxDevices = 20;

export async function addDevice(tx: Tx, person: PersonRef, tokenHash: Buffer): Promise<void> {
  await sql`delete from devices where token_hash in (
    select token_hash from devices where person_id = ${person.id} order by last_used_at desc offset ${maxDevices - 1})`.execute(
    tx.db,
  );
  await tx.db
    .insertInto("devices")
    .values({
      token_hash: tokenHash,
      person_id: person.id,
      account_id: person.accountId,
      created_at: tx.now,
      last_used_at: tx.now,
    })
    .execute();
}

export async function forgetDevices(tx: Tx, personId: string): Promise<void> {
  await tx.db.deleteFrom("devices").where("person_id", "=", personId).execute();
}

const recoveryAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";

/** `xxxxx-xxxxx` of 32 letters without lookalikes: 50 bits, far beyond what the lockout lets anyone try. */
function newRecoveryCode(random: Random): string {
  const letters = Array.from(random.bytes(10), (byte) => recoveryAlphabet[byte & 31]).join("");
  return `${letters.slice(0, 5)}-${letters.slice(5)}`;
}

function recoveryHash(secrets: Secrets, personId: string, code: string): Buffer {
  return secrets.digest("recovery-code", `${personId}\n${code}`);
}
