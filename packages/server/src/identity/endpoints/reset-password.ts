/** A forgotten password: a link by mail, and the new password with it. The second factor stays as it is. */

import { emailSchema, findPerson } from "../../accounts/index.ts";
import { foldEmail } from "../../identifiers/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { setPasswordHash } from "../credentials.ts";
import { findLink, spendLink } from "../links.ts";
import { mailPasswordReset } from "../password-reset.ts";
import { hashPassword, requireGoodPassword } from "../passwords.ts";
import { revokeSessionsOf } from "../sessions.ts";
import { linkToken, passwordSchema } from "../shapes.ts";
import { scopeOfPerson } from "../sign-in.ts";

export const requestPasswordReset = endpoint(
  {
    id: "auth.request_password_reset",
    method: "POST",
    path: "/v1/auth/password-reset/request",
    tag: "auth",
    summary: "Ask for a new password",
    description:
      "Mails a link that is good once, for an hour. The answer is the same whether or not the address is known.",
    access: { kind: "public" },
    limits: ["login_ip"],
    contentLimits: ["login"],
    idempotency: "none",
    body: closed({ email: emailSchema }, { title: "PasswordResetRequest" }),
    replies: {
      202: {
        description: "If the address is known, a mail is on its way.",
        body: closed({ accepted: Type.Boolean() }, { title: "Accepted" }),
      },
    },
  },
  async (ctx, { body }) => {
    const emailKey = foldEmail(body.email);
    await ctx.spend(["login"], `reset ${emailKey}`);
    // Who it is for is looked up by the job: the request does the same work for every address.
    await ctx.tx({ kind: "platform" }, (tx) => tx.job({ task: mailPasswordReset, payload: { email_key: emailKey } }));
    return { status: 202, body: { accepted: true } };
  },
);

export const resetPassword = endpoint(
  {
    id: "auth.reset_password",
    method: "POST",
    path: "/v1/auth/password-reset",
    tag: "auth",
    summary: "Set a new password",
    description:
      "Spends the link of the mail. Ends all sessions; the second factor is not touched and is asked for at the next login.",
    access: { kind: "public" },
    limits: ["login_ip"],
    idempotency: "none",
    body: closed({ token: linkToken, new_password: passwordSchema }, { title: "PasswordReset" }),
    replies: { 204: { description: "The new password counts.", empty: true } },
    errors: ["not_found"],
  },
  async (ctx, { body, language }) => {
    const person = await ctx.tx({ kind: "system" }, async (tx) => {
      const link = await findLink(tx, ctx.secrets, body.token, ["password_reset"]);
      return link.person_id === null ? undefined : findPerson(tx, link.account_id, link.person_id);
    });
    if (person === undefined || person.state !== "active") throw new Problem("not_found");
    requireGoodPassword(body.new_password, person.email, "/new_password", language);
    const hash = await hashPassword(body.new_password, ctx.random);
    await ctx.tx(scopeOfPerson(person), async (tx) => {
      // Held from here on: of two that use the link at once, one finds it spent.
      const link = await findLink(tx, ctx.secrets, body.token, ["password_reset"], "lock");
      await spendLink(tx, link.id);
      await setPasswordHash(tx, person.id, hash, true);
      await revokeSessionsOf(tx, person.id, "password_changed");
      tx.audit({ action: "person.password_reset", targets: [{ type: "person", id: person.id }] });
      const values = { at: tx.now.toISOString() };
      const mail = { id: ctx.random.uuid(), to: person.email, language: person.language };
      await tx.job({ task: sendMessage, payload: mailMessage({ ...mail, template: "password_changed", values }) });
    });
    return { status: 204 };
  },
);
