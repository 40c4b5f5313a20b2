/**
 * Enrolment: from a link in a mail to a person who can sign in. Every step sends the link. The last step uses it up and
 * stores password, authenticator, recovery codes and phone in one commit; no earlier step changes anything.
 */

import { findPerson, findPersonByEmail, type PersonRow } from "../../accounts/index.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { newTotpSecret, openTotp, sealTotp } from "../factors/index.ts";
import { findLink, type LinkPurpose, type LinkRow, makeLink, setLinkTotp } from "./store.ts";

/** An enrolment and the setting up of a new authenticator after a reset go the same way. */
export const enrolmentPurposes: readonly LinkPurpose[] = ["enrolment", "second_factor_reset"];

type MailCtx = Pick<Ctx, "random" | "secrets" | "publicUrl">;

/** Mails a person the link to enrol with; in the scope of their account. */
export async function sendEnrolment(tx: Tx, ctx: MailCtx, person: PersonRow): Promise<void> {
  const { id, account_id: accountId, email: to, language } = person;
  const link = await makeLink(tx, ctx, { purpose: "enrolment", accountId, personId: id });
  const payload = mailMessage({ id: ctx.random.uuid(), to, language, template: "enrolment", values: { link } });
  await tx.job({ task: sendMessage, payload });
}

export interface OpenEnrolment {
  readonly link: LinkRow;
  readonly person: PersonRow;
}

/** The enrolment behind a link; `not_found` when the link is used, old or made up. Row access `system`. */
export async function findEnrolment(
  tx: Tx,
  ctx: Pick<Ctx, "secrets">,
  token: string,
  lock: "lock" | "look" = "look",
): Promise<OpenEnrolment> {
  const link = await findLink(tx, ctx.secrets, token, enrolmentPurposes, lock);
  const person = link.person_id === null ? undefined : await findPerson(tx, link.account_id, link.person_id);
  if (person === undefined || person.state === "removed") throw new Problem("not_found");
  return { link, person };
}

/**
 * Refuses with `state_conflict` when another person already signs in with the address, in any account; row access `system`.
 * The link is not used up: it works again when the other person is removed.
 */
export async function requireFreeAddress(tx: Tx, { link, person }: OpenEnrolment): Promise<void> {
  if (link.purpose !== "enrolment") return;
  const holder = await findPersonByEmail(tx, person.email_key);
  if (holder !== undefined && holder.id !== person.id) throw new Problem("state_conflict");
}

/** The authenticator's secret of this enrolment: made when first asked for, the same until the link is spent. */
export async function totpOfEnrolment(
  tx: Tx,
  ctx: Pick<Ctx, "secrets" | "random">,
  { link, person }: OpenEnrolment,
): Promise<string> {
  if (link.sealed_totp !== null) return openTotp(ctx.secrets, person.id, link.sealed_totp);
  const secret = newTotpSecret(ctx.random);
  await setLinkTotp(tx, link.id, sealTotp(ctx.secrets, person.id, secret));
  return secret;
}
