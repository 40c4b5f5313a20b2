/**
 * Codes by SMS. A *challenge* is one code, asked for and not yet shown: six digits, five minutes, five tries, once. It
 * exists for every request, also for people who do not: then no message leaves and no code is right.
 */

import { timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import type { Random } from "../kernel/clock.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Tx } from "../kernel/tx.ts";

/** The contract's 300 seconds. */
export const challengeSeconds = 300;

/** The contract's five: one in 200 000 to guess. */
const challengeTries = 5;

/** Caps per phone that nobody is told of: what a gateway charges for, and what a phone's owner bears. */
const messagesPerPhoneHour = 5;
const messagesPerPhoneDay = 15;

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

export type ChallengePurpose = "sign_in" | "step_up" | "phone";

export interface NewChallenge {
  readonly id: string;
  readonly accountId: string | null;
  /** Null: no code will be right. */
  readonly personId: string | null;
  readonly purpose: ChallengePurpose;
  readonly phone?: string;
  readonly linkId?: string;
}

interface Sources {
  readonly secrets: Secrets;
  readonly random: Random;
}

/** Whether a code by SMS may stand in for the authenticator, at sign-in and to step up: of whom, in which account. */
export function mayUseSms(
  person: { readonly phone_verified_at: Date | null },
  account: { readonly sms_sign_in: boolean } | undefined,
): boolean {
  return account?.sms_sign_in === true && person.phone_verified_at !== null;
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

/** Six digits, each as likely as any other: numbers beyond the last whole million are drawn again. */
function newCode(random: Random): string {
  const codes = 1_000_000;
  const fair = Math.floor(2 ** 32 / codes) * codes;
  let drawn = random.bytes(4).readUInt32BE(0);
  while (drawn >= fair) drawn = random.bytes(4).readUInt32BE(0);
  return String(drawn % codes).padStart(6, "0");
}

/** Bound to its challenge: a code of one is nothing to another. */
function codeHash(secrets: Secrets, challengeId: string, code: string): Buffer {
  return secrets.digest("otp-code", `${challengeId}\n${code}`);
}
