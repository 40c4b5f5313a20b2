/** A forgotten password, as the API and the pages replace it: a link by mail, and the new password with it. */

import { findPerson, lockPerson, mailAboutChange, type PersonRow } from "../../accounts/index.ts";
import { foldEmail } from "../../identifiers/index.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import { endLinks, findLink } from "../enrolment/index.ts";
import { hashPassword, requireGoodPassword, setPasswordHash } from "../factors/index.ts";
import { endAccessOf, scopeOfPerson } from "../sessions/index.ts";
import { mailPasswordReset } from "./password-reset.ts";

/** Mails a link if the address is known. The caller does not learn whether it is. */
export async function askForReset(ctx: Ctx, email: string): Promise<void> {
  const emailKey = foldEmail(email);
  await ctx.spend(["login"], `reset ${emailKey}`);
  // Who it is for is looked up by the job: the request does the same work for every address.
  await ctx.tx({ kind: "platform" }, (tx) => tx.job({ task: mailPasswordReset, payload: { email_key: emailKey } }));
}

/** Whose password the link replaces; `not_found` when it is over. Spends nothing. */
export async function findReset(ctx: Ctx, token: string): Promise<PersonRow> {
  const person = await ctx.tx({ kind: "system" }, async (tx) => {
    const link = await findLink(tx, ctx.secrets, token, ["password_reset"]);
    return link.person_id === null ? undefined : findPerson(tx, link.account_id, link.person_id);
  });
  if (person === undefined || person.state !== "active") throw new Problem("not_found");
  return person;
}

/** Stores the new password, ends all reset links and all sessions, and mails the person and the owners. */
export async function resetByLink(
  ctx: Ctx,
  { token, new_password: password }: { readonly token: string; readonly new_password: string },
  language: Language,
): Promise<void> {
  const person = await findReset(ctx, token);
  requireGoodPassword(password, person.email, "/new_password", language);
  const hash = await hashPassword(password, ctx.random);
  await ctx.tx(scopeOfPerson(person), async (tx) => {
    // Held from here on: of two that use links of this person at once, the same or two, one finds its link spent.
    await lockPerson(tx, person.account_id, person.id);
    await findLink(tx, ctx.secrets, token, ["password_reset"]);
    await endLinks(tx, person.id, "password_reset");
    await setPasswordHash(tx, person.id, hash, true);
    await endAccessOf(tx, ctx, person, "password_reset");
    tx.audit({ action: "person.password_reset", targets: [{ type: "person", id: person.id }] });
    const change = { accountId: person.account_id, of: { person: person.id } };
    await mailAboutChange(tx, ctx, { what: "password_changed", ...change, by: { kind: "member", id: person.id } });
  });
}
