/** `GET /reset-password/request`: the page where a person asks for a link to a new password. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { explaining, pageReply, pageSpec } from "../../../pages/index.ts";
import { askHtml } from "../reset-html.ts";
import { requestPage } from "../reset-pages.ts";

export const showPasswordResetRequest: Endpoint = {
  spec: {
    ...requestPage,
    id: "password_reset.show_request",
    method: "GET",
    summary: "Page to request a password reset",
    description: "A page for people who forgot their password.",
    replies: { 200: pageSpec },
  },
  handle: async (_ctx, { language }) => pageReply(200, askHtml(language, null)),
  explain: explaining(),
};
