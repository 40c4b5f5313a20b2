/** `GET /reset-password/new`: the page where a forgotten password is replaced. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { formToken, linkOf, pageReply, pageSpec } from "../../../pages/index.ts";
import { findReset } from "../reset-by-link.ts";
import { newPasswordHtml } from "../reset-html.ts";
import { explainLink, formPage } from "../reset-pages.ts";

export const showPasswordResetForm: Endpoint = {
  spec: {
    ...formPage,
    id: "password_reset.show_form",
    method: "GET",
    summary: "Page for the new password",
    description: "A page for people who opened the link in the mail. It does not use the link up.",
    replies: { 200: pageSpec },
  },
  handle: async (ctx, call) => {
    const { email } = await findReset(ctx, linkOf(call));
    return pageReply(200, newPasswordHtml(call.language, email, formToken(ctx, linkOf(call)), null));
  },
  explain: explainLink,
};
