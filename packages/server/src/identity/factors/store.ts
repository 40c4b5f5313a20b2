/** All SQL of passwords, authenticators, recovery codes, codes by SMS and the lockout. Runs in the scope of their person. */

import { timingSafeEqual } from "node:crypto";
import { type Selectable, sql } from "kysely";
import type { Rate } from "../../config.ts";
import type { Random } from "../../kernel/clock.ts";
import type { CredentialsRow } from "../../kernel/database/rows.generated.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { ReadTx, Tx } from "../../kernel/tx.ts";
import { dayMs, failuresPerDay, lockedUntil } from "./attempts.ts";
import {
  type ChallengePurpose,
  challengeSeconds,
  challengeTries,
  codeHash,
  type NewChallenge,
  newCode,
} from "./challenges.ts";

export type CredentialRow = Selectable<CredentialsRow>;

/** Whose credentials: a member's account, or null for staff. */
export interface PersonRef {
  readonly id: string;
  readonly accountId: string | null;
}

/** The contract's ten. */
const recoveryCodeCount = 10;

export async function findCredentials(tx: ReadTx, personId: string): Promise<CredentialRow | undefined> {
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

/** Stores a hash; `changed` is false when the same password was hashed again. */
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

/** Stores a new authenticator until one of its codes confirms it. */
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

/** Uses up a time step. True for the first caller over all processes; never for an earlier step. */
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

export async function countRecoveryCodes(tx: ReadTx, personId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("recovery_codes")
    .select((call) => call.fn.countAll<number>().as("count"))
    .where("person_id", "=", personId)
    .where("used_at", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Forgets the factors of a person who is no member any more. */
export async function eraseFactors(tx: Tx, personId: string): Promise<void> {
  await tx.db.deleteFrom("otp_challenges").where("person_id", "=", personId).execute();
  await tx.db.deleteFrom("recovery_codes").where("person_id", "=", personId).execute();
  await tx.db.deleteFrom("credentials").where("person_id", "=", personId).execute();
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

/** Limits per phone, against costs at the gateway and annoyed owners. No answer shows that they were reached. */
const messagesPerPhoneHour = 5;

const messagesPerPhoneDay = 15;

const hourMs = 60 * 60 * 1000;

interface Sources {
  readonly secrets: Secrets;
  readonly random: Random;
}

/** Stores a challenge and gives its code back, to be sent or dropped. */
export async function insertChallenge(tx: Tx, { secrets, random }: Sources, challenge: NewChallenge): Promise<string> {
  const code = newCode(random);
  await tx.db
    .insertInto("otp_challenges")
    .values({
      id: challenge.id,
      account_id: challenge.accountId,
      person_id: challenge.personId,
      purpose: challenge.purpose,
      code_hash: codeHash(secrets, challenge.id, code),
      phone: challenge.phone ?? null,
      link_id: challenge.linkId ?? null,
      tries_left: challengeTries,
      created_at: tx.now,
      expires_at: new Date(tx.now.getTime() + challengeSeconds * 1000),
    })
    .execute();
  return code;
}

/** Uses up a try, and the challenge when the code is right. The caller must commit also when it is wrong. */
export async function spendChallenge(
  tx: Tx,
  secrets: Secrets,
  asked: { readonly id: string; readonly personId: string; readonly purpose: ChallengePurpose; readonly code: string },
): Promise<{ readonly phone: string | null; readonly linkId: string | null } | null> {
  const row = await tx.db
    .updateTable("otp_challenges")
    .set({ tries_left: sql<number>`tries_left - 1` })
    .where("id", "=", asked.id)
    .where("person_id", "=", asked.personId)
    .where("purpose", "=", asked.purpose)
    .where("used_at", "is", null)
    .where("tries_left", ">", 0)
    .where("expires_at", ">", tx.now)
    .returning(["code_hash", "phone", "link_id"])
    .executeTakeFirst();
  const given = codeHash(secrets, asked.id, asked.code);
  if (!timingSafeEqual(row?.code_hash ?? Buffer.alloc(given.length), given) || row === undefined) return null;
  await tx.db.updateTable("otp_challenges").set({ used_at: tx.now }).where("id", "=", asked.id).execute();
  return { phone: row.phone, linkId: row.link_id };
}

/** Whether this phone may get one more message; counts it when it may. One at a time per phone. */
export async function countPhoneMessage(tx: Tx, secrets: Secrets, phone: string): Promise<boolean> {
  const id = secrets.digest("phone", phone);
  await sql`select pg_advisory_xact_lock(${id.readBigInt64BE(0).toString()}::bigint)`.execute(tx.db);
  const { rows } = await sql<{ hour: number; day: number }>`
    select count(*) filter (where sent_at > ${new Date(tx.now.getTime() - hourMs)})::int as hour, count(*)::int as day
    from phone_messages where id = ${id} and sent_at > ${new Date(tx.now.getTime() - dayMs)}`.execute(tx.db);
  const { hour = 0, day = 0 } = rows[0] ?? {};
  if (hour >= messagesPerPhoneHour || day >= messagesPerPhoneDay) return false;
  await tx.db.insertInto("phone_messages").values({ id, sent_at: tx.now }).execute();
  return true;
}

export async function findChallenge(tx: ReadTx, id: string) {
  return tx.db
    .selectFrom("otp_challenges")
    .select(["account_id", "person_id", "purpose", "phone", "expires_at"])
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Counts an attempt, or refuses with `too_many_attempts`. `override` is the sandbox's own lockout. */
export async function countAttempt(tx: Tx, id: Buffer, override: Rate | null): Promise<{ lockedNow: boolean }> {
  const dayStart = new Date(tx.now.getTime() - dayMs);
  const { rows } = await sql<{ consecutive: number; day_count: number; day_started_at: Date }>`
    insert into attempts as a (id, consecutive, day_started_at, day_count, updated_at)
      values (${id}, 1, ${tx.now}, 1, ${tx.now})
    on conflict (id) do update set
      consecutive = a.consecutive + 1,
      day_started_at = case when a.day_started_at <= ${dayStart} then ${tx.now} else a.day_started_at end,
      day_count = case when a.day_started_at <= ${dayStart} then 1 else a.day_count + 1 end,
      updated_at = ${tx.now}
      where a.locked_until is null or a.locked_until <= ${tx.now}
    returning consecutive, day_count, day_started_at`.execute(tx.db);
  const [row] = rows;
  if (row === undefined) throw await refusal(tx, id);
  const until = lockedUntil(row, tx.now, override);
  if (until === null) return { lockedNow: false };
  await tx.db.updateTable("attempts").set({ locked_until: until }).where("id", "=", id).execute();
  return { lockedNow: true };
}

/** Counts a failure without a lockout; true for the first hundred of a day. */
export async function countFailure(tx: Tx, id: Buffer): Promise<boolean> {
  const dayStart = new Date(tx.now.getTime() - dayMs);
  const { rows } = await sql<{ day_count: number }>`
    insert into attempts as a (id, consecutive, day_started_at, day_count, updated_at)
      values (${id}, 0, ${tx.now}, 1, ${tx.now})
    on conflict (id) do update set
      day_started_at = case when a.day_started_at <= ${dayStart} then ${tx.now} else a.day_started_at end,
      day_count = case when a.day_started_at <= ${dayStart} then 1 else a.day_count + 1 end,
      updated_at = ${tx.now}
    returning day_count`.execute(tx.db);
  return (rows[0]?.day_count ?? 0) <= failuresPerDay;
}

/** Gives the attempt back and ends the row of failures: everything that was asked for was right. */
export async function forgiveAttempt(tx: Tx, id: Buffer): Promise<void> {
  await tx.db
    .updateTable("attempts")
    .set({ consecutive: 0, day_count: sql<number>`greatest(day_count - 1, 0)`, locked_until: null })
    .where("id", "=", id)
    .execute();
}

async function refusal(tx: ReadTx, id: Buffer): Promise<Problem> {
  const row = await tx.db.selectFrom("attempts").select("locked_until").where("id", "=", id).executeTakeFirst();
  const waitMs = (row?.locked_until?.getTime() ?? tx.now.getTime()) - tx.now.getTime();
  return new Problem("too_many_attempts", {
    headers: { "Retry-After": String(Math.max(1, Math.ceil(waitMs / 1000))) },
  });
}
