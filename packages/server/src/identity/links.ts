/**
 * Links in mails. A *link* carries a secret of 256 bits, of which a hash is kept. It is good once and for a limited time,
 * and it is spent by a POST: mail programs that open links ahead of their reader must not use it up.
 */

import type { Selectable } from "kysely";
import type { LinksRow } from "../kernel/database/rows.generated.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Tx } from "../kernel/tx.ts";

export type LinkRow = Selectable<LinksRow>;
export type LinkPurpose = LinkRow["purpose"];

/** 256 bits. */
const tokenBytes = 32;

const hourMs = 60 * 60 * 1000;

/** How long each kind is good for: a week to get round to enrolling, an hour to reset what one has just asked for. */
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

/** Kinds of which a new link ends the earlier ones: their mail says that it takes the place of the one before. */
const replacing: readonly LinkPurpose[] = ["enrolment", "second_factor_reset"];

/**
 * Makes a link and gives its address back, for the mail. Earlier ones of the person end where the new one replaces
 * them; those to reset a password do not: anybody can ask for one, and must not end the one that its owner waits for.
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

/** The link of a token that is still good; `lock` holds it, so that of two that spend it one waits and then fails. */
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

/** How many of a person's links of one kind are still good. */
export async function countLiveLinks(tx: Tx, personId: string, purpose: LinkPurpose): Promise<number> {
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
