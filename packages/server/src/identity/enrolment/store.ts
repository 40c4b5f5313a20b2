/**
 * All SQL of links and invitations.
 *
 * A *link* in a mail carries a secret of 256 bits, of which a hash is stored. It is good once and for a limited time. It
 * is spent by a POST, because mail programs open links before their reader does.
 *
 * An *invitation* is a mail that an account sent to a person who is not a member yet. They are counted, so that an
 * account cannot flood an address. The limit counts only the account's own mails: a shared limit would show that other
 * accounts invited the same address.
 */

import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { LinksRow } from "../../kernel/database/rows.generated.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { ReadTx, Tx } from "../../kernel/tx.ts";

export type LinkRow = Selectable<LinksRow>;

export type LinkPurpose = LinkRow["purpose"];

/** 256 bits. */
const tokenBytes = 32;

const hourMs = 60 * 60 * 1000;

/** How long each kind is valid: a week for an enrolment, an hour for a reset. */
export const linkLifeMs: Readonly<Record<LinkPurpose, number>> = {
  enrolment: 7 * 24 * hourMs,
  second_factor_reset: 7 * 24 * hourMs,
  withdrawal: 30 * 24 * hourMs,
  password_reset: hourMs,
};

export interface NewLink {
  readonly purpose: LinkPurpose;
  readonly accountId: string | null;
  readonly personId: string | null;
  readonly applicationId?: string;
  readonly sealedTotp?: (linkId: string) => Buffer;
}

type LinkSources = Pick<Ctx, "random" | "secrets" | "publicUrl">;

/** Kinds of which a new link ends the earlier ones; their mail says so. */
const replacing: readonly LinkPurpose[] = ["enrolment", "second_factor_reset"];

/**
 * Creates a link and returns its address for the mail. A link of a kind in {@link replacing} ends the person's earlier ones.
 * A new link for a password reset does not: anyone can request one, and it must not end the link that the owner requested.
 */
export async function makeLink(tx: Tx, { random, secrets, publicUrl }: LinkSources, link: NewLink): Promise<string> {
  const id = random.uuid();
  const token = `${link.purpose.slice(0, 3)}_${random.bytes(tokenBytes).toString("base64url")}`;
  if (link.personId !== null && replacing.includes(link.purpose)) await endLinks(tx, link.personId, link.purpose);
  await tx.db
    .insertInto("links")
    .values({
      id,
      account_id: link.accountId,
      person_id: link.personId,
      application_id: link.applicationId ?? null,
      purpose: link.purpose,
      token_hash: tokenHash(secrets, token),
      sealed_totp: link.sealedTotp?.(id) ?? null,
      created_at: tx.now,
      expires_at: new Date(tx.now.getTime() + linkLifeMs[link.purpose]),
    })
    .execute();
  // Behind the hash sign: browsers keep that part to themselves, so it is in no log of any server.
  return `${publicUrl}/${pages[link.purpose]}#${token}`;
}

const pages: Readonly<Record<LinkPurpose, string>> = {
  enrolment: "enrol",
  second_factor_reset: "enrol",
  withdrawal: "withdraw",
  password_reset: "reset-password",
};

/** The valid link of a token. With `lock`, of two requests that use it up the second waits and then fails. */
export async function findLink(
  tx: Tx,
  secrets: Secrets,
  token: string,
  purposes: readonly LinkPurpose[],
  lock: "lock" | "look" = "look",
): Promise<LinkRow> {
  let select = tx.db
    .selectFrom("links")
    .selectAll()
    .where("token_hash", "=", tokenHash(secrets, token))
    .where("purpose", "in", [...purposes])
    .where("spent_at", "is", null)
    .where("expires_at", ">", tx.now);
  if (lock === "lock") select = select.forUpdate();
  const link = await select.executeTakeFirst();
  if (link === undefined) throw new Problem("not_found");
  return link;
}

export async function spendLink(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable("links").set({ spent_at: tx.now }).where("id", "=", id).execute();
}

/** Ends a person's unused links of one kind. */
export async function endLinks(tx: Tx, personId: string, purpose: LinkPurpose): Promise<void> {
  await tx.db
    .updateTable("links")
    .set({ spent_at: tx.now })
    .where("person_id", "=", personId)
    .where("purpose", "=", purpose)
    .where("spent_at", "is", null)
    .execute();
}

/** The number of a person's valid links of one kind. */
export async function countLiveLinks(tx: ReadTx, personId: string, purpose: LinkPurpose): Promise<number> {
  const { count } = await tx.db
    .selectFrom("links")
    .select((call) => call.fn.countAll<number>().as("count"))
    .where("person_id", "=", personId)
    .where("purpose", "=", purpose)
    .where("spent_at", "is", null)
    .where("expires_at", ">", tx.now)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function setLinkTotp(tx: Tx, id: string, sealed: Buffer): Promise<void> {
  await tx.db.updateTable("links").set({ sealed_totp: sealed }).where("id", "=", id).execute();
}

function tokenHash(secrets: Secrets, token: string): Buffer {
  return secrets.digest("link", token);
}

const hourSeconds = 3_600;

const daySeconds = 86_400;

/** The contract's limits. Every mail counts to the day, resends too: who gets them does not see a difference. */
const mailsPerDay = { policy: "invitations", limit: 20, window: daySeconds } as const;

const resendsPerHour = { policy: "invitation_resends", limit: 1, window: hourSeconds } as const;

export interface InvitationMail {
  readonly accountId: string;
  readonly emailKey: string;
  /** Whether it repeats an invitation. A new invitation to the same address within the hour counts as a repeat too. */
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

/** The refusal ends when the mail that caused it has left the window. */
function refusal<P extends { readonly window: number }>(policy: P, sentAt: Date, now: Date) {
  const leftMs = sentAt.getTime() + policy.window * 1000 - now.getTime();
  return { ...policy, retry_after: Math.max(1, Math.ceil(leftMs / 1000)) };
}
