/** `POST /v1/auth/password-reset/request`: mails a link for a new password. */

import { emailSchema } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { askForReset } from "../reset-by-link.ts";

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
