/** `POST /v1/auth/password-reset`: sets a new password by the link. The second factor stays as it is. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { resetByLink } from "../reset-by-link.ts";
import { passwordReset } from "../shapes.ts";

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
