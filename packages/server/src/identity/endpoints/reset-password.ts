/** A forgotten password: a link by mail, and the new password with it. The second factor stays as it is. */

import { emailSchema } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { askForReset, resetByLink } from "../reset-by-link.ts";
import { passwordReset } from "../shapes.ts";

export const requestPasswordReset = endpoint(
  {
    id: "auth.request_password_reset",
    method: "POST",
    path: "/v1/auth/password-reset/request",
    tag: "auth",
    summary: "Request a password reset",
    description:
      "Mails a link that works once, for an hour. Earlier links stay valid; while three links are valid, no other link is mailed. The answer is the same whether or not the address is known.",
    access: { kind: "public" },
    limits: ["login_ip"],
    contentLimits: ["login"],
    idempotency: "none",
    body: closed({ email: emailSchema }, { title: "PasswordResetRequest" }),
    replies: {
      202: {
        description: "If the address is known, a mail will be sent.",
        body: closed({ accepted: Type.Boolean() }, { title: "Accepted" }),
      },
    },
  },
  async (ctx, { body }) => {
    await askForReset(ctx, body.email);
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
      "Uses up the link in the mail and all other reset links. Ends all sessions. The second factor does not change and is needed at the next login.",
    access: { kind: "public" },
    limits: ["login_ip"],
    idempotency: "none",
    body: passwordReset,
    replies: { 204: { description: "The new password is set.", empty: true } },
    errors: ["not_found"],
  },
  async (ctx, { body, language }) => {
    await resetByLink(ctx, body, language);
    return { status: 204 };
  },
);
