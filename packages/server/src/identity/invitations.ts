/**
 * Invitations: the mails that an account has sent to people who are not members yet, counted so that nobody is flooded
 * in its name. Runs in the scope of the account. What an account may send depends on its own mails alone: a limit that
 * others share would tell of their invitations.
 */

import { sql } from "kysely";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";

const hourSeconds = 3_600;
const daySeconds = 86_400;

/** The contract's limits. Every mail counts to the day, resends too: who gets them does not see a difference. */
const mailsPerDay = { policy: "invitations", limit: 20, window: daySeconds } as const;
const resendsPerHour = { policy: "invitation_resends", limit: 1, window: hourSeconds } as const;

export interface InvitationMail {
  readonly accountId: string;
  readonly emailKey: string;
  /** Whether it repeats an invitation. Inviting somebody anew within the hour counts as that too. */
  readonly again: boolean;
}

/** Counts a mail, or refuses with `rate_limited`. One at a time per account. */
export async function countInvitation(tx: Tx, ctx: Pick<Ctx, "secrets" | "random">, mail: InvitationMail) {
  const address = ctx.secrets.digest("invitation", JSON.stringify([mail.accountId, mail.emailKey]));
  const lock = ctx.secrets.digest("invitation", mail.accountId).readBigInt64BE(0).toString();
  await sql`select pg_advisory_xact_lock(${lock}::bigint)`.execute(tx.db);
  const since = (seconds: number) => new Date(tx.now.getTime() - seconds * 1000);
  const recent = sql`address = ${address} and sent_at > ${since(hourSeconds)}`;
  const { rows } = await sql<{ mails: number; first: Date; mailed: boolean; resent: Date | null }>`
    select count(*)::int as mails, min(sent_at) as first, coalesce(bool_or(${recent}), false) as mailed,
      max(sent_at) filter (where again and ${recent}) as resent
    from invitations where account_id = ${mail.accountId} and sent_at > ${since(daySeconds)}`.execute(tx.db);
  const [seen] = rows;
  if (seen === undefined) throw new Error("an aggregate returned no row");
  const again = mail.again || seen.mailed;
  const refusals = [
    ...(seen.mails >= mailsPerDay.limit ? [refusal(mailsPerDay, seen.first, tx.now)] : []),
    ...(again && seen.resent !== null ? [refusal(resendsPerHour, seen.resent, tx.now)] : []),
  ];
  const [slowest] = refusals.toSorted((a, b) => b.retry_after - a.retry_after);
  if (slowest !== undefined) {
    throw new Problem("rate_limited", {
      headers: { "Retry-After": String(slowest.retry_after) },
      members: slowest,
    });
  }
  const row = { id: ctx.random.uuid(), account_id: mail.accountId, address, again, sent_at: tx.now };
  await tx.db.insertInto("invitations").values(row).execute();
}

/** Over as soon as the mail that is in the way has left the window. */
function refusal<P extends { readonly window: number }>(policy: P, sentAt: Date, now: Date) {
  const leftMs = sentAt.getTime() + policy.window * 1000 - now.getTime();
  return { ...policy, retry_after: Math.max(1, Math.ceil(leftMs / 1000)) };
}
